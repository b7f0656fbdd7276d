package explain

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/op"
	"throughline/workload"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// plainH200 is a file of the H200 without calibrated kernels: a roofline, which can be computed by
// hand.
func plainH200(t *testing.T) string {
	t.Helper()
	src, _ := hardware.Catalogue.Find("H200")
	src, err := hardware.WithKernels(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(src, &file); err != nil {
		t.Fatal(err)
	}
	delete(file, "power") // by hand all steps run at the full clock
	if src, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "H200.json")
	if err := os.WriteFile(name, src, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func estimated(t *testing.T, phase op.Phase, change func(*question.Question)) *bare {
	t.Helper()
	p := question.Default()
	p.In = files.Machine
	p.Model, p.System = "llama_3_8b", plainH200(t)
	if change != nil {
		change(&p)
	}
	p.Phase, p.Engine = question.Phase(phase.Name()), "none"
	a, err := point.NewExaminer().Answer(&p)
	if err != nil {
		t.Fatal(err)
	}
	return &bare{&a.Phases[0], a}
}

// bare is a bare step of an answer.
type bare struct {
	*point.Result
	answer *point.Answer
}

// evaluate fills in the step of a problem that may have changed since it was answered.
func (r *bare) evaluate(t *testing.T) {
	t.Helper()
	e, err := estimate.NewEvaluator(&r.Problem)
	if err != nil {
		t.Fatal(err)
	}
	r.Contents = e.Contents(&r.Plan)
}

// onMemory is a point whose computation takes no time: all rates are beyond reach.
func onMemory(t *testing.T, change func(*question.Question)) *bare {
	t.Helper()
	r := estimated(t, op.Decode, change)
	for _, p := range r.Problem.System.Parameters() {
		if strings.HasSuffix(p.Name, ".tflops") {
			r.Problem.System = p.With(r.Problem.System, p.High)
		}
	}
	r.evaluate(t)
	return r
}

func explained(t *testing.T, r *bare, limits workload.Limits) *Explanation {
	t.Helper()
	r.evaluate(t)
	x, err := Of(r.answer, 0, limits)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func expertPlan(p *question.Question) {
	p.Model, p.Formats.Weights = "deepseek_v3_flash_mla_absorb", "fp8"
	p.DP, p.TP, p.PP, p.Drafts, p.Batch = 8, 2, 2, 1, 16
}

// The times of the operators of the layers add up to the stage, the shares of all to the step.
func TestOperatorsAddUp(t *testing.T) {
	for name, change := range map[string]func(*question.Question){
		"dense":     func(p *question.Question) { p.Batch, p.TP = 32, 4 },
		"experts":   expertPlan,
		"reference": func(p *question.Question) { expertPlan(p); p.Assume = "reference" },
		"two micro-batches": func(p *question.Question) {
			expertPlan(p)
			p.TP, p.PP, p.Drafts, p.Overlap = 1, 1, 0, "two-batch"
		},
	} {
		for _, phase := range []op.Phase{op.Prefill, op.Decode} {
			r := estimated(t, phase, change)
			x := explained(t, r, workload.Limits{})
			var stage, shares float64
			for _, o := range x.Operators {
				if o.Part == estimate.StagePart {
					stage += o.Executions() * o.Exposed
				}
				shares += o.Share
				if ofPeak, ofBandwidth := o.Use(); ofPeak > 1 || ofBandwidth > 1 {
					t.Errorf("%s: %s runs at %.2f of the peak, %.2f of the bandwidth", name, o.Name, ofPeak, ofBandwidth)
				}
				if (engineOf(&o) == "network") == (len(o.Levels) == 0) && o.BoundBy() != "" {
					t.Errorf("%s: %s on %s uses networks %v", name, o.Name, engineOf(&o), o.Levels)
				}
			}
			near(t, name+": stage", stage, r.Estimate.StageTime, 1e-9)
			near(t, name+": step", shares, 1, 1e-9)
		}
	}
}

// The down projection of Llama 3 8B: 32 tokens by 14336 × 4096 weights of 2 bytes, in each of 32
// layers, at 0.8 of 4.8e12 bytes per second.
func TestOperatorByHand(t *testing.T) {
	x := explained(t, estimated(t, op.Decode, func(p *question.Question) { p.Batch = 32 }), workload.Limits{})
	for _, o := range x.Operators {
		if o.Name != "down" {
			continue
		}
		if o.M != 32 || o.N != 4096 || o.K != 14336 || o.Executions() != 32 || engineOf(&o) != "cube" || o.BoundBy() != "memory" {
			t.Errorf("%+v", o)
		}
		bytes := 32.0 * (14336*4096*2 + 32*(14336+4096)*2)
		flops := 32.0 * 2 * 32 * 14336 * 4096
		near(t, "flops", 32*o.Flops, flops, 1e-12)
		near(t, "bytes", 32*o.Bytes(), bytes, 1e-12)
		near(t, "time", 32*o.Exposed, bytes/(0.8*4.8e12), 1e-12)
		ofPeak, ofBandwidth := o.Use()
		near(t, "share of the bandwidth", ofBandwidth, 0.8, 1e-12)
		near(t, "share of the peak", ofPeak, flops/(32*o.Exposed)/989e12, 1e-12)
		return
	}
	t.Error("there is no down projection")
}

// Two processors to a node: a group of four uses the network inside and the one between.
func TestCollectiveLevels(t *testing.T) {
	r := estimated(t, op.Decode, func(p *question.Question) { p.TP = 4 })
	size, _ := r.Problem.System.Parameter("networks[0].size")
	r.Problem.System = size.With(r.Problem.System, 2)
	x := explained(t, r, workload.Limits{})
	for _, o := range x.Operators {
		if o.Name == "attention all-reduce" {
			if got := o.Dimensions(nil); got != "all-reduce over 4, networks 0+1" {
				t.Errorf("%s", got)
			}
			// 1 token of 4096 elements of 2 bytes.
			if o.Moved != 4096*2 || o.Executions()*o.Traffic() != 32*2*4096*2 {
				t.Errorf("sends %v, message %v", o.Traffic(), o.Moved)
			}
			return
		}
	}
	t.Error("there is no all-reduce")
}

// The parts of the memory add up to its capacity.
func TestMemoryMap(t *testing.T) {
	r := estimated(t, op.Decode, func(p *question.Question) { p.Batch = 32 })
	m := explained(t, r, workload.Limits{}).Memory
	near(t, "sum", m.Attention+m.MLP+m.Draft+m.Ends+m.Working+m.Cache+m.Free+m.Reserved, 140.4, 1e-9)
	// 128256 × 4096 of 2 bytes, as embedding and as output head, and the last norm.
	near(t, "ends", m.Ends, (2*128256*4096*2+4096*2)/float64(estimate.GiB), 1e-9)
	near(t, "cache", m.Cache, 32*2048*2*8*128*2*32/float64(estimate.GiB), 1e-12)
	near(t, "reserved", m.Reserved, 0.1*140.4+1, 1e-12)

	r = estimated(t, op.Decode, expertPlan)
	m = explained(t, r, workload.Limits{}).Memory
	near(t, "sum with drafts", m.Attention+m.MLP+m.Draft+m.Ends+m.Working+m.Cache+m.Free+m.Reserved, 140.4, 1e-9)
	near(t, "held", 140.4-m.Free-m.Reserved, r.Estimate.Memory.Total()/estimate.GiB, 1e-9)
	if m.Draft <= 0 || m.Ends <= 0 {
		t.Errorf("%+v", m)
	}
}

func effectOf(t *testing.T, x *Explanation, name string) Effect {
	t.Helper()
	for _, e := range x.Sensitivity {
		if e.Parameter == name {
			return e
		}
	}
	t.Fatalf("no effect of %s", name)
	return Effect{}
}

// Where all time is memory traffic, a tenth more bandwidth takes an eleventh of it off; where a
// part is, of that part.
func TestSensitivityToBandwidth(t *testing.T) {
	x := explained(t, onMemory(t, nil), workload.Limits{})
	e := effectOf(t, x, "mem1.GBps")
	near(t, "TPOT", e.Step, -1.0/11, 1e-6)
	near(t, "tokens/s", e.Tokens, 0.1, 1e-6)
	if x.Sensitivity[0].Parameter != "mem1.GBps" {
		t.Errorf("the largest effect is that of %s", x.Sensitivity[0].Parameter)
	}

	r := onMemory(t, func(p *question.Question) { p.TP, p.Batch = 8, 16 })
	c, err := newSubject(r.answer, 0)
	if err != nil {
		t.Fatal(err)
	}
	shares := r.Shares
	network := shares.Communication / c.StepTime
	if network < 0.05 || network > 0.95 {
		t.Fatalf("%.2f of the step is communication", network)
	}
	x = explained(t, r, workload.Limits{})
	near(t, "TPOT of the memory part", effectOf(t, x, "mem1.GBps").Step, -(1-network)/11, 1e-5)
	// Within a node: an all-reduce is latency and transfer, which add up.
	bandwidth, latency := effectOf(t, x, "networks[0].bandwidth").Step, effectOf(t, x, "networks[0].latency").Step
	near(t, "the two parts of the network", -11*bandwidth+10*latency, network, 1e-6)
	if e := effectOf(t, x, "networks[1].bandwidth"); e.Any() {
		t.Errorf("the network between nodes is not used, but %+v", e)
	}
}

// A tenth more memory: 0.9 of 14.04 GiB more for sequences of 2048 tokens of 128 KiB, and their
// working space.
func TestSensitivityToCapacity(t *testing.T) {
	r := estimated(t, op.Decode, nil)
	e := effectOf(t, explained(t, r, workload.Limits{}), "mem1.GiB")
	free := r.Usable - r.Estimate.Memory.Weights[0] - r.Estimate.Memory.Weights[1]
	// The largest result of a sequence is the 128256 logits of 2 bytes.
	sequence := 2048*128*1024 + 128256*2.0
	if want := int(free / sequence); e.Batch != want {
		t.Errorf("largest batch %d, want %d", e.Batch, want)
	}
	if want := int((free + 0.9*14.04*estimate.GiB) / sequence); e.NewBatch != want {
		t.Errorf("largest batch with more memory %d, want %d", e.NewBatch, want)
	}
	if e.Step != 0 {
		t.Errorf("capacity changes the time by %v", e.Step)
	}
}

// With i = 14336 inputs and o = 4096 outputs, the down projection turns compute-bound where 2·b·i·o
// operations at 989e12 per second take as long as 2·(i·o + b·(i + o)) bytes at 4.8e12: at b = i·o /
// (i·o · 4.8/989 − (i + o)).
func TestTurnByHand(t *testing.T) {
	tpot := 10.0
	// What clients of an engine that takes no time see, by batch.
	seen := func(batch int) *point.Answer {
		p := question.Default()
		p.In = files.Machine
		p.Model, p.System, p.Engine, p.Batch = "llama_3_8b", plainH200(t), "none", batch
		a, err := point.NewExaminer().Answer(&p)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	x, err := Of(seen(32), 1, workload.Limits{TPOT: &tpot})
	if err != nil {
		t.Fatal(err)
	}
	const i, o, rate, bandwidth = 14336.0, 4096.0, 989e12, 4.8e12
	first := math.Ceil(i * o / (i*o*bandwidth/rate - (i + o)))
	turn := limitOf(t, x, "down turns compute-bound")
	if float64(turn.Batch) != first || turn.Reached {
		t.Errorf("turns at %d, want %v", turn.Batch, first)
	}
	// The last batch in time is in time, the next is not.
	late := limitOf(t, x, "TPOT exceeds 10 ms").Batch
	at := func(batch int) float64 { return seen(batch).Seen.TPOT * 1e3 }
	if at(late-1) > 10 || at(late) <= 10 {
		t.Errorf("TPOT at batch %d and %d: %v, %v", late-1, late, at(late-1), at(late))
	}
	full := limitOf(t, x, "the memory is full: batch 441 is the last that fits")
	if full.Batch != 442 {
		t.Errorf("full at %d", full.Batch)
	}
	if l := limitOf(t, x, "fused attention stays memory-bound at every batch"); l.Batch != 0 {
		t.Errorf("%+v", l)
	}
	for k := 1; k < len(x.Limits); k++ {
		if order(&x.Limits[k-1]) > order(&x.Limits[k]) {
			t.Errorf("not in order: %+v", x.Limits)
		}
	}
}

func limitOf(t *testing.T, x *Explanation, what string) Limit {
	t.Helper()
	for _, l := range x.Limits {
		if l.What == what {
			return l
		}
	}
	t.Fatalf("%q is not among %+v", what, x.Limits)
	return Limit{}
}

func TestNothingFits(t *testing.T) {
	r := estimated(t, op.Decode, func(p *question.Question) { p.Model = "deepseek_v3_flash_mla_absorb" })
	x := explained(t, r, workload.Limits{})
	if l := limitOf(t, x, "the memory is full: no batch fits"); !l.Reached {
		t.Errorf("%+v", l)
	}
	if x.Memory.Free >= 0 {
		t.Errorf("%v GiB are free", x.Memory.Free)
	}
}

func TestLastWith(t *testing.T) {
	for low := 1; low < 4; low++ {
		for high := low; high < 40; high++ {
			for last := low - 1; last <= high; last++ {
				if got := lastWith(low, high, func(n int) bool { return n <= last }); got != last {
					t.Errorf("lastWith(%d, %d) up to %d is %d", low, high, last, got)
				}
			}
		}
	}
}

func sought(t *testing.T, r *bare, path, goal string) *Answer {
	t.Helper()
	g, err := ParseGoal(goal)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Seek(r.answer, 0, path, g)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSeekByHand(t *testing.T) {
	// Memory alone: half of the time needs twice the bandwidth.
	r := onMemory(t, nil)
	c, err := newSubject(r.answer, 0)
	if err != nil {
		t.Fatal(err)
	}
	half := c.Latency * 1e3 / 2
	g := &Goal{&metrics[2], half}
	a, err := Seek(r.answer, 0, "mem1.GBps", g)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "bandwidth", *a.Value, 9600, 1e-6)
	near(t, "metric now", a.NowMetric, 2*half, 1e-12)

	// Capacity: 0.9 of it less 1 GiB must hold everything.
	r = estimated(t, op.Decode, func(p *question.Question) { p.Batch = 1000 })
	need := r.Estimate.Memory.Total() / estimate.GiB
	a = sought(t, r, "mem1.GiB", "memory=0")
	near(t, "capacity", *a.Value, (need+1)/0.9, 1e-9)
	a = sought(t, r, "mem1.GiB", "memory=10GiB")
	near(t, "capacity with 10 GiB to spare", *a.Value, (need+11)/0.9, 1e-9)
	a = sought(t, r, "mem1.GiB", "batch=1000")
	near(t, "capacity for 1000", *a.Value, (need+1)/0.9, 1e-9)

	// The latency of a network: 2 all-reduces of 2 hops each in every one of 32 layers.
	r = estimated(t, op.Decode, func(p *question.Question) { p.TP = 2 })
	now := r.Estimate.StepTime
	g = &Goal{&metrics[2], (now + 128e-6) * 1e3} // a microsecond more for each hop
	if a, err = Seek(r.answer, 0, "networks[0].latency", g); err != nil {
		t.Fatal(err)
	}
	near(t, "latency", *a.Value, 2e-6, 1e-6)
}

// Where a goal cannot be reached, or cannot be missed, the answer says so.
func TestSeekOutOfReach(t *testing.T) {
	r := estimated(t, op.Decode, func(p *question.Question) { p.Batch = 64 })
	a := sought(t, r, "mem1.GBps", "tpot=1us")
	if a.Value != nil || a.Always || a.BestAt != 4800*1000 || a.Best <= 0.001 || a.Best >= a.NowMetric {
		t.Errorf("%+v", a)
	}
	a = sought(t, r, "mem1.GBps", "throughput=1")
	if a.Value != nil || !a.Always {
		t.Errorf("%+v", a)
	}
	// One processor has no use for a network.
	a = sought(t, r, "networks[0].bandwidth", "tpot=1ms")
	if a.Value != nil || a.Always || a.Best != a.NowMetric || a.BestAt != a.Now {
		t.Errorf("%+v", a)
	}
}

// Whatever is sought, the value reaches the goal and the next worse one does not.
func TestSeekIsTight(t *testing.T) {
	r := estimated(t, op.Decode, func(p *question.Question) { p.TP, p.Batch = 16, 64 })
	now := r.Estimate.StepTime * 1e3
	for _, path := range []string{"mem1.GBps", "mem1.calibration_coefficient", "networks[1].bandwidth", "networks[0].size", "networks[1].latency", "collective_overlap"} {
		g := &Goal{&metrics[2], now * 0.97}
		a, err := Seek(r.answer, 0, path, g)
		if err != nil {
			t.Fatal(err)
		}
		if a.Value == nil {
			t.Errorf("%s: %+v", path, a)
			continue
		}
		p, _ := r.Problem.System.Parameter(path)
		c, err := newSubject(r.answer, 0)
		if err != nil {
			t.Fatal(err)
		}
		reached := func(v float64) bool {
			f, err := c.onSystem(p.With(r.Problem.System, v))
			if err != nil {
				t.Fatal(err)
			}
			return f.step.StepTime*1e3 <= g.Value
		}
		worse := *a.Value * (1 - 1e-6)
		switch {
		case p.Whole:
			worse = *a.Value - 1
		case strings.HasSuffix(path, "latency"):
			worse = *a.Value * (1 + 1e-6)
		}
		if !reached(*a.Value) || reached(worse) {
			t.Errorf("%s: %v reaches it: %v; %v: %v", path, *a.Value, reached(*a.Value), worse, reached(worse))
		}
	}
}

func TestGoals(t *testing.T) {
	for text, want := range map[string]float64{
		"tpot=20ms": 20, "tpot=20": 20, "ttft=1.5s": 1500, "step = 300us": 0.3, "throughput=5000tokens/s": 5000,
		"throughput=5e3": 5000, "memory=512MiB": 0.5, "batch=64": 64,
	} {
		g, err := ParseGoal(text)
		if err != nil {
			t.Error(err)
			continue
		}
		near(t, text, g.Value, want, 1e-12)
	}
	for text, want := range map[string]string{
		"tpot":       `"tpot" is not of the form metric=value, like tpot=20ms`,
		"tpto=20ms":  `"tpto" is not one of "tpot", "ttft", "step", "throughput", "memory", "batch"; did you mean "tpot"?`,
		"tpot=20GiB": `tpot must be a number of ms, not "20GiB"`,
		"tpot=":      `tpot must be a number of ms, not ""`,
		"tpot=-3ms":  `tpot must be a number of ms, not "-3ms"`,
	} {
		if _, err := ParseGoal(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	sys := &hardware.System{Networks: make([]hardware.Network, 1)}
	err := CheckPath(sys, "mem1.gbps")
	if err == nil || !strings.HasSuffix(err.Error(), `did you mean "mem1.GBps"?`) {
		t.Errorf("%v", err)
	}
}

// TestSeekMemory: of a processor of C GiB of which 2.5 are gone, SGLang gives weights W and the
// cache of one request K what it is told: C = (W + K) / 0.9 + 2.5. With less nobody is served.
func TestSeekMemory(t *testing.T) {
	q := question.Default()
	q.In = files.Machine
	q.Model, q.System, q.TP, q.Engine, q.Batch, q.Traffic.MemoryShare = "llama_3_70b", "H100_SXM", 2, "sglang", 1, 0.9
	a, err := point.NewExaminer().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	goal, err := ParseGoal("batch=1")
	if err != nil {
		t.Fatal(err)
	}
	phase := len(a.Phases) - 1
	got, err := Seek(a, phase, "mem1.GiB", goal)
	if err != nil {
		t.Fatal(err)
	}
	m := &a.Phases[phase].Estimate.Memory
	want := (m.Weights[op.AttentionBlock]+m.Weights[op.MLPBlock]+m.Cache)/0.9/estimate.GiB + 2.5
	if got.Value == nil || math.Abs(*got.Value-want) > 1e-6 {
		t.Errorf("%+v, by hand %v", got, want)
	}
	if goal, err = ParseGoal("tpot=1s"); err != nil {
		t.Fatal(err)
	}
	if got, err = Seek(a, phase, "mem1.GiB", goal); err != nil || got.Value == nil || math.Abs(*got.Value-want) > 0.1 {
		t.Errorf("anybody is served with %+v, by hand %v: %v", got, want, err)
	}
}
