package simulate_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/test/long"
	"throughline/plan"
	"throughline/workload"
)

// span is where a number is drawn from, evenly by its logarithm.
type span struct{ low, high float64 }

func (s span) draw(random *rand.Rand) float64 {
	return s.low * math.Pow(s.high/s.low, random.Float64())
}

func (s span) count(random *rand.Rand) int { return int(math.Round(s.draw(random))) }

// fieldCase shows what a field does: how much longer or shorter clients wait with set or facts, in
// closed form and in the simulation.
type fieldCase struct {
	engine string
	ranks  []int // data-parallel ones of an expert model; none: one of a dense model
	stages int
	drafts int
	split  bool
	gib    float64
	// crowded are the least and most clients per sequence that the cache has room for, without the
	// field and with it; none: any.
	crowded [2]span

	clients, input, output span // of a rank; none: those below
	amount                 span
	waits                  float64                               // the amount is steps that requests wait: at most this share of their decode steps
	set                    func(d *deploy.Deployment, n float64) // the engine is applied behind it
	facts                  func(s *deploy.Scheduling, n float64) // of the engine, changed behind that

	launch   string // among the arguments of a server that is told the low amount
	noLaunch string // why there is none
	// entire requests are compared in place of TTFT: the wait of few clients for the cache is a
	// small difference of long times.
	entire   bool
	noEffect string // why the field is no matter of who shares steps, so that nothing is simulated
}

// overfull: so many clients that the cache is always full.
var overfull = span{1.3, math.Inf(1)}

// usual loads of a rank, in the range in which the closed form holds.
var usualClients, usualInput, usualOutput = span{4, 40}, span{200, 3000}, span{200, 1200}

// queuedOnly is why a field is none of the closed form.
const queuedOnly = "requests queue for the front end in the simulation alone: TestFrontEnd"

// aloneOnly is why a field is that of steps which run alone.
const aloneOnly = "known of steps that were measured alone (deploy.Scheduling.Alone); servers plan the next step meanwhile, and how much of it they hide was not measured"

const (
	ownFact   = "a fact of the engine, which has no option for it"
	stepTimes = "a matter of the kernels of a step, whose time both take from package estimate"
	tableOnly = "only tables of measured runs tell it: launch commands leave it to the engine"
)

// toldCases are the fields of what a server is told.
var toldCases = map[string]fieldCase{
	"StepTokens": {engine: "vllm", amount: span{256, 4096}, input: span{200, 6000}, launch: "--max-num-batched-tokens 256",
		set: func(d *deploy.Deployment, n float64) { d.ServerOptions.StepTokens = int(n) }},
	"Sequences": {engine: "sglang", clients: span{30, 70}, input: span{300, 900}, output: span{600, 1200}, amount: span{8, 16}, launch: "--max-running-requests 8",
		set: func(d *deploy.Deployment, n float64) {
			d.ServerOptions.Sequences, d.Pools[0].Plan.Batch.Size = int(n), int(n)
		}},
	"PollSteps": {engine: "sglang", input: span{200, 2000}, amount: span{2, 40}, waits: 0.06, launch: "--scheduler-recv-interval 2",
		set: func(d *deploy.Deployment, n float64) { d.ServerOptions.PollSteps = int(n) }},
	"WaitSteps": {engine: "trtllm", amount: span{2, 60}, waits: 0.1, launch: "batch_wait_timeout_iters: 2",
		set: func(d *deploy.Deployment, n float64) { d.ServerOptions.WaitSteps = int(n) }},
	"BalanceSteps": {engine: "trtllm", ranks: []int{2, 4, 8}, amount: span{4, 80}, waits: 0.1, launch: "timeout_iters: 4",
		set: func(d *deploy.Deployment, n float64) { d.ServerOptions.BalanceSteps = int(n) }},
	"MemoryShare": {engine: "trtllm", gib: 28, crowded: [2]span{overfull, overfull}, clients: span{60, 120}, input: span{500, 1500}, output: span{500, 1200}, amount: span{0.4, 0.7}, launch: "free_gpu_memory_fraction: 0.4",
		set: func(d *deploy.Deployment, n float64) { d.ServerOptions.MemoryShare = n }},
	"Captured": {engine: "sglang", input: span{200, 600}, amount: span{2, 3}, launch: "--cuda-graph-max-bs 2",
		set: func(d *deploy.Deployment, n float64) { d.ServerOptions.Captured = int(n) }},
	"CapturedPrompts": {engine: "sglang", clients: span{2, 6}, input: span{100, 250}, output: span{50, 150}, amount: span{1, 8},
		set: func(d *deploy.Deployment, n float64) { d.ServerOptions.CapturedPrompts = int(n) }, noLaunch: "plan, which writes launch commands, does not take it"},
	"ChunkedPrefill": {engine: "trtllm", noEffect: "the first token comes earlier, others later: TestChunkedPrefill", launch: "enable_chunked_prefill: true",
		set: func(d *deploy.Deployment, _ float64) { d.ServerOptions.ChunkedPrefill = 1 }},
	"Unprepared": {engine: "sglang", drafts: 1, clients: span{4, 12}, input: span{200, 500}, noLaunch: tableOnly,
		set: func(d *deploy.Deployment, _ float64) { d.ServerOptions.Unprepared = true }},
	"Warmed":          {noEffect: "of a cold server: TestWarmed of package engine", noLaunch: tableOnly},
	"Copied":          {noEffect: "of a cold server: TestCopied of package engine", noLaunch: tableOnly},
	"FillsSteps":      {noEffect: "the closed form cuts no prompts that fit a step: TestFillsSteps", noLaunch: tableOnly},
	"Chat":            {noEffect: "of a front end that makes prompts of messages: TestTogether", noLaunch: tableOnly},
	"Products":        {noEffect: stepTimes, noLaunch: tableOnly},
	"Exchange":        {noEffect: stepTimes, noLaunch: tableOnly},
	"PrefillExchange": {noEffect: stepTimes, noLaunch: tableOnly},
	"SharedApart":     {noEffect: stepTimes, noLaunch: tableOnly},
	"Attention": {engine: "vllm", noEffect: stepTimes, launch: "--attention-backend FLASHINFER",
		set: func(d *deploy.Deployment, _ float64) { d.ServerOptions.Attention = "flashinfer" }},
	"PrefillAttention": {engine: "sglang", noEffect: stepTimes, launch: "--prefill-attention-backend flashinfer",
		set: func(d *deploy.Deployment, _ float64) { d.ServerOptions.PrefillAttention = "flashinfer" }},
	"DecodeAttention": {engine: "sglang", noEffect: stepTimes, launch: "--decode-attention-backend flashinfer",
		set: func(d *deploy.Deployment, _ float64) { d.ServerOptions.DecodeAttention = "flashinfer" }},
}

