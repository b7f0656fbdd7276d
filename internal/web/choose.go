package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"throughline"
	"throughline/deploy"
	"throughline/internal/advice"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/number"
	"throughline/op"
)

var choosing = &view{
	path: "choose", title: "Choose", of: question.Plan,
	pieces: []piece{
		{"", "model", "a model", false}, {" on ", "gpus", "some", false}, {" × ", "system", "a system", false}, {", ", "isl", "1024", false}, {" → ", "osl", "1024", false},
		{" tokens, TPOT ≤ ", "tpot", "any time", false}, {", TTFT ≤ ", "ttft", "any time", false}, {", behind ", "engine", "any engine", false},
	},
	slow: func(st *state) bool {
		return st.words["rate"] != "" || strings.Contains(st.words["tpot"]+st.words["ttft"], "p")
	},
}

// choice is the answer of the view.
type choice struct {
	Big, Unit, Band string
	Says            []string
	Remarks         []string
	Chart           template.HTML
	AcrossName      string
	UpName          string
	Across, Up      []option
	Dots            int
	Rows            []row
	Front           []row
	Known           []row // the ranked ones, then others of the frontier, which a limit that is dragged brings up
	Limited         bool  // the chart has a side that is forbidden
	Picked          *picked
	Ranked          string // by what
	Reasons         []string
	Nearest         []link
	Beside          []besideRow // measured runs

	drawn []picture.Beside
}

// option is one of a select.
type option struct {
	Name, Title, To string
	On              bool
}

// row is a deployment in the table.
type row struct {
	Ref, Number string
	Place       int // of its colour; -1: none
	Letter      string
	Title, Plan string
	Batch       int
	Clients     int
	TTFT, TPOT  bandedValue
	User, Rate  string
	Memory      string
	PerGPU      bandedValue
	Dollars     string
	Chance      string
	Open, Pin   string // addresses
	Why         string
	On, Pinned  bool
	Merit       float64 // less is better
	Hidden      bool

	candidate *advice.Candidate
	code      string // its words
}

// bandedValue is a figure with its band.
type bandedValue struct{ Value, Band string }

func bandedTime(seconds, band float64) bandedValue {
	text := number.Banded(seconds, band)
	if band == 0 {
		return bandedValue{text, ""}
	}
	value, _ := strings.CutSuffix(text, " "+number.Band(band))
	return bandedValue{value, number.Band(band)}
}

// mostSystems limits those that are compared in one view.
const mostSystems = 4

// systemPlan is one plan of a question, with its rows in words.
type systemPlan struct {
	system string
	*throughline.Plans
	words []map[string]string // of the ranked rows, then of the frontier
}

func (f *systemPlan) rowWords(c *advice.Candidate) map[string]string {
	for i := range f.Ranked {
		if &f.Ranked[i] == c {
			return f.words[i]
		}
	}
	for i := range f.Frontier {
		if &f.Frontier[i] == c {
			return f.words[len(f.Ranked)+i]
		}
	}
	return nil
}

// planned is a plan with the words of its rows.
func (s *Server) planned(system string, p *throughline.Plans) (*systemPlan, error) {
	f := &systemPlan{system: system, Plans: p}
	var doc bytes.Buffer
	err := report.WriteObject(&doc, report.AdviceJSON(p.Plans))
	if err == nil {
		f.words, err = question.PlannedWords(s.door(), doc.Bytes())
	}
	return f, err
}

// plan answers a question for each of its systems. Listen prepares to hear of a search; the plans
// before it are known.
func (s *Server) plan(ctx context.Context, words map[string]string, listen func(before []*systemPlan, system string, p *throughline.Plans)) (out []*systemPlan, err error) {
	systems := question.Words(words["system"])
	if len(systems) == 0 {
		systems = []string{""}
	}
	for _, system := range systems[:min(len(systems), mostSystems)] {
		q := throughline.Question(withWord(words, "system", system))
		name := encode(choosing.query(q))
		if known, ok := s.answered.get(name); ok {
			out = append(out, known)
			continue
		}
		p, err := throughline.NewPlans(q, s.reading()...)
		if err != nil {
			return nil, err
		}
		if listen != nil {
			listen(out, system, p)
		}
		if err := p.Search(ctx); err != nil {
			return nil, err
		}
		f, err := s.planned(system, p)
		if err != nil {
			return nil, err
		}
		if !p.Partial {
			s.answered.put(name, f)
		}
		out = append(out, f)
	}
	return out, nil
}

