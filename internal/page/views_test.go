package page

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/files"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/profile"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/table"
	"throughline/internal/test/long"
	"throughline/internal/trace"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// drawnQuestion asks about a deployment of a built-in model and system, as any engine runs it.
func drawnQuestion(t *rapid.T, systems ...string) question.Question {
	q := question.Default()
	q.In = files.Machine
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	size := func(name string, of ...int) int { return rapid.SampledFrom(of).Draw(t, name) }
	q.Model = pick("model", "Llama-3.1-8B", "Qwen3-30B-A3B", "DeepSeek-V3", "DeepSeek-V3", "DeepSeek-V3", "gpt-oss-120b", "Nemotron-3-Nano-30B-A3B", "Kimi-Linear-48B-A3B", "Gemma-2-9B")
	q.System = pick("system", systems...)
	q.Engine = pick("engine", "sglang", "vllm", "trtllm", "none", "any")
	q.Assume = pick("assumptions", "physical", "physical", "physical", "reference")
	q.Phase = rapid.SampledFrom([]question.Phase{question.Prefill, question.Decode, question.BothPhases, ""}).Draw(t, "phase")
	q.Formats.Weights = pick("weights", "", "fp8")
	q.TP, q.PP, q.DP = size("tp", 1, 2, 8), size("pp", 1, 1, 2, 3, 4), size("dp", 1, 2, 8, 16)
	q.Batch, q.Input, q.Output = size("batch", 1, 2, 7, 64), size("isl", 1, 600, 5000), 200
	q.Concurrency = size("concurrency", 0, 0, 1, 30)
	q.Overlap = pick("overlap", "", "two-batch", "single-batch")
	if q.Model == "DeepSeek-V3" {
		q.Drafts, q.Redundant, q.Popularity = size("drafts", 0, 0, 2), size("redundant", 0, 16), pick("popularity", "", "served")
	}
	share := func(name string) float64 { return rapid.SampledFrom([]float64{0, 0, 0.01, 0.3, 1}).Draw(t, name) }
	q.Offload = estimate.Offload{Weights: share("offloaded weights"), Cache: share("offloaded cache")}
	return q
}

