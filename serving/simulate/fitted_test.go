package simulate

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/question"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// TestFitted: one client sees steps as a fit corrects them, in closed form and simulated alike.
// TPOT is that of decode steps twice as long on the processors with the host as it was, TTFT has
// prompts half as long and 70 ms more.
func TestFitted(t *testing.T) {
	n := workload.Lengths{Input: 1000, Output: 200}
	e, server := oneServer(t, "vllm", n)
	seen := func(f deploy.Fit) (closed, simulated [2]float64) {
		d := server(f)
		p, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: 1})
		if err != nil {
			t.Fatal(err)
		}
		o, err := Of(&d, n, &Settings{})
		if err != nil {
			t.Fatal(err)
		}
		traffic := workload.Traffic{Requests: 4, Clients: 1, Rate: math.Inf(1), Input: workload.Length{Mean: n.Input}, Output: workload.Length{Mean: n.Output}}
		r, err := Run(t.Context(), o, traffic.Source())
		if err != nil {
			t.Fatal(err)
		}
		return [2]float64{p.TTFT, p.TPOT}, [2]float64{r.TTFT.Mean(), r.TPOT.Mean()}
	}
	before, simulatedBefore := seen(deploy.Fit{})
	after, simulatedAfter := seen(deploy.Fit{Decode: 2, Prefill: 0.5, First: 0.07})
	host := e.Scheduling.Host(1)
	wantTPOT := 2*(before[1]-host) + host
	entry := e.Scheduling.Entry(n.Input, false)
	wantTTFT := entry + 0.07 + 0.5*(before[0]-entry-host) + host
	near := func(a, b, part float64) bool { return math.Abs(a/b-1) <= part }
	if !near(after[1], wantTPOT, 1e-9) || !near(after[0], wantTTFT, 1e-9) {
		t.Errorf("closed form: TTFT %v s, TPOT %v s; by hand %v and %v", after[0], after[1], wantTTFT, wantTPOT)
	}
	for i, name := range []string{"TTFT", "TPOT"} {
		if !near(simulatedBefore[i], before[i], 0.01) || !near(simulatedAfter[i], after[i], 0.01) {
			t.Errorf("%s simulated: %v s before, %v s after; in closed form %v and %v", name, simulatedBefore[i], simulatedAfter[i], before[i], after[i])
		}
	}
}

// TestFittedStall: the first step with several prompts takes so much longer, and no other one.
func TestFittedStall(t *testing.T) {
	steps := func(stall float64) (lengths []float64) {
		o := Options{
			FrontEnd: deploy.FrontEnd{WaveSeconds: stall},
			Pools: []Pool{{Servers: 1, Ranks: 1, Times: constant(1), Policy: Policy{
				Scheduling:  deploy.Scheduling{Prefill: deploy.First, StepTokens: 100, Sequences: 8},
				BlockTokens: 16,
				Blocks:      1000,
				CutsPrompts: true,
			}}},
		}
		o.Watch = func(s *Step) { lengths = append(lengths, s.End-s.Start) }
		traffic := workload.Traffic{Requests: 8, Clients: 4, Rate: math.Inf(1), Input: workload.Length{Mean: 20}, Output: workload.Length{Mean: 2}}
		if _, err := Run(t.Context(), o, traffic.Source()); err != nil {
			t.Fatal(err)
		}
		return lengths
	}
	before, after := steps(0), steps(5)
	if len(before) != len(after) {
		t.Fatalf("%d steps, then %d", len(before), len(after))
	}
	longer := 0
	for i := range before {
		switch after[i] - before[i] {
		case 0:
		case 5:
			longer++
		default:
			t.Errorf("step %d: %v s, then %v s", i, before[i], after[i])
		}
	}
	if longer != 1 {
		t.Errorf("%d steps are longer: %v", longer, after)
	}
}

// constant is steps that all take as long.
type constant float64

func (c constant) Seconds(*Work) float64 { return float64(c) }
func (constant) Bounds() []int           { return nil }

// oneServer is Llama-3.1-8B on one H200 behind an engine, as a fit corrects it.
func oneServer(t *testing.T, name string, n workload.Lengths) (*engine.Engine, func(deploy.Fit) deploy.Deployment) {
	t.Helper()
	q := question.Default()
	q.Model, q.System, q.Input, q.Output, q.GPUs = "Llama-3.1-8B", "H200", n.Input, n.Output, 1
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	sys := l.Decode.Clone()
	sys.Power = nil // how far a limit slows prompts depends on what runs before them
	return e, func(f deploy.Fit) deploy.Deployment {
		d := l.Deployment()
		d.Fitted = f
		d.Pools = []deploy.Pool{{System: sys, Count: 1, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}, Pipelined: true}}}}
		return e.Apply(d)
	}
}