// phasePause is the least time between two pages that say what is done.
const phasePause = time.Second

// listen shows a search under way: what it does and, once something is simulated, the best so far.
func (s *Server) listen(ctx context.Context, st *state) func([]*systemPlan, string, *throughline.Plans) {
	return func(before []*systemPlan, system string, p *throughline.Plans) {
		var told time.Time
		p.Options.Tell(func(phase string, parts, done int) { // one at a time
			if phase == "searching" || time.Since(told) < phasePause { // which is soon over
				return
			}
			told = time.Now()
			st.sofar.put(message{name: "phase", page: &content{phase: st.language.say(phase) + ": " + st.language.tell("%d of %d", done, parts)}})
		})
		p.Options.Sofar = func(a *advice.Advice) {
			if len(a.Ranked) == 0 {
				return
			}
			f, err := s.planned(system, &throughline.Plans{Plans: &advice.Plans{Loaded: p.Loaded, Options: p.Options, Advice: a}, Remarks: p.Remarks})
			if err != nil {
				return // it comes again with the answer
			}
			brief := *f.Advice
			brief.Dots = nil // they would be sent twice
			f.Advice = &brief
			c, err := s.chosen(ctx, st, append(slices.Clone(before), f))
			if err == nil {
				c.phase = fmt.Sprintf("%s %s", st.language.say("The best so far of"), number.Grouped(len(a.Dots)))
				st.sofar.put(message{name: "stage", page: &c})
			}
		}
	}
}

func (s *Server) choose(ctx context.Context, st *state) (content, error) {
	if st.words["model"] == "" && st.words["system"] == "" {
		return content{}, nil
	}
	plans, err := s.plan(ctx, st.words, s.listen(ctx, st))
	if err != nil {
		return content{}, err
	}
	return s.chosen(ctx, st, plans)
}

func (s *Server) chosen(ctx context.Context, st *state, plans []*systemPlan) (content, error) {
	c := &choice{}
	out := content{data: c, takes: st.planTakes()}
	for _, f := range plans {
		out.commands = append(out.commands, choosing.command(withWord(st.words, "system", f.system)))
		c.Remarks = append(c.Remarks, remarksOf(f.Remarks)...)
		c.Reasons = append(c.Reasons, f.Reasons...)
		c.Dots += len(f.Dots)
	}
	ranking := rankedRows(plans)
	if len(ranking) == 0 {
		out.title, out.takes = st.language.say("No deployment was found"), out.takes[:1]
		c.explainNone(st, plans[0])
		return out, nil
	}
	pins, err := s.pinned(ctx, st)
	if err != nil {
		return content{}, err
	}
	lead := ranking[0]
	c.Says = append(sentence.Plan(lead.of.Plans.Plans), comparisons(st.language, plans, lead)...)
	c.Big, c.Unit, c.Band = headline(&lead.of.Options, lead.Candidate)
	c.Unit = st.language.say(c.Unit)
	c.rank(st, plans, pins)
	c.pick(st, plans)
	c.markPins(pins)
	c.know()
	out.pins = pins
	if err := c.beside(ctx, s, st, plans); err != nil {
		return content{}, err
	}
	c.draw(st, plans, pins)
	return out, nil
}

// comparisons say how much the best of other systems give.
func comparisons(l *language, plans []*systemPlan, lead rankedRow) (out []string) {
	for _, f := range plans {
		if f != lead.of && len(f.Ranked) > 0 {
			out = append(out, l.tell("%s gives %s times as much per GPU.", f.Loaded.Decode.Name, number.Plain(f.Ranked[0].PerGPU()/lead.PerGPU(), 2)))
		}
	}
	return out
}

// headline is the figure that a plan is about.
func headline(o *advice.Options, c *advice.Candidate) (big, unit, band string) {
	switch {
	case o.Objective == advice.Cost && c.DollarsPerMillion > 0:
		return "$" + number.Plain(c.DollarsPerMillion, 3), "/M tokens", ""
	case o.Objective == advice.Latency:
		return number.Time(c.Latency, 3), "a request", ""
	case c.Capacity != nil:
		return fmt.Sprint(c.Procs), "GPUs", ""
	}
	if b := c.ThroughputBand(); b > 0 {
		band = number.Band(b)
	}
	return number.Rate(c.PerGPU()), "tokens/s/GPU", band
}

// withWord is words with another text for a name; an empty text takes it out.
func withWord(words map[string]string, name, text string) map[string]string {
	out := without(words, name)
	if text != "" {
		out[name] = text
	}
	return out
}

