package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
)

// pageWriter writes a page: its question, then one stage after the other, of which browsers show
// the last that is whole.
type pageWriter struct {
	s      *Server
	w      http.ResponseWriter
	st     *state
	status int
	begun  bool
}

// page is what the templates are filled with.
func (o *pageWriter) page(c *content, err error) *page {
	st := o.st
	p := &page{
		state: st, Content: c.data, View: st.view.path, Path: "/" + st.view.path, Title: cmp.Or(c.title, st.title()), Problems: problemsOf(err), Pins: c.pins, Takes: c.takes, Launched: c.launched,
		Here: st.address(), Language: st.language.code, Theme: st.theme, Commands: c.commands, Phase: c.phase, Elsewhere: c.elsewhere,
	}
	if p.Commands == nil && err == nil && len(st.words) > 0 {
		words := c.words
		if words == nil {
			words = st.words
		}
		p.Commands = []string{st.view.command(words)}
	}
	for _, v := range views {
		if v != chips {
			p.Nav = append(p.Nav, navigation{p.T(v.title), st.leadsTo(v), v == st.view || v == mapping && st.view == chips})
		}
	}
	for name, text := range st.shown {
		p.Keep = append(p.Keep, link{name, text})
	}
	for _, name := range leftOut {
		asked := slices.ContainsFunc(st.view.pieces, func(of piece) bool { return of.setting == name })
		if text := st.words[name]; text != "" && !asked {
			p.Keep = append(p.Keep, link{name, text})
		}
	}
	for _, pin := range st.pins {
		p.Keep = append(p.Keep, link{pinName, pin})
	}
	slices.SortFunc(p.Keep, func(a, b link) int { return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.To, b.To)) })
	return p
}

// fill writes parts of a page at once.
func (o *pageWriter) fill(p *page, parts ...string) {
	var b bytes.Buffer
	if !o.begun {
		p.Sentence, p.Groups = o.st.controls()
		o.w.Header().Set("Content-Type", htmlType)
		o.w.WriteHeader(cmp.Or(o.status, http.StatusOK))
		o.begun = true
		parts = slices.Insert(parts, 0, "top")
	}
	for _, part := range parts {
		render(&b, part, p)
	}
	o.w.Write(b.Bytes())
}

func (o *pageWriter) stage(c *content, err error) {
	o.fill(o.page(c, err), "stage")
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}

// late shows the question while its answer takes long, and says what is done.
func (o *pageWriter) late() {
	if !o.begun {
		o.stage(&content{phase: o.st.language.say("Computing") + " …"}, nil)
	}
}

func (o *pageWriter) end(c *content, err error) {
	o.st.wrong = err
	o.fill(o.page(c, err), "stage", "bottom")
}

// title is what a page is called before it has an answer.
func (st *state) title() string {
	name := st.language.say(st.view.title)
	if model, system := st.words["model"], st.words["system"]; model != "" && system != "" {
		return fmt.Sprintf("%s %s, %s", name, model, readable(system))
	}
	return name
}
