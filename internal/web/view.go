package web

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline/internal/api"
	"throughline/internal/chart"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
)

//go:embed views/*.html
var sources embed.FS

//go:embed assets
var assetFiles embed.FS

// templates are all views. The library is that of Go but for methods looked up by name, for which
// the linker would keep all methods of the program: what views call is a function.
var templates func() *template.Template

func init() { templates = sync.OnceValue(parseTemplates) } // set here, since views lead to templates

func parseTemplates() *template.Template {
	templates := template.New("").Funcs(template.FuncMap{
		"asset": asset, "upload": uploadForm, "launches": launchForm, "emphasized": emphasized, "coded": coded, "Ms": partTable.Ms,
		"T":     func(p interface{ T(word string) string }, word string) string { return p.T(word) },
		"Inner": (*page).Inner, "WordList": (*page).WordList, "ProblemCount": (*page).ProblemCount, "Models": (*page).Models, "Systems": (*page).Systems,
	})
	names, err := fs.Glob(sources, "views/*.html")
	for _, name := range names {
		var text []byte
		if text, err = sources.ReadFile(name); err != nil {
			break
		}
		template.Must(templates.New(path.Base(name)).Parse(aMethod.ReplaceAllStringFunc(string(text), asFunction)))
	}
	if err != nil {
		panic(err) // of files that are in the program
	}
	return templates
}

// aMethod matches a method of a view and what it is called of.
var aMethod = regexp.MustCompile(`\$?\.(T|Inner|WordList|ProblemCount|Models|Systems)\b|\$t\.Ms\b`)

// asFunction writes $.T as T $.
func asFunction(call string) string {
	of, name, _ := strings.Cut(call, ".")
	return name + " " + cmp.Or(of, ".")
}

// view is one of the pages that answer questions.
type view struct {
	path  string
	title string // in the words of the page
	of    question.Command
	// template of its content; empty: that of its path.
	template string
	// pieces are the question as a sentence: words of settings, each after a text.
	pieces []piece
	// show answers; it may lead elsewhere.
	show func(s *Server, ctx context.Context, st *state) (content, error)
	// files are what can be taken away, by name.
	files map[string]filer
	slow  func(st *state) bool // the answer is simulated: it may take minutes
}

// piece is a word of the question and the text before it.
type piece struct {
	before  string
	setting string
	empty   string // shown where nothing is said
	given   bool   // left out of the sentence unless it is said
}

// viewList is all views in the order of their links.
type viewList []*view

func (l viewList) find(path string) *view {
	return l[slices.IndexFunc(l, func(v *view) bool { return v.path == path })]
}

var views viewList

// Views lead to each other, so that what they show is set last.
func init() {
	choosing.show, choosing.files = (*Server).choose, planFiles
	explaining.show, explaining.files = (*Server).why, pointFiles
	loading.show, loading.files = (*Server).load, loadFiles
	mapping.show, mapping.files = (*Server).chart, mapFiles
	chips.show, chips.files = (*Server).chart, mapFiles
	comparing.show, browsing.show = (*Server).compare, (*Server).browse
	views = viewList{choosing, explaining, loading, mapping, comparing, browsing, chips}
}

// content is what a view shows besides the frame of all pages.
type content struct {
	elsewhere string // an address to go to instead
	title     string
	words     map[string]string // of the command line below; nil: those of the address
	commands  []string          // in place of the one of the words
	data      any
	pins      []pin
	takes     []link
	launched  launched
	status    int    // of the response; 0: 200
	phase     string // what is done now, where this is not the whole answer
}

// link is a text that leads somewhere.
type link struct{ Text, To string }

// download is a file to take away.
type download struct {
	kind string // content type
	data []byte
}

// asset is the address of a file of the page, which changes with its content.
func asset(name string) (string, error) {
	src, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	h.Write(src)
	return fmt.Sprintf("/assets/%s?%x", name, h.Sum32()), nil
}

func assets() http.Handler {
	sub, err := fs.Sub(assetFiles, "assets")
	if err != nil {
		panic(err) // they are built in
	}
	files := http.StripPrefix("/assets/", http.FileServerFS(sub))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		files.ServeHTTP(w, r)
	})
}

// view answers with the page of a view, at its shortest address.
func (s *Server) view(v *view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		st := v.read(r)
		if st.wrong == nil {
			st.wrong = s.lacking(st)
		}
		if to := st.address(); st.wrong == nil && to != r.URL.RequestURI() && r.URL.RawQuery != strings.TrimPrefix(to, "/"+v.path+"?") {
			redirect(w, to)
			return
		}
		s.answer(w, r, st, v.show)
	}
}

// answer computes and writes a page.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, st *state, show func(*Server, context.Context, *state) (content, error)) {
	limit := s.deadline
	if st.view.slow != nil && st.view.slow(st) {
		limit = longDeadline
	}
	var c content
	err := st.wrong
	out := &pageWriter{s: s, w: w, st: st}
	if err != nil { // all problems at once
		first, _, _ := strings.Cut(st.words["system"], ",")
		asked := question.NewQuery(s.door(), st.view.of, withWord(st.words, "system", first))
		_, more := asked.Load()
		err = question.Once(document.Join(err, asked.Wrong, more))
	} else {
		st.sofar = newOutbox()
		err = s.aside(r.Context(), limit, st.sofar, func(m message) { out.stage(m.page, nil) }, out.late, func(ctx context.Context) (err error) {
			c, err = show(s, ctx, st)
			return err
		})
	}
	switch {
	case errors.Is(err, context.Canceled):
		return // nobody waits
	case err == nil && c.elsewhere != "" && !out.begun:
		redirect(w, c.elsewhere)
		return
	}
	out.status = cmp.Or(c.status, http.StatusOK)
	if err != nil {
		out.status = statusOf(err)
	}
	out.end(&c, err)
}

