package serving_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// deployment of a model on one server of H200s.
func deployment(t *testing.T, model, engineName string, p plan.Plan) deploy.Deployment {
	t.Helper()
	q := question.Default()
	q.Model, q.System, q.Formats.Weights, q.GPUs = model, "H200", "fp8", 1
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Find(engineName)
	if err != nil {
		t.Fatal(err)
	}
	d := l.Deployment()
	d.Pools = []deploy.Pool{{System: l.Decode, Plan: p, Count: 1}}
	return e.Apply(d)
}

func dense(tp int) plan.Plan {
	return plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: tp, CP: 1}, Pipelined: true}}
}

// TestOneClient: a single client gets the prefill and the decode steps of the estimate, and the
// constants of the engine.
func TestOneClient(t *testing.T) {
	n := workload.Lengths{Input: 2000, Output: 1000}
	q := question.Default()
	q.Model, q.System, q.Formats.Weights, q.TP, q.Engine, q.Phase = "Llama-3.1-8B", "H200", "fp8", 2, "none", "both"
	q.Formats.Cache = "bf16"
	q.Input, q.Output = n.Input, n.Output
	for _, name := range []string{"vllm", "sglang", "trtllm"} {
		q.Engine = name
		steps, err := point.NewEstimator().Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		prefill, decode := &steps.Phases[0], &steps.Phases[1]
		d := deployment(t, "Llama-3.1-8B", name, dense(2))
		d.Precision.Cache = 2
		p, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: 1, Requests: 10})
		if err != nil {
			t.Fatal(err)
		}
		s := &d.Engine
		host := s.StepSeconds + s.SequenceSeconds
		if want := s.Entry(n.Input, false) + prefill.Estimate.StepTime + host; math.Abs(p.TTFT-want) > 1e-9 {
			t.Errorf("%s: TTFT %v s, want %v s", name, p.TTFT, want)
		}
		if want := decode.Estimate.StepTime + host; math.Abs(p.TPOT-want) > 1e-9 {
			t.Errorf("%s: TPOT %v s, want %v s", name, p.TPOT, want)
		}
	}
}

// TestMoreClients: of a real model, aggregated or split, TPOT grows with the clients.
func TestMoreClients(t *testing.T) {
	experts := plan.Plan{
		Layout: plan.Layout{
			Attention: plan.Split{DP: 1, PP: 1, TP: 8, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 8, DP: 1},
			SharedPerCard: true, Pipelined: true,
		},
		Behaviour: plan.Behaviour{Gathered: true},
	}
	for _, name := range []string{"vllm", "sglang", "trtllm"} {
		for _, split := range []bool{false, true} {
			d := deployment(t, "DeepSeek-V3", name, experts)
			if split {
				d.Pools = []deploy.Pool{{Role: deploy.Prefill, System: d.Pools[0].System, Plan: experts, Count: 2}, {Role: deploy.Decode, System: d.Pools[0].System, Plan: experts, Count: 1}}
			}
			n, _ := workload.Lengths{Input: 1024, Output: 512}.Spread(files.Machine, "uniform:0.8")
			var last serving.Prediction
			for clients := 1; clients <= 64; clients *= 2 {
				p, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: clients, Requests: 10})
				if err != nil {
					t.Fatal(err)
				}
				if p.TPOT < last.TPOT || math.IsNaN(p.TTFT) || p.Batch > float64(clients) {
					t.Errorf("%s, split %v: %d clients %+v, half of them %+v", name, split, clients, p, last)
				}
				last = p
			}
		}
	}
}

