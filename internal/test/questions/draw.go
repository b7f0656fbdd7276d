package questions

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// dice are random numbers that depend on a seed alone, whatever the version of Go.
type dice struct{ source *rand.PCG }

func (d dice) below(n int) int { return int(d.source.Uint64() % uint64(n)) }

// once reports true once in n times.
func (d dice) once(n int) bool { return d.below(n) == 0 }

// word draws one of the words of a text.
func (d dice) word(text string) string {
	words := strings.Fields(text)
	return words[d.below(len(words))]
}

// number draws one of the numbers.
func (d dice) number(of ...int) int { return of[d.below(len(of))] }

// Draw draws deployments, each from the seed and its own number alone.
func Draw(n int, seed uint64) []Deployment {
	out := make([]Deployment, n)
	for i := range out {
		d := drawing{dice: dice{rand.NewPCG(seed, uint64(i))}}
		// All models and engines come up.
		d.shape, d.engine = &shapes[i%len(shapes)], engines[i%len(engines)]
		d.draw(i)
		out[i] = d.Deployment
	}
	return out
}

// drawing is a deployment under construction.
type drawing struct {
	dice
	Deployment
	shape  *shape
	chip   *chip
	engine string

	gigabytes float64 // of all weights
}

func (d *drawing) set(name, value string) { d.Settings = append(d.Settings, Setting{name, value}) }

func (d *drawing) draw(i int) {
	d.chip = d.drawChip()
	d.set("model", d.shape.name)
	d.set("system", d.chip.name)
	d.set("engine", d.engine)
	d.gigabytes = d.formats()
	gpus := d.gpus()
	if d.engine != "any" && d.once(4) && 2*gpus <= d.chip.most {
		stages := 1
		if d.familyIs("trtllm") || d.familyIs("none") { // the others hand over no cache of a pipeline, or only to as many stages
			stages = d.stages(gpus)
		}
		prefill := d.layout(gpus, stages)
		d.Prefill = &prefill
		d.Decode = d.layout(gpus, stages)
		d.Prefill.Instances, d.Decode.Instances = d.number(1, 1, 2), d.number(1, 1, 2)
	} else {
		d.Decode = d.layout(gpus, d.stages(gpus))
	}
	d.experts()
	d.lengths()
	d.load()
	d.scheduling()
	d.rare()
	d.simulated(i)
}

// family is the engine without its version.
func (d *drawing) family() string { name, _, _ := strings.Cut(d.engine, "@"); return name }

func (d *drawing) familyIs(name string) bool { return d.family() == name }

// drawChip draws one that the engine runs on and whose memory holds the weights.
func (d *drawing) drawChip() *chip {
	for {
		c := &chips[d.below(len(chips))]
		if d.familyIs("trtllm") && !c.nvidia || d.shape.gigabytes > 0.5*c.gib*float64(c.most) {
			continue
		}
		return c
	}
}

// formats draws the number formats, and returns the size of all weights in GB.
func (d *drawing) formats() float64 {
	bytes := d.shape.gigabytes
	if d.once(2) || d.chip.formats == "fp8" {
		weights := d.word(d.chip.formats)
		if d.familyIs("trtllm") && (strings.Contains("int8 w8a8", weights) || d.chip.formats == blackwell && weights == "int4") ||
			d.familyIs("sglang") && d.chip.name == "TPU_v6e" { // which it lacks
			weights = "bf16"
		}
		if total := bytesOf[weights] * d.shape.billions; total < 0.5*d.chip.gib*float64(d.chip.most) {
			d.set("weights", weights)
			bytes = total
		}
	}
	if d.once(4) && !strings.Contains("Ascend_910C TPU_v6e A100_SXM", d.chip.name) {
		d.set("cache", d.word("fp8 bf16"))
	}
	return bytes
}

// gpus draws the processors of an instance, at least as many as hold its weights.
func (d *drawing) gpus() int {
	n := 1
	for float64(n)*d.chip.gib*0.6 < d.gigabytes {
		n *= 2
	}
	for n < d.chip.most && d.once(2) {
		n *= 2
	}
	return n
}

