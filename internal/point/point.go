// Package point estimates single points: a model on a system with everything fixed, nothing searched. A point is told in
// the words of the command line, and many of them come as rows of a table whose columns have the same names.
package point

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/document"
	"throughline/internal/scenario"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Point is one deployment of one model on one system. Numbers that are 0 follow from the others.
type Point struct {
	Model, System string
	Engine        string // that serves it: a name, any or none
	Phase         string // bare steps: prefill, decode or both; empty: what clients see

	Batch                  int     // sequences of a data-parallel rank; under reference assumptions, in an expert model, of a processor
	Concurrency            int     // clients of the closed loop; 0: as many as fill the batches
	Input, Output, Context int     // of a request; or the context of a decode step
	Prefix                 int     // cached tokens of the input
	PrefixHit              float64 // share of the input that is cached, in place of Prefix
	Distribution           string  // of the lengths, as workload.Lengths.Spread reads it
	Offload                estimate.Offload

	TP, PP, DP, CP    int
	EP, MoETP, MoEDP  int
	Redundant, Drafts int
	SequenceParallel  bool
	Overlap           string // of the exchange between experts, by name
	Popularity        string // of experts, as experts.ParsePopularity reads it

	// Plans of two pools, in words; an empty one is what the numbers above say. DecodeSystem is empty if both pools have one.
	PrefillPlan, DecodePlan, DecodeSystem string
	GPUsPerNode                           int

	Formats scenario.Formats
	Assume  string
}

// defaultLength of inputs and outputs, in tokens.
const defaultLength = 1024

// Default is the point that is asked for where nothing else is said.
func Default() Point {
	return Point{Engine: engine.Any, GPUsPerNode: 8, Batch: 1, TP: 1, PP: 1, DP: 1, CP: 1, MoETP: 1, Overlap: plan.NoOverlap.String(), Assume: "physical"}
}

// Field is one setting of a point: a flag, and a column of a table.
type Field struct {
	Name string
	Doc  string
	// Low and High bound a number.
	Low, High int
	Optional  bool // a number that is 0 where it is not given
	Ref       func(p *Point) any
}

// Limits of numbers, far beyond any deployment and far from any overflow.
const (
	mostTokens = 1_000_000_000
	mostParts  = 1_000_000
)

