package point

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/estimate"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/op"
	"throughline/plan"
)

func llama() question.Question {
	p := question.Default()
	p.In = files.Machine
	p.Model, p.System = "llama_3_8b", "H200"
	return p
}

func deepseek() question.Question {
	p := llama()
	p.Model, p.Formats.Weights = "deepseek_v3_flash_mla_absorb", "fp8"
	return p
}

// estimated is a bare step of a point without an engine.
func estimated(t *testing.T, p question.Question, phase op.Phase) *Result {
	t.Helper()
	p.Phase, p.Engine = question.Phase(phase.Name()), "none"
	a, err := NewEstimator().Answer(&p)
	if err != nil {
		t.Fatal(err)
	}
	return &a.Phases[0]
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The shares of a step add up to it, told in either way, whatever the plan.
func TestSharesAddUp(t *testing.T) {
	cases := map[string]question.Question{"dense": llama(), "experts": deepseek()}
	wide := deepseek()
	wide.DP, wide.TP, wide.PP, wide.Drafts, wide.Batch = 4, 2, 2, 2, 16
	cases["pipeline with drafts"] = wide
	reference := wide
	reference.Assume = "reference"
	cases["reference"] = reference
	for name, p := range cases {
		for _, phase := range []op.Phase{op.Prefill, op.Decode} {
			r := estimated(t, p, phase)
			s := &r.Shares
			near(t, name+" by part", s.Attention+s.MLP+s.Drafts+s.Ends+s.Communication+s.Waiting, r.Estimate.StepTime)
			near(t, name+" by bound", s.Compute+s.Memory+s.Communication+s.Waiting, r.Estimate.StepTime)
		}
	}
}

// A decode step at a context is the step of a request whose middle has that context.
func TestContext(t *testing.T) {
	request := llama()
	request.Input, request.Output = 1024, 1024 // context 1024 + 512 + 1
	step := llama()
	step.Context = 1537
	a, b := estimated(t, request, op.Decode), estimated(t, step, op.Decode)
	near(t, "step", b.Estimate.StepTime, a.Estimate.StepTime)
	// Its cache has room for the context, not for the whole request: 2·8·128 elements of 2 bytes in
	// 32 layers.
	near(t, "cache", b.Estimate.Memory.Cache, 1537*2*8*128*2*32)
	if !b.Ongoing || a.Ongoing {
		t.Error("the step at a context is no share of a request")
	}
}

// Clients that do not fill the batches of two ranks have steps of as many sequences as they are: 41
// of 359 on each is 21.
func TestClientsFillBatches(t *testing.T) {
	step := func(batch, clients int) *estimate.Estimate {
		p := llama()
		p.DP, p.Batch, p.Concurrency, p.Engine = 2, batch, clients, "vllm"
		a, err := NewEstimator().Answer(&p)
		if err != nil {
			t.Fatal(err)
		}
		return &a.Phases[len(a.Phases)-1].Estimate
	}
	if few, filled := step(359, 41), step(21, 0); few.StepTime != filled.StepTime || few.Plan.Batch.Size != 21 {
		t.Errorf("a step of batch %d takes %v s, one of 21 sequences %v", few.Plan.Batch.Size, few.StepTime, filled.StepTime)
	}
	if many, full := step(16, 100), step(16, 0); many.StepTime != full.StepTime {
		t.Errorf("more clients than batches hold: %v s, not %v", many.StepTime, full.StepTime)
	}
}

// TestOwnBatchFits: a batch that clients imply is one that fits; one that was asked for stays, and
// is said to be too much.
func TestOwnBatchFits(t *testing.T) {
	for _, name := range []string{"sglang", "vllm", "trtllm", "none", "any"} {
		for _, pools := range []string{"", "tp2"} {
			q := llama()
			q.Model, q.System, q.TP, q.Engine, q.Concurrency, q.PrefillPlan, q.DecodePlan = "Llama-3.1-70B", "H100_SXM", 2, name, 64, pools, pools
			q.Traffic.MemoryShare = 0.9 // SGLang by itself takes less than the weights
			own, err := NewEstimator().Answer(&q)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range own.Record.Sides {
				if s != nil && s.Over() > 0 {
					t.Errorf("%s, pools %q: %s", name, pools, s.TooMuch())
				}
			}
			batch := own.Deployment.Of(op.Decode).Plan.Batch.Size
			if own.Seen == nil || batch < 2 || batch >= 64 {
				t.Errorf("%s, pools %q: batch %d, %s", name, pools, batch, own.Remark)
			}
			more := batch + 4 // working space of prompts, which bare decode steps do not have, takes less than four sequences
			if q.Batch = more; pools != "" {
				q.Batch, q.DecodePlan = 0, fmt.Sprintf("%s·batch%d", pools, more)
			}
			asked, err := NewEstimator().Answer(&q)
			if err != nil {
				t.Fatal(err)
			}
			if s := asked.Record.Sides[op.Decode]; s.Over() == 0 || s.Step.Plan.Batch.Size != more {
				t.Errorf("%s, pools %q: batch %d fits as well, of which %d were asked for", name, pools, s.Step.Plan.Batch.Size, more)
			}
		}
	}
}

// Expert groups fill the processors of a stage, or copies of them do.
func TestExpertsFillTheProcessors(t *testing.T) {
	for _, c := range []struct {
		change func(*question.Question)
		want   plan.ExpertSplit
	}{
		{func(p *question.Question) { p.DP, p.TP = 4, 2 }, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}},
		{func(p *question.Question) { p.DP, p.TP, p.PP = 4, 2, 2 }, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}},
		{func(p *question.Question) { p.DP, p.PP, p.Assume = 4, 2, "reference" }, plan.ExpertSplit{EP: 8, TP: 1, DP: 1}},
		{func(p *question.Question) { p.DP, p.EP = 8, 2 }, plan.ExpertSplit{EP: 2, TP: 1, DP: 4}},
		{func(p *question.Question) { p.DP, p.MoETP = 8, 4 }, plan.ExpertSplit{EP: 2, TP: 4, DP: 1}},
		{func(p *question.Question) { p.DP, p.MoEDP = 8, 4 }, plan.ExpertSplit{EP: 2, TP: 1, DP: 4}},
	} {
		p := deepseek()
		c.change(&p)
		if got := estimated(t, p, op.Decode).Estimate.Plan.Experts; got != c.want {
			t.Errorf("%+v: %v, want %v", p, got, c.want)
		}
	}
}

