package picture

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/advice"
	"throughline/internal/chart"
	"throughline/internal/explain"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sweep"
	"throughline/internal/test/golden"
	"throughline/internal/validate"
	"throughline/number"
	"throughline/schedule"
	"throughline/serving/simulate"
	"throughline/workload"
)

// stepOf explains a step of a question.
func stepOf(t testing.TB, phase int, change func(*question.Question)) Step {
	t.Helper()
	q := question.Default()
	q.In = files.Machine
	q.Model, q.System, q.Batch = "llama_3_8b", "H200", 32
	change(&q)
	a, err := point.NewExaminer().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	x, err := explain.Of(a, phase, workload.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := explain.PartsOf(a)
	if err != nil {
		t.Fatal(err)
	}
	return Step{Answer: a, Phase: phase, Why: x, Parts: parts}
}

// deepseek is the step that is looked at most.
func deepseek(q *question.Question) {
	q.Model, q.DP, q.Batch, q.Formats.Weights = "deepseek_v3_flash_mla_absorb", 16, 64, "fp8"
}

// steps are from the plainest to what nobody deploys.
var steps = map[string]struct {
	phase  int
	change func(*question.Question)
}{
	"dense":          {1, func(*question.Question) {}},
	"dense prefill":  {0, func(q *question.Question) { q.Input = 100_000 }},
	"one sequence":   {1, func(q *question.Question) { q.Batch, q.Engine = 1, "none" }},
	"experts":        {1, deepseek},
	"two batches":    {1, func(q *question.Question) { deepseek(q); q.Overlap = "two-batch" }},
	"pipeline":       {1, func(q *question.Question) { deepseek(q); q.DP, q.TP, q.PP, q.Drafts = 2, 2, 8, 2 }},
	"reference":      {1, func(q *question.Question) { deepseek(q); q.Assume = "reference" }},
	"does not fit":   {1, func(q *question.Question) { q.Batch, q.System, q.Engine = 500, "L40S", "none" }},
	"far too much":   {1, func(q *question.Question) { q.Batch, q.System, q.Engine = 100_000, "L40S", "none" }},
	"expert prefill": {0, deepseek},
}

// sizes at which charts are looked at.
var sizes = [][2]float64{{320, 200}, {480, 300}, {900, 500}, {1600, 900}}

// look checks a chart at all sizes, and keeps it as it is drawn at the usual one.
func checked(t *testing.T, name string, c *chart.Chart, keep bool) {
	t.Helper()
	if c.Title == "" || c.Subtitle == "" || c.Description == "" {
		t.Errorf("%s: no title, subtitle or description", name)
	}
	for _, size := range sizes {
		for _, problem := range c.Draw(size[0], size[1], "").Problems() {
			t.Errorf("%s at %v: %s", name, size, problem)
		}
	}
	var b bytes.Buffer
	if err := (chart.SVG{Theme: chart.Light}).Write(&b, c.Draw(900, 500, "")); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if keep {
		golden.File(t, filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".svg"), b.Bytes())
	}
}

func TestSteps(t *testing.T) {
	for name, s := range steps {
		step := stepOf(t, s.phase, s.change)
		for _, k := range StepKinds {
			c, err := k.Draw(step)
			if k.Name == "waterfall" && step.Parts == nil {
				continue // a bare step has none
			}
			if err != nil {
				t.Errorf("%s of %s: %v", k.Name, name, err)
				continue
			}
			checked(t, k.Name+" of "+name, c, name == "experts")
		}
	}
}