var fields = []Field{
	{Name: "model", Doc: "model: a file, or the name of a built-in one", Ref: func(p *Point) any { return &p.Model }},
	{Name: "system", Doc: "system: a file, or the name of a built-in one", Ref: func(p *Point) any { return &p.System }},
	{Name: "engine", Doc: "serving engine: sglang, vllm or trtllm, any for the best of those that can run it, none for a generic one", Ref: func(p *Point) any { return &p.Engine }},
	{Name: "phase", Doc: "bare steps: prefill, decode or both (default: what clients see)", Ref: func(p *Point) any { return &p.Phase }},
	{Name: "batch", Doc: "sequences of a data-parallel rank, and so clients of a closed loop: batch × dp × batches in flight; in an expert model under --assume reference, of a processor", Low: 1, High: mostTokens, Ref: func(p *Point) any { return &p.Batch }},
	{Name: "concurrency", Doc: "clients of the closed loop (default: batch × dp × batches in flight, of all instances)", Low: 1, High: mostTokens, Optional: true, Ref: func(p *Point) any { return &p.Concurrency }},
	{Name: "isl", Doc: "tokens of the input (default 1024)", Low: 1, High: mostTokens, Optional: true, Ref: func(p *Point) any { return &p.Input }},
	{Name: "osl", Doc: "tokens of the output (default 1024)", Low: 1, High: mostTokens, Optional: true, Ref: func(p *Point) any { return &p.Output }},
	{Name: "context", Doc: "context of a decode step, instead of --isl and --osl", Low: 2, High: mostTokens, Optional: true, Ref: func(p *Point) any { return &p.Context }},
	{Name: "prefix", Doc: "leading tokens of the input that are cached", Low: 0, High: mostTokens, Ref: func(p *Point) any { return &p.Prefix }},
	{Name: "prefix-hit", Doc: "share of the input tokens that are cached, instead of --prefix", Ref: func(p *Point) any { return &p.PrefixHit }},
	{Name: "lengths", Doc: "how lengths are spread: fixed, uniform:R, lognormal:S or trace:FILE (default fixed)", Ref: func(p *Point) any { return &p.Distribution }},
	{Name: "offload-weights", Doc: "share of the weights in the second memory tier", Ref: func(p *Point) any { return &p.Offload.Weights }},
	{Name: "offload-cache", Doc: "share of the KV cache in the second memory tier", Ref: func(p *Point) any { return &p.Offload.Cache }},
	{Name: "tp", Doc: "tensor-parallel ranks", Low: 1, High: mostParts, Ref: func(p *Point) any { return &p.TP }},
	{Name: "pp", Doc: "pipeline stages", Low: 1, High: mostParts, Ref: func(p *Point) any { return &p.PP }},
	{Name: "dp", Doc: "data-parallel replicas of attention", Low: 1, High: mostParts, Ref: func(p *Point) any { return &p.DP }},
	{Name: "cp", Doc: "parts of the context, in prefill", Low: 1, High: mostParts, Ref: func(p *Point) any { return &p.CP }},
	{Name: "sp", Doc: "sequence parallelism between the tensor-parallel parts", Ref: func(p *Point) any { return &p.SequenceParallel }},
	{Name: "ep", Doc: "expert-parallel groups (default: what fills the processors of a stage)", Low: 1, High: mostParts, Optional: true, Ref: func(p *Point) any { return &p.EP }},
	{Name: "moe-tp", Doc: "slices of each expert", Low: 1, High: mostParts, Ref: func(p *Point) any { return &p.MoETP }},
	{Name: "moe-dp", Doc: "copies of all experts (default: what --ep leaves, else 1)", Low: 1, High: mostParts, Optional: true, Ref: func(p *Point) any { return &p.MoEDP }},
	{Name: "prefill-plan", Doc: "plan of a prefill pool of its own, like 2x tp4; needs no --decode-plan if the flags say that", Ref: func(p *Point) any { return &p.PrefillPlan }},
	{Name: "decode-plan", Doc: "plan of a decode pool of its own, like dp8·tp1 ep8", Ref: func(p *Point) any { return &p.DecodePlan }},
	{Name: "decode-system", Doc: "system of the decode pool, if it differs", Ref: func(p *Point) any { return &p.DecodeSystem }},
	{Name: "gpus-per-node", Doc: "processors of one node, for what engines can run", Low: 1, High: mostParts, Ref: func(p *Point) any { return &p.GPUsPerNode }},
	{Name: "redundant", Doc: "extra copies of routed experts", Low: 0, High: mostParts, Ref: func(p *Point) any { return &p.Redundant }},
	{Name: "drafts", Doc: "tokens drafted per decode step", Low: 0, High: len(workload.DraftAcceptance), Ref: func(p *Point) any { return &p.Drafts }},
	{Name: "overlap", Doc: "how the exchange between experts hides behind computation: off, two-batch or single-batch", Ref: func(p *Point) any { return &p.Overlap }},
	{Name: "popularity", Doc: "how often experts are visited: uniform, zipf:EXPONENT, lognormal:SPREAD or counts:FILE (default: as assumed)", Ref: func(p *Point) any { return &p.Popularity }},
	{Name: "weights", Doc: "number format of the weights: " + formats + " (default bf16)", Ref: func(p *Point) any { return &p.Formats.Weights }},
	{Name: "activations", Doc: "of activations and products (default: as the weights, if the system has the rate)", Ref: func(p *Point) any { return &p.Formats.Activations }},
	{Name: "cache", Doc: "of the KV cache (default: what the engine does; bf16, or fp8 beside quantised weights)", Ref: func(p *Point) any { return &p.Formats.Cache }},
	{Name: "comm", Doc: "of what processors send (default bf16)", Ref: func(p *Point) any { return &p.Formats.Comm }},
	{Name: "attention", Doc: "of the products of attention (default bf16)", Ref: func(p *Point) any { return &p.Formats.Attention }},
	{Name: "vector", Doc: "of the vector unit (default bf16)", Ref: func(p *Point) any { return &p.Formats.Vector }},
	{Name: "assume", Doc: "modelling assumptions: a preset and changes to it, like physical,causal=false", Ref: func(p *Point) any { return &p.Assume }},
}