// factCases are the fields of what an engine does; those that a server can be told stand above.
var factCases = map[string]fieldCase{
	"Prefill": {engine: "vllm", noLaunch: ownFact, input: span{800, 3000}, output: span{300, 1200}, amount: span{512, 2048},
		facts: func(s *deploy.Scheduling, n float64) { s.Prefill, s.StepTokens = deploy.First, int(n) }},
	"StepsAhead": {engine: "vllm", noLaunch: ownFact, amount: span{1, 4},
		facts: func(s *deploy.Scheduling, n float64) { s.StepsAhead += int(n) }},
	"ReservesOutput": {engine: "vllm", noLaunch: ownFact, entire: true, gib: 32, crowded: [2]span{{0, 0.85}, overfull}, clients: span{60, 240}, input: span{100, 250}, output: span{900, 1400},
		facts: func(s *deploy.Scheduling, _ float64) { s.ReservesOutput = true }},
	"ReservesPrompt": {noLaunch: ownFact, noEffect: "of prompts that are cut where the cache is full, which the closed form does not tell from others: TestReservesPrompt"},
	"FindsPreempted": {noLaunch: ownFact, noEffect: "of requests that are preempted, which the closed form does not know: TestFindsPreempted"},
	"PipelinesChunks": {engine: "vllm", noLaunch: ownFact, stages: 4, clients: span{1, 1}, input: span{20000, 40000}, output: span{50, 200},
		facts: func(s *deploy.Scheduling, _ float64) { s.PipelinesChunks = false }},
	"FewestFirst":     {noLaunch: ownFact, noEffect: "ranks take turns in the closed form: TestFewestFirst"},
	"ScattersPrompts": {noLaunch: ownFact, noEffect: "ranks take turns in the closed form: TestScattered"},
	"StepSeconds": {engine: "vllm", noLaunch: ownFact, amount: span{2e-4, 4e-3},
		facts: func(s *deploy.Scheduling, n float64) { s.StepSeconds += n }},
	"SequenceSeconds": {engine: "vllm", noLaunch: ownFact, amount: span{1e-5, 2e-4},
		facts: func(s *deploy.Scheduling, n float64) { s.SequenceSeconds += n }},
	"DraftSeconds": {engine: "vllm", noLaunch: ownFact, drafts: 1, clients: span{4, 12}, input: span{200, 800}, amount: span{5e-4, 4e-3},
		facts: func(s *deploy.Scheduling, n float64) { s.DraftSeconds += n }},
	"GroupSeconds":         {noLaunch: ownFact, noEffect: aloneOnly},
	"GroupSequenceSeconds": {noLaunch: ownFact, noEffect: aloneOnly},
	"HandedSeconds":        {noLaunch: ownFact, noEffect: aloneOnly},
	"SentSeconds":          {noLaunch: ownFact, noEffect: aloneOnly},
	"PreparedSeconds":      {noLaunch: ownFact, noEffect: aloneOnly},
	"FirstSeconds": {engine: "vllm", noLaunch: ownFact, amount: span{0.005, 0.2},
		facts: func(s *deploy.Scheduling, n float64) { s.FirstSeconds += n }},
	"TokenSeconds": {noLaunch: ownFact, noEffect: queuedOnly},
	"HandoverSeconds": {engine: "vllm", noLaunch: ownFact, split: true, amount: span{0.05, 0.5},
		facts: func(s *deploy.Scheduling, n float64) { s.HandoverSeconds += n }},
	"RequestSeconds":  {noLaunch: ownFact, noEffect: queuedOnly},
	"TogetherSeconds": {noLaunch: ownFact, noEffect: "of messages, which only tables of measured runs tell: TestTogether"},
	"AnswerSeconds":   {noLaunch: ownFact, noEffect: "tokens queue for the front end in the simulation alone: TestAnswers"},
	"WaveSeconds":     {noLaunch: ownFact, noEffect: "of a cold server: TestCold"},
	"Compiling":       {noLaunch: ownFact, noEffect: "of a cold server: TestCompiling"},
	"FillsSteps":      {noLaunch: ownFact, noEffect: "the closed form cuts no prompts that fit a step: TestFillsSteps"},
	"Memory": {engine: "trtllm", noLaunch: ownFact, gib: 28, crowded: [2]span{overfull, overfull}, clients: span{60, 120}, input: span{500, 1500}, output: span{500, 1200}, amount: span{1, 3},
		facts: func(s *deploy.Scheduling, n float64) { s.Memory.TakenGiB += n }},
}