func remarksOf(all []question.Remark) (out []string) {
	for _, r := range all {
		out = append(out, r.String())
	}
	return out
}

// explainNone says why there is no plan, and which change would have one.
func (c *choice) explainNone(st *state, f *systemPlan) {
	for _, n := range f.Nearest {
		c.Nearest = append(c.Nearest, link{fmt.Sprintf("%s %s: %s", n.Setting, n.Value, n.Gives), st.to(choosing, withWord(st.words, n.Setting, n.Value), st.shown, st.pins)})
	}
}

type rankedRow struct {
	of *systemPlan
	*advice.Candidate
	number string
}

// rankedRows are those of all plans, best first where there are several.
func rankedRows(plans []*systemPlan) (out []rankedRow) {
	for k, f := range plans {
		for i := range f.Ranked {
			out = append(out, rankedRow{f, &f.Ranked[i], rowNumber(k, fmt.Sprint(i+1))})
		}
	}
	if len(plans) > 1 {
		by := plans[0].Options.Objective
		slices.SortStableFunc(out, func(a, b rankedRow) int { return cmp.Compare(a.Merit(by), b.Merit(by)) })
	}
	return out
}

// rowNumber names a row of the kth plan.
func rowNumber(k int, number string) string {
	if k == 0 {
		return number
	}
	return fmt.Sprintf("%d.%s", k+1, number)
}

// rank lists the rows.
func (c *choice) rank(st *state, plans []*systemPlan, pins []pin) {
	c.Ranked = map[question.Objective]string{advice.Cost: "$/M tokens", advice.Energy: "tokens/J", advice.Latency: "time of a request"}[plans[0].Options.Objective]
	if c.Ranked == "" {
		c.Ranked = "tokens/s/GPU"
	}
	c.Ranked = st.language.say(c.Ranked)
	for _, r := range rankedRows(plans) {
		c.Rows = append(c.Rows, st.row(r, pins, len(plans) > 1))
	}
	for k, f := range plans {
		for i := range f.Frontier {
			c.Front = append(c.Front, st.row(rankedRow{f, &f.Frontier[i], rowNumber(k, fmt.Sprintf("f%d", i+1))}, pins, len(plans) > 1))
		}
	}
}

// know lists all rows, of those that are ranked and on the frontier only once.
func (c *choice) know() {
	c.Known = slices.Clone(c.Rows)
	for _, r := range c.Front {
		if !slices.ContainsFunc(c.Rows, func(ranked row) bool { return ranked.code == r.code }) {
			r.Hidden = true
			c.Known = append(c.Known, r)
		}
	}
}

// row is a candidate in words.
func (st *state) row(r rankedRow, pins []pin, kinds bool) row {
	rec := &r.Record
	words := r.of.rowWords(r.Candidate)
	code := encoded(words)
	out := row{
		Ref: "r" + strings.ReplaceAll(r.number, ".", "-"), Number: r.number, Place: -1, Title: st.language.titleOf(r.Candidate), Plan: planText(r.Candidate),
		Batch: r.Deployment.Of(op.Decode).Plan.Batch.Size, Clients: rec.Clients, User: number.Plain(1/rec.TPOT, 3), Rate: number.Rate(rec.Requests),
		Memory: number.Plain(rec.Held/(1<<30), 3), TTFT: bandedValue{number.Time(rec.TTFT, 3), ""}, TPOT: bandedValue{number.Time(rec.TPOT, 3), ""},
		PerGPU: bandedValue{number.Rate(r.PerGPU()), ""}, On: st.shown[rowName] == r.number, Merit: r.Merit(r.of.Options.Objective), candidate: r.Candidate, code: code,
		Open: st.to(choosing, st.words, withWord(st.shown, rowName, r.number), st.pins),
	}
	if kinds {
		out.Title = r.of.Loaded.Decode.Name + " " + out.Title
	}
	if rec.Trusted != nil {
		out.TTFT, out.TPOT = bandedTime(rec.TTFT, rec.Trusted.TTFT.Band), bandedTime(rec.TPOT, rec.Trusted.TPOT.Band)
	}
	if b := rec.ThroughputBand(); b > 0 {
		out.PerGPU.Band = number.Band(b)
	}
	if rec.DollarsPerMillion > 0 {
		out.Dollars = number.Plain(rec.DollarsPerMillion, 3)
	}
	if words == nil {
		return out
	}
	out.Why = st.to(explaining, words, map[string]string{askedName: encode(choosing.query(st.words))}, st.pins)
	at := slices.IndexFunc(pins, func(p pin) bool { return p.code == code })
	if at >= 0 {
		out.Place, out.Letter, out.Pinned, out.Ref = pins[at].Place, pins[at].Letter, true, "pin"+pins[at].Letter
		out.Pin = st.to(choosing, st.words, st.shown, slices.Delete(slices.Clone(st.pins), at, at+1))
	} else if len(st.pins) < mostPins {
		out.Pin = st.to(choosing, st.words, st.shown, append(slices.Clone(st.pins), code))
	}
	return out
}

