package web

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"throughline"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/question"
)

// upload is a file of a user, kept in memory.
type upload []byte

// held are the files that questions may name: those of the start, and uploads.
func (s *Server) held() map[string][]byte {
	out := maps.Clone(s.files)
	if out == nil {
		out = map[string][]byte{}
	}
	s.uploads.each(func(name string, data upload) { out[name] = data })
	return out
}

// door leads to these files and no others.
func (s *Server) door() *files.Door { return files.Held(s.held()) }

// reading is how the library is asked: with these files and no others.
func (s *Server) reading() []throughline.Option {
	return []throughline.Option{throughline.WithFiles(s.held())}
}

var plainName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// keep stores a file under a name of its own, which ends as the given one does: readers go by that.
func (s *Server) keep(given string, data []byte) string {
	base := plainName.ReplaceAllString(filepath.Base(given), "_")
	name := secretText(6) + "-" + base[max(0, len(base)-60):]
	s.uploads.put(name, data)
	return name
}

// uploadName matches the names that keep gives.
var uploadName = regexp.MustCompile(`^[A-Za-z0-9_-]{8}-\S`)

// lacking is what is wrong with a link whose files were not uploaded to this server.
func (s *Server) lacking(st *state) error {
	var errs []error
	for _, setting := range []string{"trace", "measured", "kernels"} {
		name, _, _ := strings.Cut(st.words[setting], "#") // of which a row may be meant
		if _, ok := s.held()[name]; !ok && uploadName.MatchString(name) {
			errs = append(errs, question.OfSetting(setting, errors.New(missingUpload(st.language, name))))
		}
	}
	return document.Join(errs...)
}

// receive takes a file and leads back to the view, with the file as a word of the question.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) {
	select { // who sends waits: each upload takes memory
	case s.receiving <- struct{}{}:
		defer func() { <-s.receiving }()
	case <-r.Context().Done():
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostUpload+mostText)
	large := fmt.Errorf("a file may have %d MiB", mostUpload>>20)
	if err := r.ParseMultipartForm(mostUpload + mostText); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			s.fail(w, r, http.StatusRequestEntityTooLarge, large)
		} else {
			s.fail(w, r, http.StatusBadRequest, err)
		}
		return
	}
	defer r.MultipartForm.RemoveAll()
	f, head, err := r.FormFile("file")
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, errors.New("no file was chosen"))
		return
	}
	defer f.Close()
	if head.Size > mostUpload {
		s.fail(w, r, http.StatusRequestEntityTooLarge, large)
		return
	}
	data := make([]byte, head.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		s.fail(w, r, http.StatusBadRequest, err)
		return
	}
	name := s.keep(head.Filename, data)
	back, setting := r.FormValue("back"), r.FormValue("setting")
	join := "?"
	if strings.Contains(back, "?") {
		join = "&"
	}
	redirect(w, back+join+setting+"="+name)
}

// about says what a text is, and what is wrong with it.
func about(name string, src []byte) (what string, warnings []document.Problem, err error) {
	keys := document.ParseYAML(name, src).Keys()
	if format := jobfile.FormatOf(keys); format != jobfile.FittedFormat {
		if what, doc, known := jobfile.Describe(name, src, format); known {
			return what, doc.Warnings(), doc.Err()
		}
	}
	return "", nil, errors.New("this is neither a model (a Hugging Face config.json, or a model file) nor a system file")
}

// check says what is wrong with the text of a file.
func (s *Server) check(w http.ResponseWriter, r *http.Request) {
	src, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostText))
	if err != nil {
		writeProblems(w, http.StatusRequestEntityTooLarge, fmt.Errorf("a text may have %d MiB", mostText>>20))
		return
	}
	what, warnings, err := about("text", src)
	if err != nil {
		writeProblems(w, http.StatusBadRequest, err)
		return
	}
	out := struct {
		What     string   `json:"what"`
		Warnings []string `json:"warnings"`
	}{what, []string{}}
	for _, p := range warnings {
		out.Warnings = append(out.Warnings, p.String())
	}
	writeJSON(w, out)
}
