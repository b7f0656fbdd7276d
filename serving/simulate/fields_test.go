package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// figure is what a field of scheduling changes for clients.
type figure string

const (
	ttft figure = "TTFT"
	tpot figure = "TPOT"
	slow figure = "the time of a request"
)

func (f figure) of(s seen, output int) float64 {
	switch f {
	case ttft:
		return s.ttft
	case tpot:
		return s.tpot
	}
	return s.ttft + float64(output-1)*s.tpot
}

// fieldCase shows what a field does: with set, a figure is longer than without, in closed form and in the simulation.
type fieldCase struct {
	engine string
	ranks  int // data-parallel ones of an expert model; 0: one of a dense model
	stages int
	drafts int
	split  bool
	cold   bool // all clients start at once, behind servers that have just started
	gib    float64
	load   workload.Load
	longer figure
	set    func(d *deploy.Deployment) // the engine is applied behind it
	facts  func(s *deploy.Scheduling) // of the engine, changed behind that
	launch string                     // among the arguments of a server that is told so

	noLaunch string // why there is none
	noEffect string // why the field is no matter of who shares steps, so that nothing is simulated
}

// aloneOnly is why a field is that of steps which run alone.
const aloneOnly = "known of steps that were measured alone (deploy.Scheduling.Alone); servers plan the next step meanwhile, and how much of it they hide was not measured"

// requests are so many clients of so many tokens.
func requests(clients, input, output int) workload.Load {
	return workload.Load{Clients: clients, Lengths: workload.Lengths{Input: input, Output: output}}
}

const (
	ownFact   = "a fact of the engine, which has no option for it"
	stepTimes = "a matter of the kernels of a step, whose time both take from package estimate"
	tableOnly = "only tables of measured runs tell it: launch commands leave it to the engine"
)

// toldCases are the fields of what a server is told.
var toldCases = map[string]fieldCase{
	"StepTokens": {engine: "vllm", load: requests(1, 12000, 200), longer: ttft,
		set: func(d *deploy.Deployment) { d.Told.StepTokens = 1024 }, launch: "--max-num-batched-tokens 1024"},
	"Sequences": {engine: "sglang", load: requests(48, 1000, 200), longer: slow,
		set: func(d *deploy.Deployment) { d.Told.Sequences, d.Pools[0].Plan.Batch.Size = 12, 12 }, launch: "--max-running-requests 12"},
	"PollSteps": {engine: "sglang", load: requests(8, 500, 400), longer: ttft,
		set: func(d *deploy.Deployment) { d.Told.PollSteps = 30 }, launch: "--scheduler-recv-interval 30"},
	"WaitSteps": {engine: "trtllm", load: requests(8, 500, 400), longer: ttft,
		set: func(d *deploy.Deployment) { d.Told.WaitSteps = 20 }, launch: "batch_wait_timeout_iters: 20"},
	"BalanceSteps": {engine: "trtllm", ranks: 4, load: requests(16, 500, 400), longer: ttft,
		set: func(d *deploy.Deployment) { d.Told.BalanceSteps = 20 }, launch: "timeout_iters: 20"},
	"MemoryShare": {engine: "vllm", load: requests(64, 4000, 400), longer: slow,
		set: func(d *deploy.Deployment) { d.Told.MemoryShare = 0.2 }, launch: "--gpu-memory-utilization 0.2"},
	"Captured": {engine: "sglang", load: requests(32, 300, 300), longer: tpot,
		set: func(d *deploy.Deployment) { d.Told.Captured = 4 }, launch: "--cuda-graph-max-bs 4"},
	"CapturedPrompts": {engine: "vllm", load: requests(4, 300, 300), longer: ttft,
		set: func(d *deploy.Deployment) { d.Told.CapturedPrompts = 1 }, noLaunch: "plan, which writes launch commands, does not take it"},
	"ChunkedPrefill": {engine: "trtllm", noEffect: "clients wait less, not longer: TestChunkedPrefill",
		set: func(d *deploy.Deployment) { d.Told.ChunkedPrefill = 1 }, launch: "enable_chunked_prefill: true"},
	"Unprepared": {engine: "sglang", drafts: 1, load: requests(8, 300, 300), longer: tpot,
		set: func(d *deploy.Deployment) { d.Told.Unprepared = true }, noLaunch: tableOnly},
	"Products":        {noEffect: stepTimes, noLaunch: tableOnly},
	"Exchange":        {noEffect: stepTimes, noLaunch: tableOnly},
	"PrefillExchange": {noEffect: stepTimes, noLaunch: tableOnly},
	"SharedApart":     {noEffect: stepTimes, noLaunch: tableOnly},
	"Attention": {engine: "vllm", noEffect: stepTimes,
		set: func(d *deploy.Deployment) { d.Told.Attention = "flashinfer" }, launch: "--attention-backend FLASHINFER"},
	"PrefillAttention": {engine: "sglang", noEffect: stepTimes,
		set: func(d *deploy.Deployment) { d.Told.PrefillAttention = "flashinfer" }, launch: "--prefill-attention-backend flashinfer"},
	"DecodeAttention": {engine: "sglang", noEffect: stepTimes,
		set: func(d *deploy.Deployment) { d.Told.DecodeAttention = "flashinfer" }, launch: "--decode-attention-backend flashinfer"},
}