// Everything that is wrong is said at once.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name   string
		point  func() question.Question
		phase  op.Phase
		reason []string
	}{
		{"numbers", func() question.Question { p := llama(); p.Batch, p.TP, p.Drafts = -1, -2, 9; return p }, op.Decode, []string{
			"batch: must be from 1 to 1000000000, not -1", "tp: must be from 1 to 1000000, not -2", "drafts: must be from 0 to 4, not 9",
		}},
		{"numbers and files", func() question.Question { p := llama(); p.Batch, p.Model = -1, "lama_3_8b"; return p }, op.Decode, []string{
			"batch: must be from 1 to 1000000000, not -1", `model: "lama_3_8b" is no file and no built-in model; did you mean "llama_3_8b"?`,
		}},
		{"split", func() question.Question { p := deepseek(); p.DP, p.TP = 3, 7; return p }, op.Decode, []string{
			"tp 7 does not divide the 128 attention heads of deepseek-v3-mla-absorb",
			"tp 7 does not divide the feed-forward width 18432 of deepseek-v3-mla-absorb",
			"ep 21 does not divide the 256 deployed experts of deepseek-v3-mla-absorb (256 routed + 0 redundant)",
		}},
		{"fill", func() question.Question { p := deepseek(); p.DP, p.PP, p.EP = 8, 2, 3; return p }, op.Decode, []string{
			"ep 3 · moe-tp 1 · moe-dp 2 = 6 do not fill the 8 GPUs of a stage",
		}},
		{"dense", func() question.Question { p := llama(); p.EP, p.Redundant = 2, 1; return p }, op.Decode, []string{
			"ep: must be 1, not 2: llama-3-8B has no experts", "redundant: must be 0, not 1: llama-3-8B has no experts",
		}},
		{"networks", func() question.Question { p := llama(); p.DP = 1_000_000; return p }, op.Decode, []string{
			"1000000 GPUs, but the networks of H200 join 65536",
		}},
		{"lengths", func() question.Question { p := llama(); p.Context, p.Input = 8, 8; return p }, op.Prefill, []string{
			"context: takes the place of isl and osl; give it or them", "context: is that of a decode step; the length of a prompt is isl",
		}},
		{"cached", func() question.Question { p := llama(); p.Prefix = 1024; return p }, op.Prefill, []string{
			"an input of 1024 tokens leaves nothing to compute: 1024 of them are cached",
		}},
		{"context parallel", func() question.Question { p := llama(); p.CP = 2; return p }, op.Decode, []string{
			"cp: only a prefill splits the context: ask for phase prefill, or give a prefill-plan",
		}},
	} {
		p := c.point()
		p.Phase = question.Phase(c.phase.Name())
		_, err := NewEstimator().Answer(&p)
		if err == nil {
			t.Errorf("%s: no problem", c.name)
			continue
		}
		if diff := cmp.Diff(strings.Join(c.reason, "\n"), err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// stream runs a table.
func stream1(t *testing.T, in string, others question.Question) (string, Tally) {
	t.Helper()
	var out bytes.Buffer
	tally, err := Stream(context.Background(), strings.NewReader(in), &out, &others)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), tally
}

// A row holds what its point estimates to; what a row does not say is as in the point for all.
func TestStream(t *testing.T) {
	others := llama()
	others.Batch = 8
	others.Engine = "none"
	out, tally := stream1(t, "batch,#id,isl,PHASE,moe_tp\n32,a,,decode,\n,b,2048,prefill,1\n100000,c,,decode,\n", others)
	if tally != (Tally{Rows: 3}) {
		t.Errorf("%+v", tally)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[0], ","); got != "batch,#id,isl,PHASE,moe_tp,"+strings.Join(resultNames, ",") {
		t.Errorf("header %s", got)
	}
	number := func(v float64) string { return fmt.Sprintf("%.9g", v) }
	cells := func(r *Result, fits, bound, reason string) []string {
		e := &r.Estimate
		again, err := estimate.NewEvaluator(&r.Problem)
		if err != nil {
			t.Fatal(err)
		}
		d := again.Detail(&r.Plan)
		return []string{"none", "", "", "", number(e.StepTime * 1e3), number(e.Throughput), number(e.Requests), number(e.Memory.Total() / (1 << 30)), fits, bound,
			d.Confidence.Level.String(), number(100 * d.Confidence.Band), reason}
	}
	first, second, third := others, others, others
	first.Batch, second.Input, third.Batch = 32, 2048, 100000
	crowd := estimated(t, third, op.Decode)
	tooMuch := fmt.Sprintf("decode does not fit: it needs %.0f GiB of the %.1f GiB that are usable, %.0f GiB too much",
		crowd.Estimate.Memory.Total()/(1<<30), crowd.Usable/(1<<30), (crowd.Estimate.Memory.Total()-crowd.Usable)/(1<<30))
	want := [][]string{
		append([]string{"32", "a", "", "decode", ""}, cells(estimated(t, first, op.Decode), "TRUE", "memory", "")...),
		append([]string{"", "b", "2048", "prefill", "1"}, cells(estimated(t, second, op.Prefill), "TRUE", "compute", "")...),
		append([]string{"100000", "c", "", "decode", ""}, cells(crowd, "FALSE", "memory", tooMuch)...),
	}
	if diff := cmp.Diff(want, rows[1:]); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	// What came out goes in again and comes out the same.
	again, _ := stream1(t, out, others)
	if diff := cmp.Diff(out, again); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
}

// Bad rows have their reasons; those around them are estimated.
func TestStreamBadRows(t *testing.T) {
	good, _ := stream1(t, "batch,tp\n4,1\n", llama())
	row := strings.Split(good, "\n")[1]
	out, tally := stream1(t, "batch,tp\n4,1\nmany,0\n4\n4,1,1\n4,3\n\"4,1\n", llama())
	if tally != (Tally{Rows: 6, Bad: 5}) {
		t.Errorf("%+v", tally)
	}
	lines := strings.Split(out, "\n")
	for i, want := range []string{
		row,
		`many,0,,,,,,,,,,,,,"batch: must be a whole number, not ""many""; tp: must be from 1 to 1000000, not 0"`,
		`4,,,,,,,,,,,,,,1 cells under 2 columns`,
		`4,1,,,,,,,,,,,,,3 cells under 2 columns`,
		`4,3,,,,,,,,,,,,,tp 3 does not divide the 32 attention heads of llama-3-8B; tp 3 neither divides the 8 key/value heads of llama-3-8B nor is a multiple of them; tp 3 does not divide the feed-forward width 14336 of llama-3-8B`,
		`,,,,,,,,,,,,,,"parse error on line 7, column 6: extraneous or missing "" in quoted-field"`,
	} {
		if lines[i+1] != want {
			t.Errorf("row %d:\n got %s\nwant %s", i, lines[i+1], want)
		}
	}
}

func TestStreamHeader(t *testing.T) {
	for in, want := range map[string]string{
		"": "the table of points is empty: its first row names the columns",
		"model,system,btach,tp,TP\n": `column 3: "btach" is not one of "model", "system", "gpus", "gpus-per-node", "engine", "phase", "batch", "concurrency", "isl", "osl", "context", "prefix", "prefix-hit", "lengths", "price", "power-limit", "energy-price", "pue", "carbon", "tp", "pp", "dp", "cp", "sp", "dense-tp", "head-tp", "ep", "moe-tp", "moe-dp", "prefill-plan", "decode-plan", "decode-system", "redundant", "drafts", "overlap", "popularity", "weights", "activations", "cache", "comm", "dispatch", "combine", "attention", "vector", "offload-weights", "offload-cache", "gpu-layers", "assume", "set", "fitted", "arrival", "random-range-ratio", "gsp-num-groups", "gsp-system-prompt-len", "turns", "trace", "step-tokens", "max-running-requests", "memory-share", "cold", "prefix-cache", "poll-steps", "wait-steps", "balance-steps", "captured-batch", "captured-prompts", "chunked-prefill", "attention-backend", "prefill-attention-backend", "decode-attention-backend"; did you mean "batch"?` +
			"\n" + `column 5: "TP" is there twice`,
		"tp\n": "there is no column \"model\", and no model for all rows is given\nthere is no column \"system\", and no system for all rows is given",
	} {
		var out bytes.Buffer
		others := question.Default()
		others.In = files.Machine
		_, err := Stream(context.Background(), strings.NewReader(in), &out, &others)
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", in, err, want)
		}
		if out.Len() > 0 {
			t.Errorf("%q: wrote %q", in, &out)
		}
	}
}