// pools says whether one or two pools serve.
func (l *language) pools(d *deploy.Deployment) string {
	if d.Split() {
		return l.say("disaggregated")
	}
	return l.say("aggregated")
}

// titleOf says how a deployment is made, in two words.
func (l *language) titleOf(c *advice.Candidate) string {
	how := l.pools(&c.Deployment)
	if e := c.Engine(); e != nil {
		return how + ", " + e.Title
	}
	return how
}

func planText(c *advice.Candidate) string {
	var parts []string
	for i := range c.Deployment.Pools {
		p := &c.Deployment.Pools[i]
		parts = append(parts, result.Instances(p.Count, &p.Plan))
	}
	return strings.Join(parts, " → ")
}

// draw makes the chart.
func (c *choice) draw(st *state, plans []*systemPlan, pins []pin) {
	across, up := picture.FigureOf(picture.Across, st.shown[overName]), picture.FigureOf(picture.Up, st.shown[upName])
	c.AcrossName, c.UpName = across.Title, up.Title
	c.Across, c.Up = st.options(picture.Across, overName, across), st.options(picture.Up, upName, up)
	chosen := picture.Choices{Across: across, Up: up}
	for i, f := range plans {
		place := i
		if len(pins) > 0 {
			place = slices.IndexFunc(pins, func(p pin) bool { return p.system == f.Loaded.Decode.Name })
		}
		chosen.Plans = append(chosen.Plans, picture.Choice{Name: f.Loaded.Decode.Name, Place: place, Plans: f.Plans.Plans})
	}
	chosen.Marks, chosen.Runs = c.marks(st, plans, pins), c.drawn
	drawn, err := chosen.Draw()
	if err != nil {
		return // the reasons say why
	}
	c.Chart, _ = figure(drawn, st.width(mainWidth), 0, "front")
	c.Limited = strings.Contains(string(c.Chart), `data-p="forbidden"`)
}

func (st *state) options(list []picture.Figure, name string, on *picture.Figure) (out []option) {
	for i := range list {
		f := &list[i]
		shown := withWord(st.shown, name, f.Name)
		if i == 0 {
			shown = without(st.shown, name)
		}
		out = append(out, option{f.Name, st.language.say(f.Title), st.to(st.view, st.words, shown, st.pins), f == on})
	}
	return out
}

// marks are the deployments that stand out on the chart: pins or, without any, the best of each
// system; and the row that is open.
func (c *choice) marks(st *state, plans []*systemPlan, pins []pin) (out []picture.Marked) {
	for i := range pins {
		p := &pins[i]
		if p.record == nil {
			continue // it has no answer
		}
		out = append(out, picture.Marked{Label: number.Rate(p.perGPU) + " " + p.Name, Ref: "pin" + p.Letter, Link: p.To, Place: p.Place, PerGPU: p.perGPU, Record: p.record})
	}
	for k, f := range plans {
		if len(f.Ranked) == 0 {
			continue
		}
		for i := range f.Ranked {
			r := st.row(rankedRow{f, &f.Ranked[i], rowNumber(k, fmt.Sprint(i+1))}, pins, false)
			if r.Pinned {
				continue
			}
			m := picture.Marked{Ref: r.Ref, Link: r.Open, Place: -1, PerGPU: f.Ranked[i].PerGPU(), Record: &f.Ranked[i].Record, Label: ""}
			if i == 0 && len(pins) == 0 {
				m.Place = k
			}
			if i == 0 || r.On {
				m.Label = fmt.Sprintf("%s #%s", number.Rate(m.PerGPU), r.Number)
			}
			if i > 0 && !r.On { // whiskers of all would hide the points
				rec := f.Ranked[i].Record
				rec.Trusted = nil
				m.Record = &rec
			}
			out = append(out, m)
		}
	}
	slices.Reverse(out) // the best last, on top
	return out
}