// What a timeline shows is the step: its lanes hold what the table of operators has, and the last
// thing ends with it.
func TestTimelineIsTheStep(t *testing.T) {
	for name, s := range steps {
		step := stepOf(t, s.phase, s.change)
		var exposed, end float64
		for i := range step.result().Spans {
			m := &step.result().Spans[i]
			exposed += 1e6 * m.Exposed
			end = max(end, 1e6*m.End)
			if o := step.result().Running(m); m.End < m.Start || o.Name == "" || o.Block == "" {
				t.Errorf("%s: %+v", name, m)
			}
		}
		if math.Abs(end/step.micros()-1) > 1e-6 {
			t.Errorf("%s: ends at %v µs, the step takes %v", name, end, step.micros())
		}
		var shares float64
		c, err := share(step)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range c.Panels[0].Bars {
			shares += b.To
		}
		if math.Abs(shares-100) > 1e-6 {
			t.Errorf("%s: shares add up to %v", name, shares)
		}
	}
}

// No operator lies above the peaks.
func TestUnderTheRoof(t *testing.T) {
	for name, s := range steps {
		step := stepOf(t, s.phase, s.change)
		spots, ceilings := step.Why.Roofline()
		c, err := roofline(step)
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []float64{480, 900, 1600} { // names at the lines have room for some; the small print has all
			note := ""
			for _, m := range c.Draw(width, 0, "").Marks {
				if strings.HasPrefix(m.ID, "note") {
					note += m.Text + " "
				}
			}
			for _, k := range ceilings {
				if text := fmt.Sprintf("%s %s", strings.TrimSuffix(k.Name, explain.CalibratedSuffix), chart.Number(k.Rate/1e12)); !k.Calibrated && !strings.Contains(note, text) {
					t.Errorf("%s at %g: %q is not in %q", name, width, text, note)
				}
			}
		}
		peaks, below := 0, 0
		var bandwidth, top float64
		for _, c := range ceilings {
			if c.Calibrated {
				below++
				continue
			}
			peaks++
			if c.Memory {
				bandwidth = c.Rate
			} else {
				top = max(top, c.Rate)
			}
		}
		if peaks < 2 || below < 1 {
			t.Errorf("%s: %d peaks, %d calibrated ceilings", name, peaks, below)
		}
		for _, q := range spots {
			// Of operators in one kernel all bytes count, also those that stay inside of it: those
			// may lie above the memory's roof.
			at := rooflinePoint(q)
			if at.Y*1e12 > top*(1+1e-9) || q.Peak.Engine == estimate.Cube && at.Y*1e12 > at.X*bandwidth*(1+1e-9) {
				t.Errorf("%s: %s does %v Tflop/s at %v flop/byte", name, q.Name, at.Y, at.X)
			}
		}
	}
}

