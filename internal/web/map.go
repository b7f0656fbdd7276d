package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline/internal/chart"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/sweep"
	"throughline/internal/table"
)

// mapping is the view of many plans, chips the one of many numbers of a deployment.
var (
	mapping = &view{
		path: "map", title: "Map", of: question.Plan, pieces: append(slices.Clone(choosing.pieces), varied), slow: func(*state) bool { return true },
	}
	chips = &view{
		path: "chips", title: "Map", of: question.Estimate, template: "map", pieces: append(slices.Clone(explaining.pieces), varied), slow: func(*state) bool { return true },
	}
)

// varied is the numbers of files along which a map goes, or settings that are not in its sentence.
var varied = piece{", over ", "vary", "", true}

// mapped is the answer of both.
type mapped struct {
	Says    []string
	Chart   template.HTML
	Figures []option
	Title   string
	Grid    grid
	Ideas   []link
	Without string // why there is no chart
	Points  int
	Cells   string // where cells of an image lead
	Columns string // of them, and rows, each after a bar
	Lines   string
}

// grid is a table of cells.
type grid struct {
	Heads []table.Heading
	Rows  [][]table.Cell
	Left  int
}

// gridOf is the first rows of a table.
func gridOf(t table.Any, most int) grid {
	g := grid{Heads: t.Headings()}
	t.Each(func(cells []table.Cell) {
		if len(g.Rows) < most {
			g.Rows = append(g.Rows, slices.Clone(cells))
		} else {
			g.Left++
		}
	})
	return g
}

const figureName = "figure"

func init() { ofPage = append(ofPage, figureName) }

// ideas are axes to begin with.
func (st *state) ideas() []link {
	to := func(v *view, add ...string) string {
		words := st.words
		if v == mapping && words["gpus"] == "" {
			words = withWord(words, "gpus", "8")
		}
		for i := 0; i < len(add); i += 2 {
			words = withWord(words, add[i], add[i+1])
		}
		return st.to(v, words, st.shown, st.pins)
	}
	if st.view == chips {
		return []link{
			{st.language.say("memory bandwidth × network 0"), to(chips, "vary", "sys.mem1.GBps=x0.5:x2:9,sys.networks[0].bandwidth=x0.5:x2:9")},
			{st.language.say("batch × context"), to(chips, "batch", "1,4,16,64,128", "isl", "512,2048,8192,32768")},
		}
	}
	return []link{
		{st.language.say("lengths of prompts × answers"), to(mapping, "isl", "512,2048,8192", "osl", "128,512,2048")},
		{st.language.say("systems × lengths of prompts"), to(mapping, "system", "H100_SXM,H200,B200", "isl", "512,2048,8192")},
		{st.language.say("GPUs × limits of TPOT"), to(mapping, "gpus", "8,16,32", "tpot", "20ms,50ms,100ms")},
	}
}

func (s *Server) chart(ctx context.Context, st *state) (content, error) {
	if st.view == mapping && st.words["model"] == "" || st.view == chips && !fixed(st.words) {
		to := ""
		if st.view == chips {
			var err error
			if to, err = s.deploymentAddress(ctx, st, chips); err != nil {
				return content{}, err
			}
		}
		return content{elsewhere: to}, nil
	}
	m := &mapped{Ideas: st.ideas()}
	pins, err := s.pinned(ctx, st)
	if err != nil {
		return content{}, err
	}
	out := content{data: m, pins: pins}
	r, err := s.scanned(ctx, st.view.of, st.words, true, s.filling(st, pins))
	if err != nil {
		return content{}, err
	}
	if r == nil {
		return out, nil
	}
	out.takes = st.mapTakes()
	m.Says, m.Points, m.Grid = r.Sentences(), len(r.Points), gridOf(r.Table(), 60)
	m.figures(st, r)
	m.draw(s, st, r)
	return out, nil
}

// filling shows a map while its cells are answered, ever less often.
func (s *Server) filling(st *state, pins []pin) func(*report.Scan, int) {
	wait := phasePause
	next := time.Now().Add(latePause)
	return func(r *report.Scan, of int) {
		if time.Now().Before(next) {
			return
		}
		sofar := report.NewScan(r.Of)
		sofar.Points, sofar.Left = slices.Clone(r.Points), r.Left
		sofar.Finish()
		m := &mapped{Points: len(sofar.Points)}
		m.draw(s, st, sofar)
		st.sofar.put(message{name: "stage", page: &content{data: m, pins: pins, phase: st.language.tell("%d of %d", len(r.Points)+r.Left, of)}})
		wait += wait / 2
		next = time.Now().Add(wait)
	}
}