// drawnCase is a deployment and its load, and the amount of a field.
type drawnCase struct {
	*fieldCase
	ranks  int
	load   workload.Load
	amount float64
}

func (c *fieldCase) draw(random *rand.Rand) drawnCase {
	of := func(s, usual span) int {
		if s == (span{}) {
			s = usual
		}
		return s.count(random)
	}
	d := drawnCase{fieldCase: c, ranks: 1}
	if len(c.ranks) > 0 {
		d.ranks = c.ranks[random.IntN(len(c.ranks))]
	}
	d.load = requests(d.ranks*of(c.clients, usualClients), of(c.input, usualInput), of(c.output, usualOutput))
	if c.amount.low > 0 {
		d.amount = c.amount.draw(random)
	}
	return d
}

// requests are so many clients of so many tokens.
func requests(clients, input, output int) workload.Load {
	return workload.Load{Clients: clients, Lengths: workload.Lengths{Input: input, Output: output}}
}

// deployed is the deployment of a case, with the field changed or not.
func (c *drawnCase) deployed(t *testing.T, changed bool) deploy.Deployment {
	t.Helper()
	model, p := "Llama-3.1-8B", dense(1, 1)
	if c.drafts > 0 || c.ranks > 1 {
		model = "Qwen3-30B-A3B"
		p.Experts = plan.ExpertSplit{EP: c.ranks, TP: 1, DP: 1}
		p.Attention.DP = c.ranks
	}
	p.Attention.PP, p.Drafts = max(1, c.stages), c.drafts
	p.Batch = plan.Batch{Count: 1, Size: 2 * c.load.Clients} // the cache decides
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
		c.set(&d, c.amount)
	}
	d = e.Apply(d)
	if changed && c.facts != nil {
		c.facts(&d.Engine.Scheduling, c.amount)
	}
	return d
}

// figures are what clients see in closed form and in the simulation, and whether the closed form
// holds.
func (c *drawnCase) figures(t *testing.T, changed bool) (closed, simulated seen, holds bool) {
	t.Helper()
	const busiest = 0.25 // share of the time with prompts
	d := c.deployed(t, changed)
	want := closedAt(t, &d, &c.load)
	crowded, clients := c.crowded[0], float64(c.load.Clients)/want.Room
	if changed {
		crowded = c.crowded[1]
	}
	if want.Prefilling > busiest || crowded.high > 0 && (clients < crowded.low || clients > crowded.high) {
		return closed, simulated, false
	}
	return seen{ttft: want.TTFT, tpot: want.TPOT}, settled(t, &d, &c.load), true
}

