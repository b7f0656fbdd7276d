// Package question turns words, be they flags, table cells or rows of a plan, into a deployment and
// a load. One table of settings defines what can be asked, within which bounds, by which command.
package question

import (
	"cmp"
	"fmt"
	"math"

	"throughline/assume"
	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/op"
	"throughline/workload"
)

// Question is what is asked, in words. Numbers that are 0 follow from the others.
type Question struct {
	Model, System, DecodeSystem string
	Engine                      string // that serves it: a name, any or none
	GPUsPerNode                 int
	Formats                     Formats
	Assume                      string // preset of assumptions and changes to it

	Input, Output int     // tokens of a request
	Prefix        int     // cached tokens of the input
	PrefixHit     float64 // share of the input that is cached, in place of Prefix
	Distribution  string  // of the lengths, as workload.Lengths.Spread reads it
	Offload       estimate.Offload
	GPULayers     int     // layers on GPUs, with one for the output head, where an engine runs others on the host; 0: all
	TTFT, TPOT    float64 // limits in ms; 0: none
	Fitted        string  // file of what measured runs correct
	Changed       string  // numbers of files that differ, as list of PATH=VALUE
	Popularity    string  // of experts: served, or as experts.ParsePopularity reads it; empty: as is assumed, by all ranks alike

	Fixed
	Search
	Traffic  Traffic
	Exchange Exchange
	Reading
	Measuring
	Measurement
	Emulation Emulation

	In     *files.Door // to all files that it names; nil: none are opened
	Beside string      // a folder in which files are looked up after the working directory; empty: none
}

type Fixed struct {
	Phase       Phase
	Context     int // of a decode step, in place of the lengths of a request
	Batch       int // sequences of a data-parallel rank; under reference assumptions, in an expert model, of a processor; 0: what the concurrency takes
	Concurrency int // clients of the closed loop; 0: as many as fill the batches

	Over             int // processors of one instance, in place of the sizes below; 0: these say
	TP, PP, DP, CP   int
	EP, MoETP, MoEDP int
	SequenceParallel bool
	WideDense        bool // dense layers of an expert model over all processors of a stage
	WideHead         bool // likewise the output projection
	// Plans of two pools, in words; an empty one is what the numbers above say.
	PrefillPlan, DecodePlan string

	Redundant, Drafts int    // in a search: tried up to this number
	PowerLimit        string // watts of a processor, or a list of such limits; empty: as delivered
	Tariff            hardware.Tariff
	Overlap           string // of the exchange between experts, by name; empty: off; in a search also AnyOverlap
}

// Search is what a search of the best deployment needs.
type Search struct {
	GPUs        int
	PrefillGPUs int    // of the prefill pool; 0: searched
	Fleet       string // kinds of processors and how many there are of each, in place of a system and GPUs
	Mode        Mode
	Objective   Objective
	Rate        float64 // requests per second
	Top         int     // deployments to rank
	Pools       int     // pools of either phase to rank by themselves
	// Price is in dollars per hour, Power in watts, per processor or by kind; empty: unknown.
	Price, Power string
	Goals        Goals
	Chance       float64 // percent, that all limits hold by the bands of the predictions; 0: any
	PartNodes    bool    // a number of GPUs to find may leave parts of nodes to others
}

// Formats are number formats by name.
type Formats = deploy.Formats

// Phase is the bare steps that are asked for; none: what clients see.
type Phase string

const (
	Prefill    Phase = "prefill"
	Decode     Phase = "decode"
	BothPhases Phase = "both"
)

// Mode is how the phases share processors.
type Mode string

const (
	Aggregated    Mode = "agg"
	Disaggregated Mode = "disagg"
	BothModes     Mode = "both"
)

// Objective is what the best deployment is best at.
type Objective string

const (
	Throughput Objective = "throughput" // output tokens per second and processor
	Cost       Objective = "cost"       // the same in money: fewest dollars per token
	Energy     Objective = "energy"     // the same in energy: most tokens per joule
	Latency    Objective = "latency"    // shortest request
	MinGPUs    Objective = "min-gpus"   // fewest processors that serve a request rate
)

// defaultLength of inputs and outputs, in tokens.
const defaultLength = 1024

// Default is what is asked where nothing else is said.
func Default() Question {
	return Question{
		Engine: engine.Any, GPUsPerNode: hardware.NodeSize, Assume: "physical",
		Fixed:  Fixed{TP: 1, PP: 1, DP: 1, CP: 1},
		Search: Search{Mode: BothModes, Objective: Throughput, Top: 5},
		Traffic: Traffic{
			Requests: 1000, Rate: math.Inf(1), Arrival: "poisson", Ratio: 1, Turns: 1, Replicas: 1, Routing: string(deploy.RoundRobin),
			BlockTokens: 16, StepsAhead: -1, TimelineEvery: 1,
		},
		Exchange:  Exchange{Libraries: "nccl,uccl,deepep", Ranks: "8,16,32,64", Tokens: "128,4096"},
		Measuring: measured,
		Emulation: Emulation{Host: "127.0.0.1", Port: 8000, Speed: 1, Connections: 16384},
	}
}