var formats = strings.Join(scenario.FormatNames(), ", ")

// Fields are the settings of a point.
func Fields() []Field { return fields }

// Lookup finds a setting by its name.
func Lookup(name string) (*Field, bool) {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i], true
		}
	}
	return nil, false
}

func fieldNames() []string {
	var out []string
	for i := range fields {
		out = append(out, fields[i].Name)
	}
	return out
}

// Set reads a value from text.
func (f *Field) Set(p *Point, text string) error {
	switch ref := f.Ref(p).(type) {
	case *string:
		*ref = text
	case *bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%s must be true or false, not %q", f.Name, text)
		}
		*ref = v
	case *float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%s must be a number, not %q", f.Name, text)
		}
		*ref = v
		return f.Check(p)
	case *int:
		v, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s must be a whole number, not %q", f.Name, text)
		}
		*ref = v
		return f.Check(p)
	}
	return nil
}

// Check reports a number that is out of bounds.
func (f *Field) Check(p *Point) error {
	if share, ok := f.Ref(p).(*float64); ok && !(*share >= 0 && *share <= 1) {
		return fmt.Errorf("%s must lie between 0 and 1, not %g", f.Name, *share)
	}
	v, ok := f.Ref(p).(*int)
	switch {
	case !ok:
		return nil
	case *v < f.Low:
		return fmt.Errorf("%s must be at least %d, not %d", f.Name, f.Low, *v)
	case *v > f.High:
		return fmt.Errorf("%s must be at most %d, not %d", f.Name, f.High, *v)
	}
	return nil
}

// phases by their names.
var phases = []struct {
	name string
	list []op.Phase
}{
	{"prefill", []op.Phase{op.Prefill}},
	{"decode", []op.Phase{op.Decode}},
	{"both", []op.Phase{op.Prefill, op.Decode}},
}

// Clients reports whether the point asks what clients see, rather than for bare steps.
func (p *Point) Clients() bool { return p.Phase == "" && p.Context == 0 }

// Split reports whether the point has two pools.
func (p *Point) Split() bool {
	return p.PrefillPlan != "" || p.DecodePlan != "" || p.DecodeSystem != ""
}

// PhaseNames are the values of a point's phase.
func PhaseNames() []string {
	var out []string
	for _, p := range phases {
		out = append(out, p.name)
	}
	return out
}

// PhaseName is the name of a phase.
func PhaseName(p op.Phase) string {
	if p == op.Prefill {
		return "prefill"
	}
	return "decode"
}

// Phases are those that the point asks for.
func (p *Point) Phases() ([]op.Phase, error) {
	switch {
	case p.Clients():
		return []op.Phase{op.Prefill, op.Decode}, nil
	case p.Phase == "":
		return []op.Phase{op.Decode}, nil // a step at a context
	}
	for i := range phases {
		if phases[i].name == p.Phase {
			return phases[i].list, nil
		}
	}
	return nil, fmt.Errorf("phase: %s", document.NotOneOf(p.Phase, PhaseNames()))
}

// lengths of a request.
func (p *Point) lengths() workload.Lengths {
	if p.Context > 0 {
		// The new token of a decode step attends to what came before and to itself.
		return workload.Lengths{Input: p.Context - 1, Output: 1, Cached: p.Prefix}
	}
	n := workload.Lengths{Input: p.Input, Output: p.Output, Cached: p.Prefix}
	if n.Input == 0 {
		n.Input = defaultLength
	}
	if n.Output == 0 {
		n.Output = defaultLength
	}
	if p.PrefixHit > 0 {
		n.Cached = int(p.PrefixHit * float64(n.Input))
	}
	return n
}
