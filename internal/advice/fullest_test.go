package advice

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"throughline/assume"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/question"
	"throughline/internal/test/long"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
)

// scan fails where the highest request rate falls as a number of the hardware grows. Clients are
// whole, and faster prefills let more sequences decode at a time: within limits, one client less
// may be served. Without limits what is lost is what the search leaves.
func scan(t rapid.TB, sys *hardware.System, p hardware.Parameter, times float64, steps int, limited bool, best func(*hardware.System) *Candidate) {
	t.Helper()
	var most *Candidate
	for v := p.Of(sys); steps > 0; v, steps = v*times, steps-1 {
		c := best(p.With(sys, v))
		if most == nil {
			most = c
			continue
		}
		lost := 1 / float64(most.Load.Clients)
		if !limited {
			lost = min(lost, level)
		}
		if c == nil || c.Requests < most.Requests*(1-lost) {
			t.Fatalf("with %s of %v %s\nwith less %s", p.Name, v, describe(c), describe(most))
		}
		if c.Requests > most.Requests {
			most = c
		}
	}
}

// limited reports whether there are limits on what clients see.
func limited(l *question.Loaded) bool {
	limits := l.Limits()
	return limits.TTFT != nil || limits.TPOT != nil
}

// ran is what a run of a runtime file finds; nil: nothing.
func ran(t rapid.TB, r *jobfile.Run) *Candidate {
	t.Helper()
	_, c, err := run(context.Background(), r, 2, true) // simulations have noise
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asRun is a question as a run of a runtime file, on a system.
func asRun(l *question.Loaded, mode string, procs int, sys *hardware.System) *jobfile.Run {
	problem := func(phase op.Phase) search.Problem {
		return search.Problem{Procs: procs, SharedPerCard: true, Problem: estimate.Problem{
			Model: l.Shape, Settings: l.Settings, System: sys, Lengths: l.Lengths, Precision: l.Precision, Assume: l.Assumptions, Phase: phase,
		}}
	}
	return &jobfile.Run{
		Mode: mode, Model: l.Shape, Settings: l.Settings, Lengths: l.Lengths, Limits: l.Limits(), Precision: l.Precision, Procs: procs,
		Prefill: problem(op.Prefill), Decode: problem(op.Decode),
	}
}

// drawnPart is a number of a system that more of is better.
func drawnPart(t *rapid.T, sys *hardware.System) hardware.Parameter {
	name := rapid.SampledFrom([]string{"mem1.GBps", "mem1.GiB", "networks[0].bandwidth", "matrix.bfloat16.tflops"}).Draw(t, "part")
	p, ok := sys.Parameter(name)
	if !ok {
		t.Skip("has none")
	}
	return p
}

// TestRunServesNoLessOnBetterHardware: as bandwidth, compute, memory or links grow, the best of a
// run never falls.
func TestRunServesNoLessOnBetterHardware(t *testing.T) {
	long.NotRacing(t)
	long.Some(t, draws(12), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4, 8})
		mode := rapid.SampledFrom([]string{jobfile.Fusion, jobfile.Split}).Draw(t, "mode")
		times := rapid.Float64Range(1.005, 1.1).Draw(t, "times")
		scan(t, l.Decode, drawnPart(t, l.Decode), times, 12, limited(l), func(s *hardware.System) *Candidate {
			return ran(t, asRun(l, mode, o.GPUs, s))
		})
	})
}

// firstRow is that of a plan on a system; nil: there is none.
func firstRow(t rapid.TB, l question.Loaded, o Options, sys *hardware.System) *Candidate {
	t.Helper()
	l.Prefill, l.Decode = sys, sys
	o.rough = true // simulations have noise
	got, err := Give(context.Background(), &l, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Ranked) == 0 {
		return nil
	}
	return &got.Ranked[0]
}

// TestPlanServesNoLessOnBetterHardware: nor does the first row of a plan.
func TestPlanServesNoLessOnBetterHardware(t *testing.T) {
	long.NotRacing(t)
	q := question.DefaultOf(question.Plan)
	q.In = files.Machine
	q.Model, q.System, q.GPUs, q.Input, q.Output, q.TPOT, q.Mode, q.Formats.Weights = "Llama-3.1-405B", "H200", 16, 4000, 1000, 50, Disaggregated, "fp8"
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := OptionsOf(l, []*engine.Engine{engine.Generic})
	o.Workers = 2
	sys := l.Decode.Clone()
	sys.Kernels, sys.Memory.GBps = nil, 3000
	bandwidth, _ := sys.Parameter("mem1.GBps")
	scan(t, sys, bandwidth, 1.03, 48, true, func(s *hardware.System) *Candidate { return firstRow(t, *l, o, s) })

	long.Some(t, draws(5), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4})
		o.Objective = Throughput
		times := rapid.Float64Range(1.005, 1.1).Draw(t, "times")
		scan(t, l.Decode, drawnPart(t, l.Decode), times, 8, limited(l), func(s *hardware.System) *Candidate { return firstRow(t, *l, o, s) })
	})
}