// stages draws those of a pipeline.
func (d *drawing) stages(gpus int) int {
	if gpus > 1 && d.once(6) && !(d.familyIs("vllm") && d.shape.experts > 0) { // its replicas would span several nodes
		return 2
	}
	return 1
}

// layout splits an instance.
func (d *drawing) layout(gpus, stages int) Layout {
	l := Layout{Instances: 1, DP: 1, PP: stages, TP: 1}
	stage := gpus / l.PP
	wider := func() bool { return l.TP*2 <= min(stage, 8) && d.shape.heads%(l.TP*2) == 0 }
	for wider() && !d.once(4) {
		l.TP *= 2
	}
	// Every replica of a dense model holds it in full; to most engines copies are instances.
	for d.shape.experts == 0 && wider() && (!d.once(4) || 0.6*d.chip.gib*float64(l.PP*l.TP) < d.gigabytes) {
		l.TP *= 2
	}
	if d.familyIs("trtllm") && l.TP < stage && d.shape.experts > 0 { // its attention replicas have one rank
		l.TP = 1
	}
	l.DP = stage / l.TP
	d.fill(&l)
	return l
}

// fill splits the experts of a layout over the processors of a stage.
func (d *drawing) fill(l *Layout) {
	if d.shape.experts == 0 {
		return
	}
	stage := l.DP * l.TP
	l.EP, l.MoETP, l.MoEDP = stage, 1, 1
	for d.shape.experts%l.EP != 0 {
		l.EP, l.MoETP = l.EP/2, l.MoETP*2
	}
	if l.DP == 1 && d.once(2) { // one attention replica may split each expert instead
		for l.EP > 1 && d.shape.width%(l.MoETP*2) == 0 && (d.familyIs("trtllm") || d.familyIs("none") || l.EP == stage || d.once(2)) {
			l.EP, l.MoETP = l.EP/2, l.MoETP*2
		}
		if !d.familyIs("trtllm") && !d.familyIs("none") && l.EP > 1 {
			l.EP, l.MoETP = stage, 1
		}
	}
}

// experts draws settings of expert models, and drafts.
func (d *drawing) experts() {
	if d.shape.drafts > 0 && d.once(3) && d.Decode.PP == 1 {
		d.set("drafts", strconv.Itoa(1+d.below(d.shape.drafts)))
	}
	l := &d.Decode
	if l.DP < 2 || l.EP != l.DP*l.TP || d.Prefill != nil && (d.Prefill.DP < 2 || d.Prefill.EP != d.Prefill.DP*d.Prefill.TP) {
		return
	}
	if d.once(2) {
		l.Overlap = d.word("two-batch single-batch two-batch")
		switch {
		case d.familyIs("trtllm"), d.familyIs("vllm") && d.Prefill == nil: // which have none, or only between servers of one phase
			l.Overlap = ""
		case d.familyIs("vllm"):
			l.Overlap = "two-batch"
		}
	}
	if d.once(3) && l.PP == 1 {
		l.Redundant = l.EP
		if d.Prefill != nil {
			l.Redundant = max(l.EP, d.Prefill.EP)
		}
	}
	if d.Prefill != nil {
		d.Prefill.Overlap, d.Prefill.Redundant = l.Overlap, l.Redundant
	}
	if d.once(6) {
		d.set("popularity", d.word("uniform zipf:0.5 lognormal:0.4"))
	}
	if d.once(8) {
		d.set(d.word("dispatch combine"), d.word("bf16 fp8"))
	}
}