// TestSchedulingFields: every field of scheduling, what servers are told and what engines do,
// changes mean TTFT and TPOT as much in closed form as in the simulation of clients that have been
// at it for long, for drawn amounts and loads in the range in which the closed form holds without
// it, and stands in the arguments of a launch; or a reason says why not. A new field fails here
// until it has a case.
func TestSchedulingFields(t *testing.T) {
	for _, of := range []struct {
		fields reflect.Type
		cases  map[string]fieldCase
	}{{reflect.TypeFor[deploy.ServerOptions](), toldCases}, {reflect.TypeFor[deploy.Scheduling](), factCases}} {
		for _, field := range reflect.VisibleFields(of.fields) {
			if field.Anonymous {
				continue
			}
			name := field.Name
			c, ok := of.cases[name]
			if _, told := toldCases[name]; !ok && !told {
				t.Errorf("%s.%s has no case", of.fields.Name(), name)
			}
			if ok {
				t.Run(of.fields.Name()+"."+name, func(t *testing.T) { c.launched(t); c.check(t) })
			}
		}
		for name := range of.cases {
			if _, ok := of.fields.FieldByName(name); !ok {
				t.Errorf("there is no field %s.%s", of.fields.Name(), name)
			}
		}
	}
}

// launched looks for the field among the arguments of a server.
func (c *fieldCase) launched(t *testing.T) {
	if (c.launch == "") == (c.noLaunch == "") {
		t.Error("it is among the launch arguments, or there is a reason why not")
	}
	if c.launch == "" {
		return
	}
	drawn := c.draw(rand.New(rand.NewPCG(1, 2)))
	drawn.amount = c.amount.low
	d := drawn.deployed(t, true)
	e, err := engine.Find(c.engine)
	if err != nil {
		t.Fatal(err)
	}
	l := e.Launch(&d, &d.Pools[0])
	if text := strings.ReplaceAll(strings.Join(append(l.Commands, l.Config), " "), "\\\n", ""); !strings.Contains(strings.Join(strings.Fields(text), " "), c.launch) {
		t.Errorf("no %q in %s", c.launch, text)
	}
}

// check compares the changes of TTFT and TPOT. Without the prompts that a step holds after a wait,
// TTFT with wait-steps grew by a tenth too little; without the steps that balanced ranks save, TPOT
// fell by nothing in place of up to a sixth.
func (c *fieldCase) check(t *testing.T) {
	if c.noEffect != "" {
		return
	}
	const offTTFT, offTPOT = 0.08, 0.02
	loads := 5
	if long.Mode() {
		loads = 30
	}
	random := rand.New(rand.NewPCG(11, 12))
	shows := false
	for tried, drawn := 0, 0; tried < loads; drawn++ {
		if drawn > 20*loads {
			t.Fatalf("only %d of %d loads are in the range of the closed form", tried, drawn)
		}
		k := c.draw(random)
		if c.waits > 0 && k.amount > c.waits*float64(k.load.Lengths.Output) {
			continue
		}
		closed, simulated, holds := k.figures(t, false)
		if !holds {
			continue
		}
		closedWith, simulatedWith, holds := k.figures(t, true)
		if !holds {
			continue
		}
		tried++
		if c.entire {
			for _, s := range []*seen{&closed, &simulated, &closedWith, &simulatedWith} {
				s.ttft += float64(k.load.Lengths.Output-1) * s.tpot
			}
		}
		for _, f := range []struct {
			name                               string
			closed, closedWith, got, with, off float64
		}{
			{"TTFT", closed.ttft, closedWith.ttft, simulated.ttft, simulatedWith.ttft, offTTFT},
			{"TPOT", closed.tpot, closedWith.tpot, simulated.tpot, simulatedWith.tpot, offTPOT},
		} {
			differ := math.Abs(f.closedWith/f.closed*f.got/f.with - 1)
			if differ > f.off {
				t.Errorf("%.3g for %d clients of %d + %d tokens on %d ranks: %s is %.4g s and then %.4g s in closed form, %.4g s and %.4g s in the simulation", k.amount,
					k.load.Clients, k.load.Lengths.Input, k.load.Lengths.Output, k.ranks, f.name, f.closed, f.closedWith, f.got, f.with)
			}
			shows = shows || math.Abs(f.with/f.got-1) > f.off
		}
	}
	if !shows {
		t.Error("it changes so little that a closed form which ignored it would pass")
	}
}