// TestRunFindsTheBestBatch: DeepSeek-V3 on 32 cards within 20 ms serves more with a bandwidth of
// 11.5 TB/s than with 11, and no less than with batches that are given.
func TestRunFindsTheBestBatch(t *testing.T) {
	long.NotRacing(t)
	dir := t.TempDir()
	for _, bandwidth := range []float64{11000, 11500} {
		var sys map[string]any
		found, _ := hardware.Catalogue.Find("H200")
		if err := json.Unmarshal(found, &sys); err != nil {
			t.Fatal(err)
		}
		sys["mem1"] = map[string]any{"GiB": 256, "GBps": bandwidth, "calibration_coefficient": 0.8}
		src, err := json.Marshal(sys)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%v.json", bandwidth)), src, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	best := func(system, batches string) (float64, string) {
		text := fmt.Sprintf(`{"pd-split-request-optimal": {"model_list": ["DeepSeek-V3"], "sequence_length_list": [[4000, 1000]], "num_procs_list": [32],
			"d_micro_batch_size": %s, "wac_bytes_list": [[1, 1, 1, 2]], "flops_type_list": [["float8", "bfloat16", "bfloat16"]],
			"time_limit_list": [[null, 20]], "sys_list": [%q], "output": "out"}}`, batches, system)
		jobs, _, err := jobfile.Read(files.Machine, filepath.Join(dir, "runtime.json"), []byte(text), &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		r := jobs[0].At(0)
		if c := ran(t, &r); c != nil {
			return c.Requests, describe(c)
		}
		return 0, "nothing"
	}
	less, slower := best("11000.json", "null")
	more, faster := best("11500.json", "null")
	if more < less {
		t.Errorf("%v requests/s at 11.5 TB/s, %s; %v at 11, %s", more, faster, less, slower)
	}
	if given, with := best("11500.json", "[[128, 1, 128], [136, 1, 136], [192, 1, 192]]"); more < given {
		t.Errorf("%v requests/s, %s; of given batches %v, %s", more, faster, given, with)
	}
	if alone, _ := best("11500.json", "[[136, 1, 136]]"); alone > 0 {
		if both, with := best("11500.json", "[[128, 1, 128], [136, 1, 136]]"); both < alone {
			t.Errorf("%v requests/s with a batch of 136, with 128 as well %v, %s", alone, both, with)
		}
	}
}

// TestEveryBatchIsConsidered: no batch of the contender that serves the most serves more, and
// neither one client more nor fewer do. There is no limit on the time to the first token, which
// goes up and down a little as batches grow.
func TestEveryBatchIsConsidered(t *testing.T) {
	long.Some(t, draws(8), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4, 8})
		o.Objective, o.Engines = Throughput, []*engine.Engine{engine.Generic}
		a := newAdviser(context.Background(), l, o)
		a.limits.TTFT = nil
		f, err := a.newField(rapid.SampledFrom([]Mode{Aggregated, Disaggregated}).Draw(t, "mode"), o.GPUs)
		if err == nil {
			err = f.weigh()
		}
		if err != nil || len(f.ranked) == 0 {
			t.Skip("nothing to launch")
		}
		best := &f.ranked[0]
		for size := 1; size <= min(3000, best.contender.decode.curve.Largest); size++ {
			if w := f.at(f.workers[0], best.contender, plan.Batch{Count: 1, Size: size}); f.within(&w) && w.seen.Requests > best.seen.Requests*(1+level) {
				t.Fatalf("%v requests/s at batch %d, %v at %d", w.seen.Requests, size, best.seen.Requests, best.batch.Size)
			}
		}
		if w := f.under(f.workers[0], best.contender, best.clients+1); w.batch.Size <= best.contender.decode.curve.Largest && f.within(&w) && w.seen.Requests > best.seen.Requests*(1+level) {
			t.Fatalf("%v requests/s with %d clients, %v with %d", w.seen.Requests, w.clients, best.seen.Requests, best.clients)
		}
		if w := f.under(f.workers[0], best.contender, best.clients-1); best.clients > 1 && f.within(&w) && w.seen.Requests >= best.seen.Requests*(1-equal) {
			t.Fatalf("%d clients get %v requests/s, one more %v", w.clients, w.seen.Requests, best.seen.Requests)
		}
	})
}

// TestBetweenEqualBatches: the best batch may lie between two that serve the same, unless these are
// near each other.
func TestBetweenEqualBatches(t *testing.T) {
	far := filling{known: []filled{{512, 17.33}, {729, 17.3301}}}
	if most, behind := far.maxRate(); behind != 0 || math.Abs(most-17.33*728/512) > 1e-9 {
		t.Errorf("between 512 and 729 at most %v requests/s", most)
	}
	near := filling{known: []filled{{512, 17.33}, {516, 17.3301}}}
	if most, _ := near.maxRate(); most != 0 {
		t.Errorf("between 512 and 516, which are equal, %v requests/s are looked for", most)
	}
}