// part computes a part of a page or a file; where that fails, the answer says why.
func (s *Server) part(w http.ResponseWriter, r *http.Request, st *state, compute func(context.Context) error) bool {
	err := st.wrong
	if err == nil {
		err = s.work.do(r.Context(), longDeadline, compute)
	}
	if err != nil {
		s.fail(w, r, statusOf(err), err)
	}
	return err == nil
}

// render fills a template.
func render(w io.Writer, name string, data any) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a mistake of the template
	}
	w.Write(b.Bytes())
}

// statusOf is the status of an answer that failed.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadRequest
}

// problemsOf are all that is wrong, one by one.
func problemsOf(err error) []document.Problem {
	var all *document.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return []document.Problem{{Message: "this took longer than the page waits; ask for less, or use the command line"}}
	case errors.As(err, &all):
		return all.Problems
	}
	return []document.Problem{{Message: err.Error()}}
}

// page is what the frame of all pages shows.
type page struct {
	*state
	Content  any
	View     string
	Path     string
	Title    string
	Nav      []navigation
	Sentence []control
	Keep     []link // hidden fields: what the form does not ask
	Groups   []group
	Problems []document.Problem
	Pins     []pin
	Commands []string
	Takes    []link
	Launched launched
	Here     string
	Language string
	Theme    string

	Phase, Elsewhere string
}

type navigation struct {
	Name, To string
	Current  bool
}

func (p *page) T(word string) string { return p.language.say(word) }

func (p *page) ProblemCount() string {
	if len(p.Problems) == 1 {
		return p.T("1 problem. Nothing was computed.")
	}
	return p.language.tell("%d problems. Nothing was computed.", len(p.Problems))
}

func (p *page) Inner() (template.HTML, error) {
	if p.Content == nil {
		return "", nil
	}
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, cmp.Or(p.view.template, p.view.path)+".html", p)
	return template.HTML(b.String()), err
}

// uploadForm is the form that sends a file for a setting.
func uploadForm(setting string, p *page) any {
	return struct {
		*page
		Setting string
	}{p, setting}
}

// launchForm is how a deployment is started; open: the first part is shown.
func launchForm(l launched, open bool, p *page) any {
	return struct {
		*page
		launched
		Open bool
	}{p, l, open}
}

// WordList is the words of the question but those of the goal, for forms of their own.
func (p *page) WordList() (out []link) {
	for name, values := range p.view.query(without(p.words, "seek", "until")) {
		out = append(out, link{name, values[0]})
	}
	slices.SortFunc(out, func(a, b link) int { return cmp.Compare(a.Text, b.Text) })
	return out
}

// leadsTo is the address of another view for the same question, as far as it has words for it.
func (st *state) leadsTo(v *view) string {
	words, shown := st.words, map[string]string{}
	asked := st.shown[askedName]
	switch {
	case v == st.view:
		return st.address()
	case v.of == st.view.of:
	case v.of == question.Plan && asked != "":
		words = question.FromParameters(asked)
	case v.of == question.Plan:
		words = without(words, "gpus")
	case st.view.of == question.Plan:
		return st.to(v, without(words, "gpus", "engine", "overlap", "redundant", "ttft", "tpot", "system"), map[string]string{askedName: encode(choosing.query(st.words))}, st.pins)
	}
	if v == loading { // whose clients send at a rate
		words = without(words, "batch", "concurrency")
	}
	if asked != "" && v.of != question.Plan {
		shown[askedName] = asked
	}
	return st.to(v, words, shown, st.pins)
}

// without is words less some.
func without(words map[string]string, names ...string) map[string]string {
	out := map[string]string{}
	for name, text := range words {
		if !slices.Contains(names, name) {
			out[name] = text
		}
	}
	return out
}

// fail answers with a text for people, or an object for programs.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	if strings.HasPrefix(r.URL.Path, api.Path) {
		writeProblems(w, status, err)
		return
	}
	w.Header().Set("Content-Type", htmlType)
	w.WriteHeader(status)
	render(w, "failed.html", struct {
		Status int
		Text   string
	}{status, err.Error()})
}

// problems are an answer that failed, for programs.
type problems struct {
	Problems []api.Problem `json:"problems"`
}

func problemsJSON(err error) problems {
	return problems{api.Problems(&document.Error{Problems: problemsOf(err)})}
}

func writeProblems(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	report.WriteObject(w, problemsJSON(err))
}

// zoom is how much larger charts are on pages than in files: their smallest text has 12 pixels.
const zoom = 1.2

// drawing is a chart as it was sent, for the patch to the next.
type drawing struct{ scenes map[string]*chart.Scene }

// figure is a chart on a page, as high as suits it or as is said.
func figure(c *chart.Chart, width, height float64, id string) (template.HTML, *chart.Scene) {
	c.Untitled = true
	scene := c.Draw(width/zoom, height/zoom, id+"-")
	var b strings.Builder
	if err := (chart.SVG{Inline: true, Zoom: zoom}).Write(&b, scene); err != nil {
		panic(err) // a builder does not fail
	}
	return template.HTML(b.String()), scene
}

// Widths of charts: the whole page, beside a panel, half of it, and a phone.
const (
	fullWidth   = 1216.0
	mainWidth   = 824.0
	halfWidth   = 584.0
	narrowWidth = 358.0
)

// width is that of a chart, or of a phone.
func (st *state) width(wide float64) float64 {
	if st.narrow {
		return narrowWidth
	}
	return wide
}
