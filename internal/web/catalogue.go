package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"throughline/engine"
	"throughline/hardware"
	"throughline/internal/api"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/table"
	"throughline/model"
)

var browsing = &view{path: "catalogue", title: "Catalogue"}

// catalogued is the answer of the view.
type catalogued struct {
	Kinds   []option
	Kind    string
	Grid    grid
	Names   []link // of the rows, in order
	Engines []engineRow
	One     string // what is shown of one
	About   string
	Sources []link
	Plan    string
	Typed   string
	Wrong   []document.Problem
}

type engineRow struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Version string   `json:"version"`
	Source  string   `json:"source"`
	Formats []string `json:"weights,omitempty"`
}

// engineRows are all engines, the generic one left out.
func engineRows() (out []engineRow) {
	for _, name := range engine.Names() {
		e, err := engine.Find(name)
		if err == nil && e != engine.Generic {
			out = append(out, engineRow{Name: e.Name, Title: e.Title, Version: e.Options.Version, Source: e.Options.Source})
		}
	}
	return out
}

// kindName is the list that the catalogue shows, oneName the entry that is open.
const kindName, oneName = "kind", "name"

func init() { ofPage = append(ofPage, kindName, oneName) }

func (s *Server) browse(ctx context.Context, st *state) (content, error) {
	pins, err := s.pinned(ctx, st)
	if err != nil {
		return content{}, err
	}
	c := &catalogued{Kind: st.shown[kindName], One: st.shown[oneName]}
	if c.Kind == "" {
		c.Kind = "models"
	}
	for _, k := range []string{"models", "systems", "engines"} {
		shown := map[string]string{kindName: k}
		if k == "models" {
			shown = nil
		}
		c.Kinds = append(c.Kinds, option{k, st.language.say(k), st.to(browsing, nil, shown, st.pins), k == c.Kind})
	}
	switch c.Kind {
	case "models":
		err = list(c, st, report.Models, model.Catalogue.Names())
		if err == nil && c.One != "" {
			err = c.model(st)
		}
	case "systems":
		err = list(c, st, report.Systems, hardware.Catalogue.Names())
		if err == nil && c.One != "" {
			err = c.system(st)
		}
	case "engines":
		c.Engines = engineRows()
	default:
		err = question.OfSetting(kindName, errors.New(document.NotOneOf(c.Kind, []string{"models", "systems", "engines"})))
	}
	return content{data: c, pins: pins, commands: []string{}, title: st.language.say("Catalogue"), takes: []link{{"JSON", api.Path + c.Kind}}}, err
}

func list[T table.Any](c *catalogued, st *state, make func() (T, error), names []string) error {
	t, err := make()
	if err != nil {
		return err
	}
	c.Grid = gridOf(t, 1000)
	for _, name := range names {
		shown := map[string]string{kindName: c.Kind, oneName: name}
		if c.Kind == "models" {
			delete(shown, kindName)
		}
		c.Names = append(c.Names, link{name, st.to(browsing, nil, shown, st.pins)})
	}
	return nil
}

// model shows one.
func (c *catalogued) model(st *state) error {
	src, ok := model.Catalogue.Find(c.One)
	if !ok {
		return question.OfSetting(oneName, errors.New(document.NotOneOf(c.One, model.Catalogue.Names())))
	}
	loaded, doc := model.Load(c.One, src)
	if err := doc.Err(); err != nil {
		return err
	}
	c.About = report.Model(table.View{Width: 96}, loaded)
	c.Plan = st.to(choosing, map[string]string{"model": c.One, "system": "H200", "gpus": "8"}, nil, st.pins)
	return nil
}

// system shows one.
func (c *catalogued) system(st *state) error {
	src, ok := hardware.Catalogue.Find(c.One)
	if !ok {
		return question.OfSetting(oneName, errors.New(document.NotOneOf(c.One, hardware.Catalogue.Names())))
	}
	sys, doc := hardware.Read(c.One, src)
	if err := doc.Err(); err != nil {
		return err
	}
	var f hardware.File
	document.Parse(c.One, src).Decode(&f)
	c.About = report.System(table.View{Width: 96}, sys, f.Sources)
	c.Plan = st.to(choosing, map[string]string{"model": "Llama-3.1-70B", "system": c.One, "gpus": "8"}, nil, st.pins)
	return nil
}

// paste reads the text of a model or a system, says whether it fits, and keeps it for questions.
func (s *Server) paste(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostText)
	st := browsing.read(r)
	st.words = map[string]string{}
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, http.StatusRequestEntityTooLarge, fmt.Errorf("a text may have %d MiB", mostText>>20))
		return
	}
	text := r.PostFormValue("text")
	what, _, err := about("config.json", []byte(text))
	if err == nil && strings.HasPrefix(what, "model") {
		name := s.keep("config.json", []byte(text))
		redirect(w, st.to(choosing, map[string]string{"model": name, "system": "H200", "gpus": "8"}, nil, nil))
		return
	}
	if err == nil {
		name := s.keep("system.json", []byte(text))
		redirect(w, st.to(choosing, map[string]string{"model": "Llama-3.1-70B", "system": name, "gpus": "8"}, nil, nil))
		return
	}
	c, failed := s.browse(r.Context(), st)
	if failed != nil {
		s.fail(w, r, http.StatusBadRequest, failed)
		return
	}
	got := c.data.(*catalogued)
	got.Typed, got.Wrong = text, problemsOf(err)
	(&pageWriter{s: s, w: w, st: st, status: http.StatusBadRequest}).end(&c, nil)
}