const (
	// barePass suits scripts that measure neither rotary positions nor cache writes, such as
	// measure/forward.py by default.
	barePass = "physical,small-kernels=false"
	// exchanged is the model whose tokens the libraries of exchanges were measured with.
	exchanged = "DeepSeek-V3"
)

// plannedRedundant is the most redundant experts a search tries: as many as DeepSeek and SGLang use
// for the 256 experts of DeepSeek-V3 (arXiv:2412.19437, section 3.4;
// lmsys.org/blog/2025-05-05-large-scale-ep).
const plannedRedundant = 32

// defaults are what commands ask that differ from the others.
var defaults = map[Command]func(*Question){
	Plan:     func(q *Question) { q.Overlap, q.Redundant = AnyOverlap, plannedRedundant },
	Forward:  func(q *Question) { q.Assume = barePass },
	Power:    func(q *Question) { q.Assume = barePass },
	Run:      func(q *Question) { q.Assume = assume.Reference.Name },
	Comm:     func(q *Question) { q.Model = exchanged },
	Requests: func(q *Question) { q.StepSource = StepSources[0] },

	CalibratePower:   func(q *Question) { q.Assume = barePass },
	SweepRun:         func(q *Question) { q.PartSeconds = 3 },
	SweepVerify:      func(q *Question) { q.Again = 100 },
	SweepJob:         func(q *Question) { q.Several.Workers, q.Image = 100, "throughline" },
	CalibrateServing: func(q *Question) { q.Parts = "decode,prefill,first-token" },
	Bench:            func(q *Question) { q.Traffic.Seed = 1 }, // as in sglang.bench_serving of 2025
}

// DefaultOf is what a command asks where nothing else is said.
func DefaultOf(of Command) Question {
	q := Default()
	if differ := defaults[of]; differ != nil {
		differ(&q)
	}
	return q
}

// Clients reports whether the question is what clients see, rather than bare steps.
func (q *Question) Clients() bool { return q.Phase == "" && q.Context == 0 }

// Split reports whether the deployment has two pools.
func (q *Question) Split() bool {
	return q.PrefillPlan != "" || q.DecodePlan != "" || q.DecodeSystem != ""
}

func (q *Question) Phases() []op.Phase {
	switch {
	case q.Phase == Prefill:
		return []op.Phase{op.Prefill}
	case q.Phase == Decode, q.Phase == "" && q.Context > 0: // a step at a context
		return []op.Phase{op.Decode}
	}
	return []op.Phase{op.Prefill, op.Decode}
}

// Lengths of a request, before they are spread.
func (q *Question) Lengths() workload.Lengths {
	if q.Context > 0 {
		// The new token of a decode step attends to what came before and to itself.
		return workload.Lengths{Input: q.Context - 1, Output: 1, Cached: q.Prefix}
	}
	n := workload.Lengths{Input: cmp.Or(q.PromptTokens, q.Input, defaultLength), Output: cmp.Or(q.Output, defaultLength), Cached: q.Prefix}
	if q.PrefixHit > 0 {
		n.Cached = int(q.PrefixHit * float64(n.Input))
	}
	return n
}

// Spreading is the distribution of the lengths, in words: by whatever setting it is given.
func (q *Question) Spreading() string {
	switch t := &q.Traffic; {
	case t.Trace != "":
		return "trace:" + t.Trace
	case t.Ratio != 1:
		return fmt.Sprintf("uniform:%g", t.Ratio)
	}
	return q.Distribution
}

// Spread is the lengths of requests as drawn, including prefixes shared with other requests or with
// earlier turns of the conversation.
func (q *Question) Spread() (workload.Lengths, error) {
	n, err := q.Lengths().Spread(q.In, q.Spreading())
	if err != nil {
		name := "lengths"
		if q.Traffic.Trace != "" {
			name = "trace"
		}
		return n, wrong(name, err.Error())
	}
	t := &q.Traffic
	if t.Groups > 0 {
		n = n.Behind(t.SharedTokens, t.PrefixCache)
	}
	return n.Turns(t.Turns, t.PrefixCache), nil
}

func (q *Question) Limits() (out workload.Limits) {
	ttft, tpot := q.Goals.limits()
	for _, l := range []struct {
		to   **float64
		from [2]float64
	}{{&out.TTFT, [2]float64{q.TTFT, ttft.Seconds}}, {&out.TPOT, [2]float64{q.TPOT, tpot.Seconds}}} {
		if ms := cmp.Or(l.from[0], 1e3*l.from[1]); ms > 0 {
			*l.to = &ms
		}
	}
	return out
}

func wrong(setting, message string) error {
	return &document.Error{Problems: []document.Problem{{Path: setting, Message: message}}}
}
