package lab

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/question"
	"throughline/internal/table"
	"throughline/internal/validate"
)

// Figures of a run that predictions are judged by.
const (
	ttft = iota
	tpot
	ttftMedian
	ttftP99
	figureCount
)

var figureNames = [figureCount]string{"TTFT", "TPOT", "TTFT p50", "TTFT p99"}

// judged is a run with its predictions by the built-in constants and by those chosen without the
// part that it belongs to; figures not measured or not predicted are NaN.
type judged struct {
	table, row                                   int
	engine, model, system, version, source, mode string
	series                                       string // runs of one deployment and version
	told                                         bool   // how the servers were launched
	clients                                      int
	drafts                                       bool
	doubtful                                     [figureCount]bool

	measured, built, held [figureCount]float64
	trusted               [figureCount]*estimate.Confidence
}

// group is the runs that share their errors: those of an engine, a model and a system.
func (j *judged) group() string { return j.engine + " " + j.model + " " + j.system }

// Parting is what is left out together, and the part that a run belongs to.
type Parting struct {
	Name, Doc string
	of        func(*judged) string
}

var Partings = []Parting{
	{"pair", "runs of a model behind an engine", func(j *judged) string { return j.pair() }},
	{"source", "runs that one source has published", func(j *judged) string { return j.source }},
	{"system", "runs on a system", func(j *judged) string { return j.system }},
	{"model", "runs of a model", func(j *judged) string { return j.model }},
	{"version", "runs of a version of an engine", func(j *judged) string { return j.engine + " " + cmp.Or(j.version, "not told") }},
}

func (j *judged) pair() string { return j.engine + " " + j.model }

func (j *judged) error(figure int, predicted *[figureCount]float64) float64 {
	if j.doubtful[figure] {
		return math.NaN()
	}
	return math.Abs(predicted[figure]/j.measured[figure] - 1)
}

// firstToken is the figure of TTFT that a run has: its mean, or else its median.
func (j *judged) firstToken() int {
	if math.IsNaN(j.measured[ttft]) {
		return ttftMedian
	}
	return ttft
}

// Held is runs of tables, judged by what was chosen without them.
type Held struct {
	tables []*Table
	runs   []*judged
	by     *Parting
	Parts  int
	Chosen []Chosen // by all runs
}

// HeldOut leaves out one part of the runs after the other, chooses the constants of engines again
// on the rest, and predicts what was left out. Copies of a run count once.
func HeldOut(ctx context.Context, by *Parting, tables ...*Table) (*Held, error) {
	h := &Held{tables: tables, by: by}
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	drawn, err := h.surfaces(ctx)
	if err != nil {
		return nil, err
	}
	groups := h.groups(drawn)
	parts := map[string][]*judged{}
	for _, j := range h.runs {
		parts[by.of(j)] = append(parts[by.of(j)], j)
	}
	h.Parts = len(parts)
	// Most parts leave the choice as it is; runs with equal constants are predicted together.
	type alike struct {
		constants chosen
		runs      []*judged
	}
	choices := map[string]*alike{}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		others := slices.DeleteFunc(slices.Clone(groups), func(g *grouped) bool { return g.part == part })
		c := choose(others)
		key := fmt.Sprint(c)
		if choices[key] == nil {
			choices[key] = &alike{constants: c}
		}
		choices[key].runs = append(choices[key].runs, parts[part]...)
	}
	for _, key := range slices.Sorted(maps.Keys(choices)) {
		c := choices[key]
		if err := h.predict(ctx, c.runs, c.constants.tune, func(j *judged, f *[figureCount]float64) { j.held = *f }); err != nil {
			return nil, err
		}
	}
	h.Chosen = choose(groups).list()
	return h, nil
}

// Chosen is a constant of an engine in seconds, as built in and as all runs of a table choose it.
type Chosen struct {
	Engine, Name  string
	BuiltIn, Runs float64
}

// list is the constants of engines that are built in, by engine.
func (m chosen) list() (out []Chosen) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		e, err := engine.Find(name)
		if err != nil {
			continue // no engine, or a generic one, of which nothing is fitted
		}
		for i := range constants {
			out = append(out, Chosen{name, constants[i].name, *constants[i].of(&e.Scheduling.Scheduling), constants[i].at(m[name][i])})
		}
	}
	return out
}

// read predicts all runs as built.
func (h *Held) read(ctx context.Context) error {
	listed := map[string]int{}
	for at, t := range h.tables {
		r, err := t.report(ctx, validate.Trial{})
		if err != nil {
			return err
		}
		for i := range r.Rows {
			if j := t.judged(r, i); j != nil {
				j.table = at
				h.runs = append(h.runs, j)
				listed[j.name()]++
			}
		}
	}
	copies := maps.Clone(listed)
	h.runs = slices.DeleteFunc(h.runs, func(j *judged) bool {
		name := j.name()
		first := copies[name] > 0
		copies[name] = 0
		return !first
	})
	for _, j := range h.runs {
		of := h.tables[j.table].rows[j.row]
		first, later := doubted(of, listed[j.name()])
		j.doubtful = [figureCount]bool{ttft: first, tpot: later, ttftMedian: first, ttftP99: first}
	}
	return nil
}

// name tells a run from others; copies of it in tables have the same.
func (j *judged) name() string { return fmt.Sprint(j.group(), j.mode, j.measured) }