// What matters most is written out, not only drawn.
func TestNamed(t *testing.T) {
	for name, c := range map[string]struct {
		step, kind string
		want       []string
	}{
		"memory that is too small": {"does not fit", "memory", []string{"capacity 44.99 GiB", "usable 39.491 GiB"}},
		"a layer":                  {"experts", "timeline", []string{"attention | MLP", "scores", "expert gate and up", "dispatch", "combine", "router", "The whole step", "network 1"}},
		"stages":                   {"pipeline", "timeline", []string{"The whole step", "waiting", "network 0"}},
		"the slowest":              {"experts", "share", []string{"expert gate and up", "combine"}},
		"ceilings":                 {"experts", "roofline", []string{"memory, 4.8 TB/s", "matrix float8, 1979 Tflop/s", "router"}},
	} {
		s := steps[c.step]
		k, _ := Find(StepKinds, c.kind)
		drawn, err := k.Draw(stepOf(t, s.phase, s.change))
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]bool{}
		for _, m := range drawn.Draw(900, 500, "").Marks {
			texts[m.Text] = true
		}
		for _, want := range c.want {
			if !texts[want] {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
}

// A waterfall ends in what clients see, part after part, and its numbers are those of the JSON.
func TestWaterfallEndsInTheHeadline(t *testing.T) {
	seen := 0
	for name, s := range steps {
		step := stepOf(t, s.phase, s.change)
		if step.Parts == nil {
			continue
		}
		c, err := waterfall(step)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for i, want := range []float64{step.Answer.TPOT, step.Answer.TTFT} {
			parts := [][]explain.Part{step.Parts.TPOT, step.Parts.TTFT}[i]
			sum := 0.0
			for _, p := range parts {
				sum += p.Ms / 1e3
			}
			if math.Abs(sum/want-1) > 1e-9 {
				t.Errorf("%s: parts of %g s add up to %g", name, want, sum)
			}
			bars := c.Panels[i].Bars
			last := bars[len(bars)-1]
			for k := 1; k < len(bars)-1; k++ { // each starts where the one before ended, or ends there
				if a, b := bars[k-1], bars[k]; math.Abs(a.To-b.From) > 1e-9*last.To && math.Abs(a.To-b.To) > 1e-9*last.To && math.Abs(a.From-b.To) > 1e-9*last.To && math.Abs(a.From-b.From) > 1e-9*last.To {
					t.Errorf("%s: bar %d does not follow the one before", name, k)
				}
			}
			band := []float64{step.Answer.Trusted.TPOT.Band, step.Answer.Trusted.TTFT.Band}[i]
			if !strings.Contains(c.Title, number.Banded(want, band)) {
				t.Errorf("%s: %q does not say %g s", name, c.Title, want)
			}
		}
	}
	if seen == 0 {
		t.Error("no step has clients")
	}
}

// Where nothing runs nothing is used, also while exchanges of other layers overlap.
func TestNoUseWhereNothingRuns(t *testing.T) {
	of := stepOf(t, 1, func(q *question.Question) { deepseek(q); q.Overlap = "two-batch" })
	step := of.result().Contents
	_, from, to := layerSpans(step, step.Depth()/2)
	p := usePanel(step, from, to, 1)
	for _, l := range p.Lines {
		for i := 0; i+1 < len(l.Points); i++ {
			middle := from + (l.Points[i].X+l.Points[i+1].X)/2
			runs := slices.ContainsFunc(step.Spans, func(m schedule.Span) bool {
				return m.Stage == 0 && m.Batch == 0 && 1e6*m.Start <= middle && middle <= 1e6*m.End && step.Running(&m).Computes()
			})
			if !runs && l.Points[i].Y > 0 {
				t.Errorf("nothing computes at %g µs, and %g%% are used", middle, l.Points[i].Y)
			}
		}
	}
}

func plansOf(t testing.TB, change func(*question.Question), mode question.Mode) *advice.Plans {
	t.Helper()
	q := question.DefaultOf(question.Plan)
	q.In = files.Machine
	q.Model, q.System, q.GPUs, q.Mode = "llama_3_8b", "H200", 4, mode
	change(&q)
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	engines, err := engine.Choices(q.Engine)
	if err != nil {
		t.Fatal(err)
	}
	o := advice.Options{Search: question.Search{GPUs: q.GPUs, Mode: mode, Objective: q.Objective, Top: q.Top}, GPUsPerNode: q.GPUsPerNode, Engines: engines, Workers: 2, PerHour: l.PerHour}
	a, err := advice.Give(context.Background(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	return &advice.Plans{Loaded: l, Options: o, Advice: a}
}

func TestPlans(t *testing.T) {
	one := plansOf(t, func(q *question.Question) { q.GPUs = 1 }, advice.Aggregated)
	both := plansOf(t, func(q *question.Question) { q.GPUs, q.TPOT = 8, 20 }, advice.Both)
	for name, p := range map[string]*advice.Plans{"one GPU": one, "eight GPUs": both} {
		c, err := frontier(p)
		if err != nil {
			t.Fatal(err)
		}
		checked(t, "frontier of "+name, c, name == "eight GPUs")
	}
	c, err := balance(both)
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "balance of eight GPUs", c, true)
	if _, err := balance(one); err == nil || !strings.Contains(err.Error(), "pool for each phase") {
		t.Errorf("a balance of one GPU: %v", err)
	}
	none := *one
	none.Advice = &advice.Advice{}
	if _, err := frontier(&none); err == nil {
		t.Error("a frontier of nothing")
	}
}

func loadOf(t testing.TB, requests int, rate float64) Load {
	t.Helper()
	q := question.Default()
	q.In = files.Machine
	q.Model, q.System, q.Batch, q.Input, q.Output = "llama_3_8b", "H200", 1, 512, 64
	a, err := point.NewExaminer().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	o, err := simulate.Of(&a.Deployment, workload.Lengths{Input: 512, Output: 64}, &simulate.Settings{BlockTokens: 16, Routing: deploy.RoundRobin})
	if err != nil {
		t.Fatal(err)
	}
	o.Every = 1e-3
	traffic := workload.Traffic{Requests: requests, Rate: rate, HashTokens: 16, Turns: 1}
	traffic.Arrival, _ = workload.ParseArrival("poisson")
	traffic.Input, _ = workload.ParseLength("", 512)
	traffic.Output, _ = workload.ParseLength("", 64)
	record, err := simulate.Run(context.Background(), o, traffic.Source())
	if err != nil {
		t.Fatal(err)
	}
	return Load{report.DeploymentTitle(&a.Deployment, false), &simulate.Result{Record: record, Terms: workload.Terms{Traffic: workload.Traffic{Rate: rate}, TTFT: workload.Limit{Seconds: 0.2}}}}
}

// TestSamples: no interval has more requests than there are, or more of the cache than that holds,
// however short it is; together they are the same time of requests, and no more than these spent:
// who comes during a step is seen by the next.
func TestSamples(t *testing.T) {
	const requests = 200
	r := loadOf(t, requests, 50).Result
	total := 0.0
	for _, most := range []int{10, 400, 1 << 20} {
		inside, samples := 0.0, Samples(r, most)
		if len(samples) > most {
			t.Errorf("%d samples", len(samples))
		}
		for i, s := range samples {
			if s.Running+s.Waiting > requests+1e-9 || s.Cache > 1+1e-9 {
				t.Errorf("%+v", s)
			}
			end := float64(len(r.Timeline.Points)) * r.Timeline.Every
			if i+1 < len(samples) {
				end = samples[i+1].Time
			}
			inside += (s.Running + s.Waiting) * (end - s.Time)
		}
		if total == 0 {
			total = inside
		}
		if math.Abs(inside/total-1) > 1e-9 || inside > r.Record.Present {
			t.Errorf("requests spent %v s in %d samples, %v s in 10, %v s in all", inside, len(samples), total, r.Record.Present)
		}
	}
}

func TestLoads(t *testing.T) {
	for name, l := range map[string]Load{"one request": loadOf(t, 1, 1), "many requests": loadOf(t, 2000, 30), "a crowd": loadOf(t, 3000, math.Inf(1))} {
		if name == "one request" {
			l.Result.Energy = nil // as of a chip whose power is not known
		}
		for _, k := range LoadKinds {
			c, err := k.Draw(l)
			if k.Name == "watts" && name == "one request" {
				if err == nil {
					t.Errorf("%s of %s: drawn without a known power", k.Name, name)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s of %s: %v", k.Name, name, err)
			}
			checked(t, k.Name+" of "+name, c, name == "many requests")
			if k.Name != "latency" {
				continue
			}
			for _, m := range c.Draw(900, 0, "").Marks {
				if strings.HasPrefix(m.ID, "tick") && regexp.MustCompile(`\dk$`).MatchString(m.Text) {
					t.Errorf("%s: a tick of time says %s", name, m.Text)
				}
			}
		}
		// Samples hold what the timeline does: the integral over time is the same.
		var sum, want float64
		samples := Samples(l.Result, 400)
		points := l.Result.Timeline.Points
		join := len(points)
		if len(samples) > 1 {
			join = int(math.Round(samples[1].Time / l.Result.Timeline.Every))
		}
		for i, s := range samples {
			sum += s.Running * float64(min(join, len(points)-i*join)) * l.Result.Timeline.Every
		}
		for i := range points {
			want += points[i].Running
		}
		if math.Abs(sum/want-1) > 1e-9 {
			t.Errorf("%s: %v request-seconds, want %v", name, sum, want)
		}
	}
}

func measuredOf(rows int) Measured {
	r := &validate.Report{Header: []string{"a"}, Figures: []string{""}}
	for i := range rows {
		m := math.Pow(10, float64(i%61)/10-2)
		group := fmt.Sprintf("group %d", i%11)
		r.Rows = append(r.Rows, validate.Row{Group: group, Label: fmt.Sprint(i), Figures: []validate.Figure{{Measured: m, Predicted: m * (0.7 + 0.6*math.Mod(float64(i)*0.618, 1))}}})
	}
	r.Rows = append(r.Rows, validate.Row{Group: "none", Figures: []validate.Figure{{Reason: "no such kernel", Measured: 3}}}, validate.Row{Group: "zero", Figures: []validate.Figure{{}}})
	return Measured{"made.csv", "µs", r}
}

func TestScatter(t *testing.T) {
	for _, n := range []int{1, 300, 10_000} {
		c, err := scatter(measuredOf(n))
		if err != nil {
			t.Fatal(err)
		}
		checked(t, fmt.Sprintf("scatter of %d", n), c, n == 300)
	}
	if _, err := scatter(measuredOf(0)); err == nil {
		t.Error("a scatter of nothing")
	}
}

// TestErrorShares: a line rises to the share of its group that is off by so much, which is counted
// by hand here.
func TestErrorShares(t *testing.T) {
	c, err := errorShares(measuredOf(300))
	if err != nil {
		t.Fatal(err)
	}
	checked(t, "errors of 300", c, true)
	if _, err := errorShares(measuredOf(0)); err == nil {
		t.Error("errors of nothing")
	}
	got := within([]chart.Dot{
		{XY: chart.XY{X: 100, Y: 104}}, {XY: chart.XY{X: 100, Y: 80}}, {XY: chart.XY{X: 10, Y: 10.4}}, {XY: chart.XY{X: 1, Y: 3}},
	})
	want := []chart.XY{{}, {X: 4, Y: 50}, {X: 20, Y: 75}, {X: worstShown, Y: 75}}
	if !slices.EqualFunc(got, want, func(a, b chart.XY) bool { return math.Abs(a.X-b.X) < 0.11 && a.Y == b.Y }) {
		t.Errorf("shares %v, want %v", got, want)
	}
}

func runsOf(t testing.TB, config, x, y, by string) *Runs {
	t.Helper()
	jobs, _, err := jobfile.Load(files.Machine, config, &assume.Reference)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := report.FieldsOf("columns", x, y, by)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runs{Title: filepath.Base(config), X: fields[0], Y: fields[1], By: fields[2]}
	for _, job := range jobs {
		if err := sweep.Run(context.Background(), job, sweep.Options{Jobs: 2}, func(of *result.Record) error { r.Add(of); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestRuns(t *testing.T) {
	r := runsOf(t, "../../configs/reference_sample.json", UsualX, UsualY, UsualBy)
	for _, k := range RunKinds {
		c, err := k.Draw(r)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		checked(t, k.Name+" of runs", c, true)
	}
	for n := len(r.list); len(r.list) < 10_000; { // the same, in other places
		next := r.list[len(r.list)-n]
		next.user, next.gpu, next.xs, next.value = next.user*1.0003, next.gpu*0.9999, next.xs+17, next.value*0.9998
		next.x, next.by = fmt.Sprint(len(r.list)%150), fmt.Sprint(len(r.list)%90)
		r.list = append(r.list, next)
	}
	for _, k := range RunKinds {
		c, err := k.Draw(r)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		checked(t, k.Name+" of many runs", c, false)
	}
	none := &Runs{Title: "nothing", X: r.X, Y: r.Y, By: r.By}
	for _, k := range RunKinds {
		if _, err := k.Draw(none); err == nil {
			t.Errorf("%s of nothing", k.Name)
		}
	}
}

// TestRunsOfSeveralModels: a small model is not the answer for a large one: lines and rows are of a
// model on a system where there are several; of many runs the breakdown shows the best of each, and
// runs that differ in a limit alone are one dot.
func TestRunsOfSeveralModels(t *testing.T) {
	r := &Runs{Title: "two models", X: &result.Field{Name: UsualX}, Y: &result.Field{Name: UsualY}, By: &result.Field{Name: UsualBy}}
	for i := range 60 {
		n := run{name: fmt.Sprint("run ", i), model: "small", by: "H200", lengths: "512 in, 128 out", x: "512", xs: 512, value: 70, user: 100, gpu: 1000 + float64(i/2), decode: &estimate.Shares{MLP: 1}}
		if i%2 == 1 {
			n.model, n.value, n.user, n.gpu = "large", 10, 30, 100+float64(i/2)
		}
		n.kind = n.model + " on H200"
		r.list = append(r.list, n, n)
	}
	for _, k := range RunKinds {
		c, err := k.Draw(r)
		if err != nil {
			t.Fatal(k.Name, err)
		}
		p := &c.Panels[0]
		switch k.Name {
		case "frontier":
			if len(p.Dots) != 2 || len(p.Dots[0].Points) != 30 {
				t.Errorf("frontier: %d series, the first of %d dots", len(p.Dots), len(p.Dots[0].Points))
			}
		case "lines":
			if len(c.Keys) != 2 || c.Keys[1].Text != "large on H200" || p.Lines[1].Points[0].Y != 10 {
				t.Errorf("lines: %v", c.Keys)
			}
		case "heatmap":
			if !slices.Equal(p.Y.Bands, []string{"large on H200", "small on H200"}) || p.Cells[0].Value != 10 {
				t.Errorf("rows %v, %+v", p.Y.Bands, p.Cells)
			}
		case "breakdown":
			if want := []string{"run 58: small on H200", "run 59: large on H200"}; !slices.Equal(p.Y.Bands, want) {
				t.Errorf("breakdown of %v, not %v", p.Y.Bands, want)
			}
		}
	}
}

// Each chart of a step of DeepSeek-V3 takes less than 20 ms, as SVG and as PNG.
func BenchmarkSteps(b *testing.B) {
	step := stepOf(b, 1, deepseek)
	for _, k := range StepKinds {
		for format, write := range map[string]func(*chart.Scene) error{
			"svg": func(s *chart.Scene) error { return chart.SVG{Theme: chart.Light}.Write(io.Discard, s) },
			"png": func(s *chart.Scene) error { return chart.WritePNG(io.Discard, s, chart.Light) },
		} {
			b.Run(k.Name+"/"+format, func(b *testing.B) {
				for b.Loop() {
					c, err := k.Draw(step)
					if err == nil {
						err = write(c.Draw(900, 500, ""))
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Rows for people have names that differ, no time of 0, and the time and energy of all operators.
func TestShownOperators(t *testing.T) {
	x := stepOf(t, 1, func(q *question.Question) { q.Model, q.System, q.DP = "DeepSeek-V4-Pro", "B200", 8 })
	shown, others := x.Why.Operators.Shown()
	if len(others) == 0 {
		t.Error("no operator is in the kernel of another")
	}
	seen := map[string]bool{}
	var time, joules [2]float64
	for i := range x.Why.Operators {
		time[0], joules[0] = time[0]+x.Why.Operators[i].Takes(), joules[0]+x.Why.Operators[i].Joules
	}
	for i := range shown {
		o := &shown[i]
		if seen[o.Block+o.Name] || o.Computes() && o.Exposed == 0 {
			t.Errorf("%s %s is shown twice, or takes no time", o.Block, o.Name)
		}
		seen[o.Block+o.Name] = true
		time[1], joules[1] = time[1]+o.Takes(), joules[1]+o.Joules
	}
	if math.Abs(time[0]-time[1]) > 1e-9*time[0] || math.Abs(joules[0]-joules[1]) > 1e-9*joules[0] {
		t.Errorf("%g s and %g J of operators, %g and %g shown", time[0], joules[0], time[1], joules[1])
	}
}