// factCases are the fields of what an engine does; those that a server can be told stand above.
var factCases = map[string]fieldCase{
	"Prefill": {engine: "vllm", load: requests(16, 4000, 200), longer: tpot, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.Prefill, s.StepTokens = deploy.First, 512 }},
	"StepsAhead": {engine: "vllm", load: requests(16, 500, 300), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.StepsAhead += 3 }},
	"ReservesOutput": {engine: "vllm", gib: 24, load: requests(64, 500, 2000), longer: slow, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.ReservesOutput = true }},
	"PipelinesChunks": {engine: "vllm", stages: 4, load: requests(1, 30000, 100), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.PipelinesChunks = false }},
	"StepSeconds": {engine: "vllm", load: requests(8, 500, 300), longer: tpot, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.StepSeconds += 2e-3 }},
	"SequenceSeconds": {engine: "vllm", load: requests(32, 500, 300), longer: tpot, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.SequenceSeconds += 1e-4 }},
	"DraftSeconds": {engine: "vllm", drafts: 1, load: requests(8, 500, 300), longer: tpot, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.DraftSeconds += 2e-3 }},
	"FirstSeconds": {engine: "vllm", load: requests(8, 500, 300), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.FirstSeconds += 0.05 }},
	"GroupSeconds":         {noLaunch: ownFact, noEffect: aloneOnly},
	"GroupSequenceSeconds": {noLaunch: ownFact, noEffect: aloneOnly},
	"CachedSeconds":        {noLaunch: ownFact, noEffect: aloneOnly},
	"TokenSeconds": {engine: "vllm", load: requests(8, 2000, 300), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.TokenSeconds += 5e-5 }},
	"HandoverSeconds": {engine: "vllm", split: true, load: requests(8, 500, 300), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.HandoverSeconds += 0.1 }},
	"RequestSeconds": {engine: "vllm", cold: true, load: requests(32, 500, 100), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.RequestSeconds += 0.1 }},
	"WaveSeconds": {engine: "vllm", cold: true, load: requests(16, 500, 100), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.WaveSeconds += 2 }},
	"WaveRequestSeconds": {engine: "vllm", cold: true, load: requests(32, 500, 100), longer: ttft, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.WaveRequestSeconds += 0.1 }},
	"Memory": {engine: "vllm", gib: 24, load: requests(64, 2000, 400), longer: slow, noLaunch: ownFact,
		facts: func(s *deploy.Scheduling) { s.Memory.TakenGiB += 3 }},
}

// deployed is the deployment of a case, with the field changed or not.
func (c *fieldCase) deployed(t *testing.T, changed bool) deploy.Deployment {
	t.Helper()
	model, p := "Llama-3.1-8B", dense(1, 1)
	if c.drafts > 0 || c.ranks > 0 {
		model = "Qwen3-30B-A3B"
		p.Experts = plan.ExpertSplit{EP: max(1, c.ranks), TP: 1, DP: 1}
		p.Attention.DP = max(1, c.ranks)
	}
	p.Attention.PP, p.Drafts = max(1, c.stages), c.drafts
	p.Batch = plan.Batch{Count: 1, Size: c.load.Clients}
	d := deployment(t, model, "H200", c.engine, p)
	if c.gib > 0 {
		sys := *d.Pools[0].System
		sys.Memory.GiB = c.gib
		d.Pools[0].System = &sys
	}
	if c.split {
		d = apart(d)
	}
	e, err := engine.Find(c.engine)
	if err != nil {
		t.Fatal(err)
	}
	if changed && c.set != nil {
		c.set(&d)
	}
	d = e.Apply(d)
	if changed && c.facts != nil {
		c.facts(&d.Engine.Scheduling)
	}
	return d
}

// figures are what clients see in closed form and in the simulation.
func (c *fieldCase) figures(t *testing.T, d *deploy.Deployment, l workload.Load, random *rand.Rand) (closed, simulated float64) {
	t.Helper()
	if c.cold {
		l.Requests = 1 // which come at once; the next of those that came one after another do not
	}
	want, err := serving.Predict(d, l)
	if err != nil {
		t.Fatal(err)
	}
	var got seen
	if c.cold {
		got, _ = atOnce(t, d, &l)
	} else {
		got = drifted(t, d, &l, want.Latency, random)
	}
	return c.longer.of(seen{ttft: want.TTFT, tpot: want.TPOT}, l.Lengths.Output), c.longer.of(got, l.Lengths.Output)
}

// told reports whether a server can be told a fact, so that the case of what it is told shows it.
func told(field string) bool { _, ok := toldCases[field]; return ok }