// hidingH200 is a file of the H200 whose computation hides all collectives.
func hidingH200(t *testing.T) string {
	t.Helper()
	src, _ := hardware.Catalogue.Find("H200")
	name := filepath.Join(t.TempDir(), "H200.json")
	if err := os.WriteFile(name, bytes.Replace(src, []byte("{"), []byte(`{"collective_overlap": 1,`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestViewsSumToTheStep: whatever shows what a step consists of adds up to the step.
func TestViewsSumToTheStep(t *testing.T) {
	estimator := point.NewExaminer()
	silent := hidingH200(t)
	seen := map[string]int{}
	check := func(t *rapid.T) {
		q := drawnQuestion(t, "H200", "H200", "B200", "SOW-S1", silent)
		answer, err := estimator.Answer(&q)
		if err != nil {
			t.Skip(err)
		}
		record := answer.Record
		for i := range answer.Phases {
			r := &answer.Phases[i]
			why, err := explain.Of(answer, i, workload.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			v := views{T: t, step: r.Estimate.StepTime, why: why}
			seen[r.Estimate.Plan.Overlap.String()]++
			seen["drafts"] += r.Estimate.Plan.Drafts
			v.shares(&r.Shares)
			v.rows(r.Operators, seen)
			v.explained(seen)
			v.timeline(r.Contents)
			v.charts(picture.Step{Answer: answer, Phase: i, Why: why})
			v.profile(r)
			v.memory()
			steps, err := picture.Shares(record)
			if err != nil {
				t.Fatal(err)
			}
			v.near("the bars of steps", sumBars(&steps.Panels[0], i), 100)
		}
		traced(t, answer)
	}
	for range 10 { // what few deployments have may be missing in the first draws
		if long.Some(t, 60, check); len(missing(seen)) == 0 {
			return
		}
	}
	t.Errorf("nothing was drawn of %v", missing(seen))
}

// TestViewsNameTheirStep: two clients do not fill a batch of 64. Wherever their decode step is
// explained it is named, with its time, and what clients see beside it is another number.
func TestViewsNameTheirStep(t *testing.T) {
	q := question.Default()
	q.In = files.Machine
	q.Model, q.System, q.Batch, q.Concurrency = "Llama-3.1-8B", "H200", 64, 2
	answer, err := point.NewExaminer().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(answer.Phases, func(r point.Result) bool { return r.Phase == op.Decode })
	why := make([]*explain.Explanation, len(answer.Phases))
	if why[at], err = explain.Of(answer, at, workload.Limits{}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.WriteExplanation(&text, table.View{}, nil, answer, at, why[at]); err != nil {
		t.Fatal(err)
	}
	const name = "decode step of batch 2"
	if want := name + ": " + number.Time(answer.Phases[at].Estimate.StepTime, 3); !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, &text)
	}
	seen := "Clients see a TPOT of " + number.Time(answer.Seen.TPOT, 3)
	section := Explained(&explain.Explained{Answer: answer, Why: why}).Sections[1]
	if !strings.Contains(section.Title, name) || !strings.Contains(strings.Join(section.Text, " "), seen) {
		t.Errorf("%s: %v", section.Title, section.Text)
	}
	for _, c := range section.Charts {
		if timed := c.Kind != "memory" && c.Kind != "roofline"; !strings.Contains(c.Title, name) || timed && !strings.Contains(c.Note+c.Description, seen) {
			t.Errorf("%s: %q, %q", c.Kind, c.Title, c.Note)
		}
	}
	if c, err := picture.Shares(answer.Record); err != nil || !slices.ContainsFunc(c.Panels[0].Y.Bands, func(b string) bool { return strings.HasPrefix(b, name) }) {
		t.Errorf("%v: %+v", err, c)
	}
}

// missing is what no drawn step has had.
func missing(seen map[string]int) (out []string) {
	for _, name := range []string{
		"drafts", plan.TwoBatch.String(), plan.SingleBatch.String(),
		"stage transfer", "moving experts", "waiting for the slowest rank", "waiting for launches", "waiting for the last stage", "waiting for the second tier",
	} {
		if seen[name] == 0 {
			out = append(out, name)
		}
	}
	return out
}

// views are those of one step.
type views struct {
	*rapid.T
	step float64
	why  *explain.Explanation
}

func (v *views) near(what string, got, want float64) {
	if !(math.Abs(got-want) <= 1e-9*want) {
		v.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (v *views) shares(s *estimate.Shares) {
	v.near("shares by part", s.Attention+s.MLP+s.Drafts+s.Ends+s.Communication+s.Waiting+s.Offload, v.step)
	v.near("shares by bound", s.Compute+s.Memory+s.Communication+s.Waiting+s.Offload, v.step)
}

// rows are those of op-details.
func (v *views) rows(rows []estimate.Operator, seen map[string]int) {
	sum := 0.0
	for i := range rows {
		r := &rows[i]
		sum += r.Takes()
		seen[r.Name]++
		if r.Name == "" || r.Block == "" || r.End > v.step*(1+1e-9) || r.Start > r.End {
			v.Fatalf("a step of %v s has the row %+v", v.step, r)
		}
	}
	v.near("rows of operators", sum, v.step)
	v.near("their sums", estimate.Sum(rows).Step(), v.step)
}

func (v *views) explained(seen map[string]int) {
	var sum, share float64
	for i := range v.why.Operators {
		o := &v.why.Operators[i]
		sum += o.Takes()
		share += o.Share
		if seen[o.Name] == 0 {
			v.Fatalf("%s is explained, and has no row", o.Name)
		}
	}
	v.near("explained operators", sum, v.step)
	v.near("their shares", share, 1)
	share = 0
	report := operators(v.why)
	at := slices.IndexFunc(report.Headings(), func(h table.Heading) bool { return h.Title == "share" })
	report.Each(func(cells []table.Cell) { share += cells[at].Value.(float64) })
	v.near("shares in the report", share, 1)
}

func (v *views) timeline(step *estimate.Contents) {
	var sum, end float64
	for i := range step.Spans {
		m := &step.Spans[i]
		if o := step.Running(m); o.Name == "" || o.Block == "" {
			v.Fatalf("a span of %v s without a name: %+v", m.End-m.Start, m)
		}
		sum += m.Exposed
		end = max(end, m.End)
	}
	v.near("the timeline", sum, v.step)
	v.near("its end", end, v.step)
}

// sumBars is how long the bars of a band are.
func sumBars(p *chart.Panel, band int) (sum float64) {
	for i := range p.Bars {
		if p.Bars[i].Band == band {
			sum += p.Bars[i].To - p.Bars[i].From
		}
	}
	return sum
}

func (v *views) charts(s picture.Step) {
	for _, kind := range picture.StepKinds {
		if kind.Name == "waterfall" && s.Parts == nil {
			continue // of clients
		}
		if kind.Name == "energy" && s.Answer.Phases[s.Phase].Drawn == nil {
			continue // of systems whose power is known
		}
		c, err := kind.Draw(s)
		if err != nil {
			v.Fatal(err)
		}
		p := &c.Panels[len(c.Panels)-1]
		switch kind.Name {
		case "share":
			sum := 0.0
			for band := range p.Y.Bands {
				sum += sumBars(p, band)
			}
			v.near("the chart of shares", sum, 100)
		case "breakdown":
			v.near("the bar by bound", sumBars(p, 1), sumBars(p, 0))
			v.near("the bar by part", sumBars(p, 0), *p.X.High/1.01)
		}
	}
}

// profile is what a profiler sees: all that keeps a unit or a network busy, each with its share.
func (v *views) profile(r *point.Result) {
	classes, _, err := profile.Compare(nil, r.Operators)
	if err != nil {
		v.Fatal(err)
	}
	sum := 0.0
	for _, c := range classes {
		sum += c.Predicted
	}
	v.near("shares of a profile", sum, 1)
}

// memory is divided into parts, none of which is less than nothing.
func (v *views) memory() {
	m := &v.why.Memory
	parts := []float64{m.Attention, m.MLP, m.Draft, m.Ends, m.Working, m.Cache}
	sum := m.Free + m.Reserved
	for _, p := range parts {
		if p < 0 {
			v.Fatalf("%+v", m)
		}
		sum += p
	}
	v.near("memory", sum, m.Capacity)
}

// traced: a trace has spans with names only, and those of its steps expose as much as the steps
// take.
func traced(t *rapid.T, a *point.Answer) {
	var b bytes.Buffer
	w := trace.New(&b)
	explain.Trace(w, a)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph, Name string
			Args     struct {
				Exposed float64 `json:"exposed_us"`
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	var sum, steps float64
	for _, e := range file.TraceEvents {
		if e.Name == "" {
			t.Fatalf("%+v has no name", e)
		}
		sum += e.Args.Exposed
	}
	for i := range a.Phases {
		steps += a.Phases[i].Estimate.StepTime
		for _, m := range a.Phases[i].Spans {
			if m.End-m.Start < trace.Shortest { // viewers cannot show it
				sum += 1e6 * m.Exposed
			}
		}
	}
	if math.Abs(sum*1e-6-steps) > 1e-9*steps {
		t.Fatalf("the trace exposes %v s of %v", sum*1e-6, steps)
	}
}