func (d *drawing) lengths() {
	input, output := d.number(128, 500, 1024, 1024, 2000, 4000, 8192, 20000), d.number(1, 32, 128, 200, 500, 1000, 1024, 2000)
	if d.shape.brief {
		input, output = min(input, 1024), min(output, 500)
	}
	d.set("isl", strconv.Itoa(input))
	d.set("osl", strconv.Itoa(output))
	switch d.below(8) {
	case 0:
		d.set("lengths", d.word("uniform:0.8 uniform:0.3 lognormal:0.5"))
	case 1:
		d.set("random-range-ratio", d.word("0 0.5 0.8"))
	case 2:
		d.set("prefix-hit", d.word("0.25 0.5 0.9"))
	case 3:
		d.set("prefix", "64")
	}
}

func (d *drawing) load() {
	switch d.below(5) {
	case 0, 1:
		d.set("batch", strconv.Itoa(d.number(1, 2, 4, 16, 32, 64, 128)))
	default:
		d.set("concurrency", strconv.Itoa(d.number(1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024)))
	}
}

// scheduling draws engine settings.
func (d *drawing) scheduling() {
	for _, k := range knobs[d.family()] {
		if d.once(5) {
			d.set(k.name, d.word(k.values))
		}
	}
	if d.familyIs("trtllm") && d.shape.experts > 0 && d.Prefill == nil && d.Decode.DP > 1 && d.once(2) {
		d.set("balance-steps", d.word("2 8"))
	}
	if d.familyIs("none") || d.familyIs("any") || !d.chip.nvidia || d.once(2) {
		return
	}
	switch d.chip.name {
	case "H100_SXM", "H200", "H20_96G", "H20_141G", "H800":
		switch {
		case d.familyIs("trtllm"), strings.Contains("DeepSeek-V3.2 DeepSeek-V4-Flash GLM-5.2 MiniMax-M3", d.shape.name): // sparse attention has its own kernels
		case d.familyIs("vllm"):
			d.set("attention-backend", "triton")
		default:
			d.set("attention-backend", d.word("fa3 flashinfer triton"))
		}
	}
}

// rare draws what few deployments have.
func (d *drawing) rare() {
	switch d.below(24) {
	case 0:
		d.set("assume", d.word("physical,causal=false reference physical,small-kernels=false"))
	case 1:
		d.set("gpus-per-node", "4")
	case 2:
		if d.Prefill == nil && d.Decode.TP > 1 && d.familyIs("none") {
			d.set("sp", "true")
		}
	case 3:
		if d.Decode.DP*d.Decode.TP > 1 {
			d.set("comm", d.word("fp8 fp16"))
		}
	case 4:
		d.set("attention", d.word("fp8 fp16"))
	case 5:
		d.set("vector", "fp32")
	case 6:
		if d.shape.experts > 0 && d.Prefill == nil && d.Decode.DP > 1 && !d.familyIs("trtllm") && !d.familyIs("vllm") {
			d.set(d.word("dense-tp head-tp"), "true")
		}
	case 7:
		if d.Prefill != nil {
			d.set("decode-system", d.word("H200 H100_SXM"))
		}
	case 8:
		d.set("activations", "bf16")
	}
}

// simulated draws how requests arrive and are scheduled.
func (d *drawing) simulated(i int) {
	set := func(name, value string) { d.Simulated = append(d.Simulated, Setting{name, value}) }
	set("num-prompts", "200")
	if i%2 == 0 {
		set("concurrency", strconv.Itoa(min(256, d.Clients())))
	} else {
		set("rate", d.word("0.5 2 8 30 inf"))
		if d.once(3) {
			set("arrival", d.word("gamma:2 constant bursts:4"))
		}
	}
	set("seed", strconv.Itoa(i))
	switch d.below(10) {
	case 0:
		set("policy", d.word("prefill-first chunked whole-prompts"))
	case 1:
		set("replicas", "2")
		set("routing", d.word("round-robin least-loaded"))
	case 2:
		set("cold", "true")
	case 3:
		set("prefix-cache", "true")
		set("gsp-num-groups", "8")
		set("gsp-system-prompt-len", "512")
	case 4:
		set("turns", "3")
	case 5:
		set("block-size", d.word("1 64 128"))
	}
}