// slow gives a row at a time, and checks that all rows before have been answered by then.
type slow struct {
	t    *testing.T
	rows []string
	next int
	out  *bytes.Buffer
}

func (s *slow) Read(b []byte) (int, error) {
	if s.next > 0 && s.next < len(s.rows) {
		if n := strings.Count(s.out.String(), "\n"); s.next > 1 && n != s.next {
			s.t.Errorf("%d rows written after %d were read", n, s.next)
		}
	}
	if s.next == len(s.rows) {
		return 0, fmt.Errorf("the line is cut")
	}
	s.next++
	return copy(b, s.rows[s.next-1]), nil
}

// Rows are answered as they come, and a failure to read does not take back what was answered.
func TestStreamAnswersAtOnce(t *testing.T) {
	var out bytes.Buffer
	others := llama()
	in := &slow{t: t, rows: []string{"batch\n", "1\n", "2\n", "3\n"}, out: &out}
	tally, err := Stream(context.Background(), in, &out, &others)
	if err == nil || err.Error() != "the table of points: after line 4: the line is cut" || tally.Rows != 3 {
		t.Errorf("%v after %+v", err, tally)
	}
	if n := strings.Count(out.String(), "\n"); n != 4 {
		t.Errorf("%d lines, want 4", n)
	}
}

// BenchmarkStream is a table of points that differ in everything but the files.
func BenchmarkStream(b *testing.B) {
	const rows = 10_000
	var in strings.Builder
	in.WriteString("model,batch,tp,isl,phase\n")
	for i := range rows {
		fmt.Fprintf(&in, "%s,%d,%d,%d,%s\n", []string{"llama_3_8b", "qwen3_32b_flash"}[i%2], 1+i%97, 1<<(i%4), 100+i, []string{"decode", "prefill"}[i/2%2])
	}
	others := llama()
	for b.Loop() {
		var out bytes.Buffer
		if _, err := Stream(context.Background(), strings.NewReader(in.String()), &out, &others); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