// TestSchedulingFields: every field of scheduling, what servers are told and what engines do, makes clients wait longer in closed form
// and in the simulation alike, for drawn loads, and stands in the arguments of a launch; or a reason says why not. A new field
// fails here until it has a case.
func TestSchedulingFields(t *testing.T) {
	for _, of := range []struct {
		fields reflect.Type
		cases  map[string]fieldCase
	}{{reflect.TypeFor[deploy.Told](), toldCases}, {reflect.TypeFor[deploy.Scheduling](), factCases}} {
		for _, field := range reflect.VisibleFields(of.fields) {
			if field.Anonymous {
				continue
			}
			name := field.Name
			c, ok := of.cases[name]
			if !ok && (of.fields == reflect.TypeFor[deploy.Told]() || !told(name)) {
				t.Errorf("%s.%s has no case", of.fields.Name(), name)
			}
			if ok {
				t.Run(of.fields.Name()+"."+name, func(t *testing.T) { c.check(t) })
			}
		}
		for name := range of.cases {
			if _, ok := of.fields.FieldByName(name); !ok {
				t.Errorf("there is no field %s.%s", of.fields.Name(), name)
			}
		}
	}
}

// least is the share by which a figure must grow for a field to show.
const least = 0.01

func (c *fieldCase) check(t *testing.T) {
	if (c.launch == "") == (c.noLaunch == "") {
		t.Error("it is among the launch arguments, or there is a reason why not")
	}
	if c.launch != "" {
		d := c.deployed(t, true)
		e, err := engine.Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		l := e.Launch(&d, &d.Pools[0])
		if text := strings.ReplaceAll(strings.Join(append(l.Commands, l.Config), " "), "\\\n", ""); !strings.Contains(strings.Join(strings.Fields(text), " "), c.launch) {
			t.Errorf("no %q in %s", c.launch, text)
		}
	}
	if c.noEffect != "" {
		return
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 3 {
		l := c.load
		vary := func(n int) int { return max(1, int(float64(n)*(0.8+0.5*random.Float64()))) }
		l.Lengths.Input, l.Lengths.Output = vary(l.Lengths.Input), vary(l.Lengths.Output)
		without, with := c.deployed(t, false), c.deployed(t, true)
		closed, simulated := c.figures(t, &without, l, random)
		closedWith, simulatedWith := c.figures(t, &with, l, random)
		what := fmt.Sprintf("%s of %d clients of %d + %d tokens: %.4g s and %.4g s in closed form, %.4g s and %.4g s simulated", c.longer,
			l.Clients, l.Lengths.Input, l.Lengths.Output, closed, closedWith, simulated, simulatedWith)
		if closedWith < (1+least)*closed || simulatedWith < (1+least)*simulated {
			t.Errorf("it does not grow in both: %s", what)
		}
	}
}

// TestLooksBehindAQueue: clients that wait for room have been seen, so that it hardly matters how rarely a server looks for more.
func TestLooksBehindAQueue(t *testing.T) {
	const clients, running, polls, little = 120, 24, 30, 0.04
	c := fieldCase{engine: "sglang", drafts: 2, load: requests(clients, 1000, 200), longer: slow, set: func(d *deploy.Deployment) { d.Told.PollSteps = polls }}
	figures := func(changed bool) (closed, simulated float64) {
		d := c.deployed(t, changed)
		d.Pools[0].Plan.Batch.Size = running
		return c.figures(t, &d, c.load, rand.New(rand.NewPCG(7, 8)))
	}
	closed, simulated := figures(false)
	closedWith, simulatedWith := figures(true)
	for way, change := range map[string]float64{"in closed form": closedWith/closed - 1, "simulated": simulatedWith/simulated - 1} {
		if math.Abs(change) > little {
			t.Errorf("%s a request takes %+.1f%% with %d steps between looks", way, 100*change, polls)
		}
	}
}

// TestChunkedPrefill: where many decode, steps of 1536 tokens hold one prompt of 778, and nearly half of another if it may be cut:
// requests take 4% less and more.
func TestChunkedPrefill(t *testing.T) {
	c := fieldCase{engine: "trtllm", load: requests(256, 778, 128), longer: slow}
	figures := func(cut int) (closed, simulated float64) {
		c.set = func(d *deploy.Deployment) { d.Told.StepTokens, d.Told.ChunkedPrefill = 1536, cut }
		d := c.deployed(t, true)
		return c.figures(t, &d, c.load, rand.New(rand.NewPCG(7, 8)))
	}
	closed, simulated := figures(0)
	closedCut, simulatedCut := figures(1)
	for way, change := range map[string]float64{"in closed form": closedCut/closed - 1, "simulated": simulatedCut/simulated - 1} {
		if change > -0.04 {
			t.Errorf("%s a request whose prompt may be cut takes %+.1f%%", way, 100*change)
		}
	}
}