// judged is a row of a report as a run; nil for one that is not answered.
func (t *Table) judged(r *validate.Report, i int) *judged {
	row, of := &r.Rows[i], t.rows[i]
	if row.Deployment == "" {
		return nil
	}
	drafting, _ := of.Drafts()
	j := &judged{
		row: i, engine: row.Engine, model: row.Model, system: row.System, mode: of.Get("mode"), drafts: drafting, told: !row.Unstated, clients: row.Clients,
		version: cmp.Or(of.Cell("backend_version"), of.Cell("version")), source: cmp.Or(of.Cell("source"), filepath.Base(t.Name)),
	}
	if same, ok := sameModel[j.model]; ok {
		j.model = same
	}
	j.source, _, _ = strings.Cut(j.source, " (")
	j.series = fmt.Sprint(row.Deployment, " ", j.version)
	j.measured, j.trusted = figuresOf(r, row, func(f *validate.Figure) float64 { return f.Measured }), trustedOf(r, row)
	j.built = figuresOf(r, row, func(f *validate.Figure) float64 { return f.Predicted })
	return j
}

// figuresOf are numbers of a row; NaN: not known. TPOT is the median where there is no mean, from
// which it differs by a hundredth.
func figuresOf(r *validate.Report, row *validate.Row, of func(*validate.Figure) float64) (out [figureCount]float64) {
	for f, name := range figureNames {
		out[f] = math.NaN()
		if i := figureAt(r, row, f, name); i >= 0 && of(&row.Figures[i]) > 0 {
			out[f] = of(&row.Figures[i])
		}
	}
	return out
}

// figureAt is the place of a figure that a row has; -1: nowhere.
func figureAt(r *validate.Report, row *validate.Row, figure int, name string) int {
	at := slices.Index(r.Figures, name)
	if figure == tpot && row.Figures[at].Measured == 0 {
		at = slices.Index(r.Figures, "TPOT p50")
	}
	return at
}

// trustedOf is how far the figures of a row can be trusted. A median knows no first wave.
func trustedOf(r *validate.Report, row *validate.Row) (out [figureCount]*estimate.Confidence) {
	first, later := row.Figures[slices.Index(r.Figures, "TTFT")].Trusted, row.Figures[slices.Index(r.Figures, "TPOT")].Trusted
	out[ttft], out[tpot] = first, later
	if first != nil {
		steady := *first
		steady.Causes[estimate.Wave] = false
		out[ttftMedian] = &steady
	}
	return out
}

// predict predicts some runs with other constants.
func (h *Held) predict(ctx context.Context, list []*judged, tune tuning, set func(*judged, *[figureCount]float64)) error {
	for at, t := range h.tables {
		var runs []*judged
		for _, j := range list {
			if j.table == at {
				runs = append(runs, j)
			}
		}
		if len(runs) == 0 {
			continue
		}
		some := t.some(runs)
		r, err := some.report(ctx, validate.Trial{Tune: tune})
		if err != nil {
			return err
		}
		for i, j := range runs {
			f := figuresOf(r, &r.Rows[i], func(f *validate.Figure) float64 { return f.Predicted })
			set(j, &f)
		}
	}
	return nil
}

// some is a table of some of the rows.
func (t *Table) some(runs []*judged) *Table {
	out := &Table{Name: t.Name, header: t.header}
	for _, j := range runs {
		out.rows = append(out.rows, t.rows[j.row])
	}
	return out
}

// report predicts the rows as the program does.
func (t *Table) report(ctx context.Context, trial validate.Trial) (*validate.Report, error) {
	text := table.Table[run]{Rows: t.rows}
	for i, column := range t.header {
		text.Columns = append(text.Columns, table.TextColumn(column, func(r run) string { return r.cells[i] }))
	}
	var b bytes.Buffer
	if err := text.Write(&b, table.CSV); err != nil {
		return nil, err
	}
	return trial.Serving(ctx, t.Name, &b, question.Default())
}

type heldFigure struct {
	*judged
	file, id, part string
	figure         int
}

// heldColumns are the file of all runs with their predictions.
var heldColumns = []table.Column[heldFigure]{
	table.TextColumn("file", func(f heldFigure) string { return f.file }),
	table.TextColumn("id", func(f heldFigure) string { return f.id }),
	table.TextColumn("part", func(f heldFigure) string { return f.part }),
	table.TextColumn("source", func(f heldFigure) string { return f.source }),
	table.TextColumn("model", func(f heldFigure) string { return f.model }),
	table.TextColumn("engine", func(f heldFigure) string { return f.engine }),
	table.TextColumn("version", func(f heldFigure) string { return f.version }),
	table.TextColumn("system", func(f heldFigure) string { return f.system }),
	table.TextColumn("mode", func(f heldFigure) string { return f.mode }),
	table.TextColumn("drafts", func(f heldFigure) string { return strconv.FormatBool(f.drafts) }),
	table.TextColumn("figure", func(f heldFigure) string { return figureNames[f.figure] }),
	table.TextColumn("measured_ms", func(f heldFigure) string { return digits(f.measured[f.figure]) }),
	table.TextColumn("as_built_ms", func(f heldFigure) string { return digits(f.built[f.figure]) }),
	table.TextColumn("held_out_ms", func(f heldFigure) string { return digits(f.held[f.figure]) }),
	table.TextColumn("doubtful", func(f heldFigure) string { return strconv.FormatBool(f.doubtful[f.figure]) }),
}

func digits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func (h *Held) WriteCSV(w io.Writer) error {
	out := table.Table[heldFigure]{Columns: heldColumns}
	for _, j := range h.runs {
		t := h.tables[j.table]
		id := cmp.Or(t.rows[j.row].Cell("id"), strconv.Itoa(j.row+1))
		for f := range figureNames {
			if !math.IsNaN(j.measured[f]) && !math.IsNaN(j.built[f]) {
				out.Rows = append(out.Rows, heldFigure{j, filepath.Base(t.Name), id, h.by.of(j), f})
			}
		}
	}
	return out.Write(w, table.CSV)
}