// figures are what a map can show.
func (m *mapped) figures(st *state, r *report.Scan) {
	names := []string{"tokens_per_s_per_gpu", "tpot_ms", "ttft_ms", "dollars_per_million_tokens", "step_ms", "tokens_per_s"}
	usual := sweep.Figures(r.Of.Of)[r.Objective()].Name
	for _, f := range sweep.Figures(r.Of.Of) {
		if !slices.Contains(names, f.Name) && f.Name != usual {
			continue
		}
		shown := withWord(st.shown, figureName, f.Name)
		if f.Name == usual {
			shown = without(st.shown, figureName)
		}
		m.Figures = append(m.Figures, option{f.Name, f.Title, st.to(st.view, st.words, shown, st.pins), f.Name == st.shown[figureName] || f.Name == usual && st.shown[figureName] == ""})
	}
}

// draw makes the map, or lines where there is one axis.
func (m *mapped) draw(s *Server, st *state, r *report.Scan) {
	figured := st.shown[figureName]
	if figured == "" {
		figured = sweep.Figures(r.Of.Of)[r.Objective()].Name
	}
	if at := sweep.Find(r.Of.Of, figured); at >= 0 {
		m.Title = sweep.Figures(r.Of.Of)[at].Title
	}
	var axes []int
	for i := range r.Of.Axes {
		if r.Of.Axes[i].Name != scan.SeedSetting && r.Of.Axes[i].Len() > 1 {
			axes = append(axes, i)
		}
	}
	if len(axes) < 2 {
		k, _ := picture.Find(picture.ScanKinds, "lines")
		c, err := k.Draw(picture.OfScan(r))
		if err != nil {
			m.Without = err.Error()
			return
		}
		m.Chart, _ = figure(c, st.width(mainWidth), 0, "map")
		return
	}
	x, y := axes[1], axes[0]
	to := func(atX, atY string) string {
		words := without(st.words, "vary", "link", "where", "design", "samples")
		for _, one := range []struct {
			axis int
			text string
		}{{x, atX}, {y, atY}} {
			name := r.Of.Axes[one.axis].Name
			if question.IsPath(name) {
				words = withWord(words, setName, joined(words[setName], name+"="+one.text))
			} else {
				words = withWord(words, name, one.text)
			}
		}
		if st.view == chips {
			return st.to(explaining, words, planOrigin(st), st.pins)
		}
		return st.to(choosing, words, nil, st.pins)
	}
	c, err := picture.Map(r, x, y, figured, to)
	if err != nil {
		m.Without = err.Error()
		return
	}
	if p := &c.Panels[0]; len(p.Cells) > chart.MostCells {
		name := secretText(9)
		s.cells.put(name, cells{p.X.Bands, p.Y.Bands, to})
		m.Columns, m.Lines = strings.Join(p.X.Bands, "|"), strings.Join(p.Y.Bands, "|")
		m.Cells = "/map/cell?" + encode(url.Values{"map": {name}, "again": {st.address()}})
	}
	m.Chart, _ = figure(c, st.width(mainWidth), 0, "map")
}

// cells are those of a map that is an image, and where they lead.
type cells struct {
	columns, rows []string
	to            func(column, row string) string
}

// cell leads where a cell of an image leads; of a map that is no longer known, to the map.
func (s *Server) cell(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	of, ok := s.cells.get(q.Get("map"))
	x, wrongX := strconv.Atoi(q.Get("column"))
	y, wrongY := strconv.Atoi(q.Get("row"))
	if !ok || wrongX != nil || wrongY != nil || x < 0 || y < 0 || x >= len(of.columns) || y >= len(of.rows) {
		redirect(w, q.Get("again"))
		return
	}
	redirect(w, of.to(of.columns[x], of.rows[y]))
}

var mapFiles = map[string]filer{
	"map.csv":     mapFile(table.CSV, csvType),
	"map.parquet": mapFile(table.Parquet, parquetType),
	"map.jsonl":   mapFile(table.Lines, "application/jsonl"),
}

func mapFile(form table.Form, kind string) filer {
	return func(s *Server, ctx context.Context, st *state) (*download, error) {
		r, err := s.scanned(ctx, st.view.of, st.words, true, nil)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, errors.New("give a setting several values, like isl=512,2048,8192")
		}
		return written(kind, func(w io.Writer) error { return r.Table().Write(w, form) })
	}
}
