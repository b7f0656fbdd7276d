package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/shell"
)

// state is what an address says: the words of the question of its view, what is shown of the
// answer, and the deployments that are pinned.
type state struct {
	view  *view
	words map[string]string // by names of settings
	shown map[string]string // by names of what the page itself has
	pins  []string          // encoded words of deployments
	wrong error             // all that is wrong with the address

	language *language
	narrow   bool
	theme    string

	seen  []string // charts to draw; none: all
	sofar *outbox  // where the view tells what it knows before its answer
}

// mostPins is how many deployments keep a colour.
const mostPins = 4

// Names of an address that are no settings.
const (
	pinName   = "pin"
	askedName = "asked" // the question of the plan that a deployment comes from, encoded
	rowName   = "row"
	upName    = "up"
	overName  = "over"
)

// ofPage are the names that a view may have besides settings.
var ofPage = []string{pinName, askedName, rowName, upName, overName, "key", "b", "upload", "find"}

// setName is the setting that paths of numbers are words of.
const setName = "set"

// read takes an address apart. What is no setting of the view is wrong, with the nearest that is.
func (v *view) read(r *http.Request) *state {
	s := &state{view: v, words: map[string]string{}, shown: map[string]string{}}
	s.prefer(r)
	values := r.URL.Query()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := slices.DeleteFunc(slices.Clone(values[name]), func(text string) bool { return strings.TrimSpace(text) == "" })
		switch {
		case len(given) == 0:
		case name == pinName:
			s.pins = given[:min(len(given), mostPins)]
		case slices.Contains(ofPage, name):
			s.shown[name] = given[len(given)-1]
		case question.IsPath(name):
			s.words[setName] = joined(s.words[setName], name+"="+given[len(given)-1])
		default:
			errs = append(errs, s.add(name, given))
		}
	}
	s.wrong = document.Join(errs...)
	return s
}

func joined(list, more string) string {
	if list == "" {
		return more
	}
	return list + "," + more
}

// add keeps a word; those of other names are told, as the command line tells them.
func (s *state) add(name string, given []string) error {
	found, ok := question.Known(s.view.of, name)
	if !ok {
		return question.Unknown(s.view.of, name)
	}
	text := strings.TrimSpace(given[len(given)-1])
	if found.List != "" {
		text = strings.Join(given, ",")
	}
	usual := question.DefaultOf(s.view.of)
	if text != found.Get(&usual) && !(found.Kind() == question.Switch && text == "false") {
		s.words[found.Name] = text
	}
	return nil
}

// prefer reads what the browser remembers for its user.
func (s *state) prefer(r *http.Request) {
	of := func(name string) string {
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
		return ""
	}
	s.narrow = of("narrow") == "1"
	if theme := of("theme"); theme == "light" || theme == "dark" {
		s.theme = theme
	}
	s.language = languageOf(of("language"), r.Header.Get("Accept-Language"))
}

// address is the shortest that says the same, in a fixed order.
func (s *state) address() string { return s.to(s.view, s.words, s.shown, s.pins) }

// to is the address of a view for words, of which it takes those that are its own.
func (s *state) to(v *view, words, shown map[string]string, pins []string) string {
	q := v.query(words)
	for name, text := range shown {
		q.Set(name, text)
	}
	for _, p := range pins {
		q.Add(pinName, p)
	}
	if len(q) == 0 {
		return "/" + v.path
	}
	return "/" + v.path + "?" + encode(q)
}

// query is words as parameters: numbers of files have names of their own.
func (v *view) query(words map[string]string) url.Values {
	q := url.Values{}
	usual := question.DefaultOf(v.of)
	for name, text := range words {
		found, ok := question.Lookup(v.of, name)
		switch {
		case !ok || text == "" || text == found.Get(&usual):
		case name == setName:
			for _, word := range question.Words(text) {
				if path, value, _ := strings.Cut(word, "="); question.IsPath(path) && value != "" {
					q.Set(path, value)
				} else {
					q.Add(setName, word)
				}
			}
		default:
			q.Set(name, text)
		}
	}
	return q
}

// encode leaves what browsers show as it is, for people who read addresses.
func encode(q url.Values) string {
	return strings.NewReplacer("%2C", ",", "%3A", ":", "%5B", "[", "%5D", "]", "%2F", "/").Replace(q.Encode())
}

// command is the line for a terminal that has the same answer.
func (v *view) command(words map[string]string) string {
	out := "throughline " + v.of.Paths()[0]
	for _, s := range question.Settings(v.of) {
		text := words[s.Name]
		if text == "" {
			continue
		}
		flag := " -" + "-" + s.Name
		switch {
		case s.Kind() == question.Switch && text == "true":
			out += flag
		case s.Kind() == question.Switch:
			out += flag + "=" + shell.Quote(text)
		default:
			out += flag + " " + shell.Quote(text)
		}
	}
	return out
}

// encoded is the words of a deployment as a pin.
func encoded(words map[string]string) string { return encode(views.find("why").query(words)) }
