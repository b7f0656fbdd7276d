// Package result is the record of a deployment as fields with a name, a unit, a category, a doc and
// a value. Everything is computed before a writer sees it; tables, CSV, JSON and documentation
// iterate over the fields.
package result

import (
	"fmt"

	"throughline/assume"
	"throughline/cost"
	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/rawdata"
	"throughline/model"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/search"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Record is one deployment and what it does. Times are in seconds, sizes in bytes.
type Record struct {
	Number int    // of the run in its job
	Mode   string // how the phases share processors
	Hash   string // identifies all inputs of the results

	Varied []Varied // numbers of files that runs differ in

	Model     *model.Model
	Settings  *model.Settings
	Lengths   workload.Lengths
	Limits    workload.Limits
	Goals     Goals // limits with their statistic, where the answer tells whether they hold
	Precision plan.Precision
	Assume    *assume.Assumptions

	Procs int // of the deployment, including spare ones
	Spare int // used by no instance
	Cards int // that hold the processors

	// Shared: both phases run on the same processors.
	Shared bool
	// Whole: both phases have a plan and processors; the following fields are set only then.
	Complete bool
	serving.Prediction

	// Served: an engine is assumed, and results are what its clients see.
	Served  bool
	Engine  string
	Clients int
	Held    float64             // bytes of the fullest processor
	Trusted *serving.Confidence // in what clients see; nil: not asked for, or none can be served

	Capacity *simulate.Capacity // at a requested rate; nil: not simulated

	DollarsPerMillion float64  // output tokens; 0: unknown price
	Listed            []string // prices of systems that it rests on, with date and source; none: as given
	TokensPerJoule    float64  // output tokens; 0: unknown power

	Energy *Energy // while clients are served; nil: not asked for, or not known

	Sides [op.PhaseCount]*Side // nil: not asked for

	Raw rawdata.Row // in the form of a benchmark; nil: no engine is assumed, or not asked for

	Reasons  []string                    // why there is no plan
	Refusals map[string][]search.Refusal // what ruled plans out, by phase; on request only
	Remark   string                      // of the engine, or of what does not fit
}

// Side is one phase of a deployment: a bare step of one of its instances.
type Side struct {
	Phase     op.Phase
	System    *hardware.System
	Instances int
	Procs     int // of one instance; 0: unknown
	Cards     int // of one instance

	SharedPerCard bool     // every processor holds the shared experts itself
	Limit         *float64 // of the phase, in ms

	// Found: there is a plan; the following fields are set only then.
	Found         bool
	Step          *estimate.Contents // with its operators on request
	Latency       float64            // TTFT or TPOT, as clients see it or, without an engine, as a step takes
	TokensPerStep float64
	Sequences     int     // in flight on all processors of an instance
	Held          float64 // bytes of a processor
	Usable        float64 // bytes of the memory of a processor
	Bound         Bound
	// Ongoing: a decode step at some context, not a share of a request.
	Ongoing bool
	// OpSums are sums over the operators of the step; nil: not requested.
	OpSums *estimate.Summary
}

// phases in the order of a request.
var phases = [op.PhaseCount]op.Phase{op.Prefill, op.Decode}

// Bound is what takes the largest share of a step.
type Bound struct {
	By    string
	Share float64
}

func (b Bound) String() string { return fmt.Sprintf("%s %.0f%%", b.By, 100*b.Share) }

// Over returns the bytes that do not fit, or 0.
func (s *Side) Over() float64 { return max(0, s.Held-s.Usable) }

// TooMuch describes by how much a step does not fit; empty if it does.
func (s *Side) TooMuch() string {
	over := s.Over()
	if over == 0 {
		return ""
	}
	return fmt.Sprintf("%s does not fit: it needs %s GiB of the %s GiB that are usable, %s GiB too much",
		s.Phase.Name(), number.Plain(gib(s.Held), 4), number.Plain(gib(s.Usable), 4), number.Plain(gib(over), 4))
}

func (s *Side) Share(seconds float64) float64 { return seconds / s.Step.StepTime }

// Cards returns the cards that hold a number of processors.
func Cards(procs int, s *hardware.System) int { return (procs + s.ProcsPerNPU - 1) / s.ProcsPerNPU }

func CardsOf(d *deploy.Deployment) int {
	n := 0
	for i := range d.Pools {
		n += Cards(d.Pools[i].Procs(), d.Pools[i].System)
	}
	return n
}

// NewSide describes a phase whose step is known in detail.
func NewSide(phase op.Phase, sys *hardware.System, step *estimate.Contents, moe bool) *Side {
	p := &step.Plan
	by, seconds := step.Shares.Bound()
	s := &Side{
		Phase: phase, System: sys, Instances: 1, Procs: p.Attention.Procs(), Found: true, Step: step, Latency: step.Latency,
		Sequences: p.Underway() * p.Attention.DP * p.Sequences(moe), Held: step.Memory.Total(),
	}
	s.Bound = Bound{by, s.Share(seconds)}
	s.Cards = Cards(s.Procs, sys)
	return s
}

// Outcome fills in the result of a search. Pools are the processors of sides where nothing is
// found; operators adds their sums.
func (r *Record) Outcome(o *search.Outcome, problems [op.PhaseCount]*search.Problem, pools [op.PhaseCount]int, operators bool) error {
	r.Shared, r.Complete, r.Requests = o.Shared, o.Found(), o.Requests
	r.Spare = o.Spare(r.Procs)
	limits := [op.PhaseCount]*float64{op.Prefill: r.Limits.TTFT, op.Decode: r.Limits.TPOT}
	results := [op.PhaseCount]*search.Result{op.Prefill: &o.Prefill, op.Decode: &o.Decode}
	for phase, found := range results {
		p := problems[phase]
		side := &Side{Phase: op.Phase(phase), System: p.System, Procs: pools[phase]}
		if found.Found {
			e, err := estimate.NewEvaluator(&p.Problem)
			if err != nil {
				return err
			}
			step := e.Totals(&found.Best.Plan)
			if operators {
				step = e.Contents(&found.Best.Plan)
			}
			step.Estimate = found.Best
			if side = NewSide(op.Phase(phase), p.System, step, r.Model.IsMoE()); operators {
				side.OpSums = estimate.Sum(step.Operators)
			}
			side.Instances, side.Procs = found.Instances, found.Procs
			side.TokensPerStep = estimate.TokensPerStep(p.Acceptance, found.Best.Plan.Drafts)
			side.Usable = p.Assume.Usable(p.System.Memory.GiB)
		}
		side.Cards = Cards(side.Procs, p.System)
		side.SharedPerCard, side.Limit = p.SharedPerCard, limits[phase]
		r.Sides[phase] = side
	}
	r.Cards = Cards(r.Procs, problems[op.Decode].System)
	if prefill, decode := r.Sides[op.Prefill], r.Sides[op.Decode]; r.Complete {
		r.SeenAs(prefill.Latency, decode.Latency)
	}
	return nil
}

func (r *Record) Describe(d *deploy.Deployment, l workload.Load) {
	r.Model, r.Settings, r.Precision, r.Assume = d.Model, d.Settings, d.Precision, d.Assume
	r.Procs, r.Cards, r.Shared, r.Engine = d.Procs(), CardsOf(d), !d.Split(), d.Engine.Name
	r.Lengths, r.Clients = l.Lengths, l.Clients
}

// See fills in what clients of an engine see.
func (r *Record) See(p serving.Prediction) {
	r.Complete, r.Served, r.Prediction = true, true, p
	for phase, seen := range [op.PhaseCount]float64{op.Prefill: p.TTFT, op.Decode: p.TPOT} {
		if s := r.Sides[phase]; s != nil {
			s.Latency = seen
		}
	}
}

func (r *Record) SeenAs(ttft, tpot float64) {
	r.TTFT, r.TPOT = ttft, tpot
	r.Latency = ttft + float64(r.Lengths.Output-1)*tpot
	r.Sides[op.Prefill].Latency, r.Sides[op.Decode].Latency = ttft, tpot
}

func (r *Record) Decoding() *Side { return r.Sides[op.Decode] }

// Packaged reports whether a package of the system that decodes has several GPUs, so that figures
// per package are others than those per GPU.
func (r *Record) Packaged() bool {
	s := r.Decoding()
	return s != nil && s.System != nil && s.System.ProcsPerNPU > 1
}

// Tokens returns the output tokens per second.
func (r *Record) Tokens() float64 { return r.Requests * float64(r.Lengths.Output) }

// Bottleneck returns the phase that limits the request rate.
func (r *Record) Bottleneck() string {
	if r.Sides[op.Prefill].Rate() < r.Sides[op.Decode].Rate() {
		return "prefill"
	}
	return "decoder"
}

// Balance returns the slower rate of the phases over the faster.
func (r *Record) Balance() float64 {
	p, d := r.Sides[op.Prefill].Rate(), r.Sides[op.Decode].Rate()
	return min(p, d) / max(p, d)
}

// Rate returns the request rate of all instances.
func (s *Side) Rate() float64 { return float64(s.Instances) * s.Step.Requests }

// Confidence returns the weakest level and the bands of TTFT and TPOT or, where no clients are
// served, of the steps.
func (r *Record) Confidence() (level cost.Level, bands []string) {
	var all []*estimate.Confidence
	if c := r.Trusted; c != nil {
		all = append(all, &c.TTFT, &c.TPOT)
	} else {
		for _, phase := range phases {
			if s := r.Sides[phase]; s != nil && s.Found {
				all = append(all, &s.Step.Confidence)
			}
		}
	}
	level = cost.LevelCount
	for _, c := range all {
		level, bands = min(level, c.Level), append(bands, c.Span())
	}
	return level, bands
}