// TestLessMemory: a processor with less memory never serves more. Where one request does not fit,
// the least share of the memory is named with which it does, and a thousandth less is too little.
func TestLessMemory(t *testing.T) {
	load := workload.Load{Lengths: workload.Lengths{Input: 1024, Output: 1024}, Clients: 32}
	named := regexp.MustCompile(`memory-share ([0-9.]+)`)
	for _, name := range []string{"vllm", "sglang", "trtllm", "none"} {
		last, shares := 0.0, 0
		for gib := 34.0; gib < 50; gib += 0.5 { // 65.7 GiB of weights on two processors, in 8 bits
			d := deployment(t, "Llama-3.1-70B", name, dense(2))
			sys := *d.Pools[0].System
			sys.Memory.GiB = gib
			d.Pools[0].System = &sys
			requests := func(share float64) (float64, error) {
				d := d
				d.ServerOptions.MemoryShare = share
				p, err := serving.Predict(&d, load)
				return p.Requests, err
			}
			got, err := requests(d.Assume.MemoryFraction)
			if got < last || (err == nil) != (got > 0) {
				t.Errorf("%s: %v requests/s with %v GiB, %v with half of one less; %v", name, got, gib, last, err)
			}
			last = got
			if err == nil {
				continue
			}
			m := named.FindStringSubmatch(err.Error())
			if m == nil {
				continue
			}
			shares++
			share, _ := strconv.ParseFloat(m[1], 64)
			if _, err := requests(share); err != nil {
				t.Errorf("%s with %v GiB does not fit with %v: %v", name, gib, share, err)
			}
			if _, err := requests(share - 0.001); err == nil {
				t.Errorf("%s with %v GiB fits with less than %v", name, gib, share)
			}
		}
		if last == 0 || shares == 0 && (name == "vllm" || name == "sglang") { // with the others the share is of what weights leave, or has no name
			t.Errorf("%s: %v requests/s with the most memory; %d shares are named", name, last, shares)
		}
	}
}

// TestRoom: what does not fit says so; what hardly fits has room for few.
func TestRoom(t *testing.T) {
	n := workload.Lengths{Input: 8192, Output: 1024}
	d := deployment(t, "Llama-3.1-405B", "vllm", dense(1))
	if _, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: 1}); err == nil || !strings.Contains(err.Error(), "one request does not fit: weights, working space and its cache need") {
		t.Errorf("405 GB on one H200: %v", err)
	}
	d = deployment(t, "Llama-3.1-70B", "vllm", dense(1))
	p, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: 256})
	if err != nil || p.Room > 64 || p.Batch > p.Room || p.TTFT < 1 {
		t.Errorf("70 GB on one H200: %+v, %v", p, err)
	}
	if _, err := serving.Predict(&d, workload.Load{Lengths: n}); err == nil {
		t.Error("no clients")
	}
}

// TestBatchBounds: a server that is told to run four sequences runs no more, however much memory it
// has.
func TestBatchBounds(t *testing.T) {
	n := workload.Lengths{Input: 1024, Output: 512}
	d := deployment(t, "Llama-3.1-8B", "vllm", dense(1))
	see := func(batch, clients int) serving.Prediction {
		d.Pools[0].Plan.Batch = plan.Batch{Count: 1, Size: batch}
		p, err := serving.Predict(&d, workload.Load{Lengths: n, Clients: clients})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	few, many, four := see(4, 64), see(64, 64), see(4, 4)
	if few.TPOT != four.TPOT || few.Requests > 1.0001*four.Requests || many.Requests < 2*few.Requests {
		t.Errorf("4 of 64 clients at a time %+v, 4 clients %+v, 64 at a time %+v", few, four, many)
	}
}

// TestLongPrompts: a prompt that is cut into parts, of which only the last yields a token, takes a
// time that can be told.
func TestLongPrompts(t *testing.T) {
	for _, name := range []string{"vllm", "sglang", "none"} {
		d := deployment(t, "Llama-3.1-8B", name, dense(1))
		short, err := serving.Predict(&d, workload.Load{Lengths: workload.Lengths{Input: 8000, Output: 100}, Clients: 4})
		if err != nil {
			t.Fatal(err)
		}
		long, err := serving.Predict(&d, workload.Load{Lengths: workload.Lengths{Input: 9000, Output: 100}, Clients: 4})
		if err != nil || !(long.TTFT > short.TTFT && long.TTFT < 1.5*short.TTFT) {
			t.Errorf("%s: 9000 tokens %+v, 8000 %+v, %v", name, long, short, err)
		}
	}
}
