package simulate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"throughline/deploy"
	"throughline/internal/test/long"
	"throughline/plan"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// ranked is a deployment of an expert model whose data-parallel ranks wait for each other, and a
// load of equal requests.
type ranked struct {
	model, system, engine string
	tp, dp                int
	load                  workload.Load
}

func (r *ranked) String() string {
	n := &r.load.Lengths
	return fmt.Sprintf("%s on %s, %s, tp%d dp%d, %d clients of %d + %d tokens", r.model, r.system, r.engine, r.tp, r.dp, r.load.Clients, n.Input, n.Output)
}

func (r *ranked) deployment(t *testing.T) deploy.Deployment {
	p := dense(r.tp, r.dp)
	p.Experts = plan.ExpertSplit{EP: r.tp * r.dp, TP: 1, DP: 1}
	return deployment(t, r.model, r.system, r.engine, p)
}

// drawRanked draws one: powers of two of clients, and lengths between powers of two.
func drawRanked(r *rand.Rand) ranked {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	between := func(low, high float64) int { return int(math.Round(low * math.Pow(high/low, r.Float64()))) }
	out := ranked{model: pick("DeepSeek-V3", "Qwen3-235B-A22B", "gpt-oss-120b"), system: pick("H200", "B200"), engine: pick("vllm", "sglang", "trtllm"), tp: 1 << r.IntN(2)}
	out.dp = []int{2, 4, 8, 16}[r.IntN(4)]
	if out.model == "DeepSeek-V3" {
		out.dp = max(8/out.tp, out.dp) // whose weights need as many
	}
	out.load = workload.Load{Clients: out.dp << r.IntN(8), Lengths: workload.Lengths{Input: between(128, 8192), Output: between(64, 2048)}}
	return out
}

// offs is how far the closed form is off in drawn cases.
type offs struct {
	figure string
	all    []float64
	worst  string
}

func (o *offs) add(what fmt.Stringer, got, want float64) {
	off := math.Abs(want/got - 1)
	if len(o.all) == 0 || off > slices.Max(o.all) {
		o.worst = fmt.Sprintf("%v: %.4g s, in closed form %.4g s", what, got, want)
	}
	o.all = append(o.all, off)
}

// check asks for 19 of 20 cases within some share, and all within another.
func (o *offs) check(t *testing.T, within, most float64) {
	t.Helper()
	slices.Sort(o.all)
	n, _ := slices.BinarySearch(o.all, within)
	worst := o.all[len(o.all)-1]
	t.Logf("%s: %d of %d within %.0f%%, median %.1f%%, worst %.0f%% (%s)", o.figure, n, len(o.all), 100*within, 100*o.all[len(o.all)/2], 100*worst, o.worst)
	if 20*n < 19*len(o.all) || worst > most {
		t.Errorf("%s: %d of %d are within %.0f%%; worst %s", o.figure, n, len(o.all), 100*within, o.worst)
	}
}

// apartFrom are clients that do not start at once: equal requests, one after another.
type apartFrom struct {
	starts []float64 // of those that have not begun
	load   *workload.Load
	sent   int
	most   int
}

func (a *apartFrom) request(client int, t float64) workload.Request {
	a.sent++
	return workload.Request{Client: client, Arrival: t, Input: a.load.Lengths.Input, Output: a.load.Lengths.Output}
}

func (a *apartFrom) Next() (workload.Request, bool, error) {
	if len(a.starts) == 0 {
		return workload.Request{}, false, nil
	}
	at := a.starts[0]
	a.starts = a.starts[1:]
	return a.request(len(a.starts), at), true, nil
}

func (a *apartFrom) Ended(client int, _ *workload.Request, t float64) (workload.Request, bool) {
	if a.sent >= a.most {
		return workload.Request{}, false
	}
	return a.request(client, t), true
}

// TestEqualRequestsApart: the closed form without a number of requests, which estimate and plan
// answer with, is for clients that have drifted apart. A simulation whose clients start at any time
// of a life agrees with it for equal requests as well, where prompts take up to 30% of the time:
// TTFT within 20% and TPOT within 10% in 19 of 20 cases at least. At full length, of 222, TTFT is
// in 217 and TPOT in 220; the worst are 37% and 33% off (gpt-oss-120b behind vLLM, 1024 clients of
// 206 + 115 tokens).
func TestEqualRequestsApart(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	n := 60
	if long.Mode() {
		n = 500
	}
	ttft, tpot := offs{figure: "TTFT"}, offs{figure: "TPOT"}
	for range n {
		r := drawRanked(random)
		d := r.deployment(t)
		want, err := serving.Predict(&d, r.load)
		if err != nil || want.Prefilling > 0.3 || float64(r.load.Clients) > want.Room*float64(r.dp) {
			continue
		}
		got := drifted(t, &d, &r.load, want.Latency, random)
		ttft.add(&r, got.ttft, want.TTFT)
		tpot.add(&r, got.tpot, want.TPOT)
	}
	if len(ttft.all) < n/4 {
		t.Errorf("only %d of %d are in its range", len(ttft.all), n)
	}
	ttft.check(t, 0.2, 0.4)
	tpot.check(t, 0.1, 0.35)
}

// drifted is what clients see that start at any time of a life.
func drifted(t *testing.T, d *deploy.Deployment, l *workload.Load, life float64, random *rand.Rand) seen {
	t.Helper()
	o, err := simulate.Of(d, l.Lengths, &simulate.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	source := &apartFrom{load: l, most: l.Clients * max(6, 600/l.Clients)}
	for range l.Clients {
		source.starts = append(source.starts, random.Float64()*life)
	}
	slices.Sort(source.starts)
	var count, ttft, decoding float64
	o.Each = func(e *simulate.Ended) {
		if part := float64(e.ID) / float64(source.most); part > 0.25 && part < 0.9 {
			count, ttft, decoding = count+1, ttft+e.First-e.Arrival, decoding+e.Finish-e.First
		}
	}
	if _, err := simulate.Run(context.Background(), o, source); err != nil {
		t.Fatal(err)
	}
	return seen{ttft: ttft / count, tpot: decoding / count / float64(l.Lengths.Output-1)}
}
