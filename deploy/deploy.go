// Package deploy describes a deployment as one value: model, number formats, assumptions, engine
// and pools of processors. The load that it serves is workload.Load.
package deploy

import (
	"cmp"
	"slices"

	"throughline/assume"
	"throughline/cost"
	"throughline/estimate"
	"throughline/experts"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Role is the phases that a pool runs.
type Role uint8

const (
	Both Role = iota // prefill and decode
	Prefill
	Decode
)

func (r Role) String() string { return [...]string{"aggregated", "prefill", "decode"}[r] }

// Does reports whether a pool of the role runs a phase.
func (r Role) Does(phase op.Phase) bool {
	return r == Both || r == Prefill && phase == op.Prefill || r == Decode && phase == op.Decode
}

// Pool is equal instances of a plan on one kind of processor. The plan's batch is the most
// sequences that a data-parallel rank runs at a time.
type Pool struct {
	Role   Role
	System *hardware.System
	Plan   plan.Plan
	Count  int // instances
}

func (p *Pool) Procs() int { return p.Count * p.Plan.Attention.Procs() }

// Ranks is the data-parallel ranks of all instances, times the batches in flight of a pipeline.
func (p *Pool) Ranks() int { return p.Count * p.Plan.Attention.DP * p.Plan.InFlight() }

// Under is the plan of the pool under a number of clients, which share the batches in flight
// evenly: with fewer clients than stages, each has its own batch and the other stages are empty.
func (p *Pool) Under(clients int) plan.Plan {
	q := p.Plan
	pipelines := p.Count * q.Attention.DP
	if under := (clients + pipelines - 1) / pipelines; q.Pipelined && under < q.Attention.PP {
		q.Under = max(1, under)
	}
	return q
}

// Bare is the plan of a step of a phase by itself under a load: one of prompts holds no more of
// them than the engine takes at a time.
func (d *Deployment) Bare(phase op.Phase, l workload.Load) plan.Plan {
	q := d.Of(phase).Under(l.Clients)
	if phase == op.Decode {
		return q
	}
	q.Batch = plan.Batch{Count: 1, Size: min(q.Batch.Size, d.Engine.PerStep(l.Lengths.Uncached()))}
	return q.Prefilling()
}

// Sharing is the ranks in lockstep: those of an expert model, which exchange tokens, not replicas.
func (p *Pool) Sharing(m *model.Model) int {
	dp, copies := p.Plan.Attention.DP, max(1, p.Plan.Experts.DP)
	if !m.IsMoE() || dp%copies != 0 {
		return 1
	}
	return max(1, dp/copies)
}

// Deployment is a model on processors, behind an engine.
type Deployment struct {
	Name      string // of the checkpoint, as on the engine's command line; empty: unknown
	Model     *model.Model
	Settings  *model.Settings
	Precision plan.Precision // a cache of 0 bytes: the engine's default
	Stored    Stored         // describes the weights
	Assume    *assume.Assumptions
	Offload   estimate.Offload
	Visited   *experts.Popularity // of experts; nil: unknown, all ranks alike
	// Acceptance is the share of accepted draft tokens, by position in the draft.
	Acceptance []float64
	// ServerOptions is how servers are launched; Engine the facts of the engine with these applied.
	ServerOptions ServerOptions
	// Unstated: launch settings are unknown, and assumed to be the defaults. Versioned: the version
	// of the engine is known.
	Unstated, Versioned bool
	Engine              Engine
	Fitted              Fit // corrections by measurements
	// Pools: one for both phases, or one for prefill and one for decode.
	Pools []Pool
	// OpenBatch: the batch that decodes is left open. That of the plan is what clients fill on
	// average; servers are not told it, and some of their ranks run more while others run fewer.
	OpenBatch bool

	GPUsPerNode int // 0 for [hardware.NodeSize]
	MaxContext  int // most tokens of prompt and output together; 0: the engine's default
	MaxPrompt   int // tokens of the longest prompt; 0: unknown
	// Context is the longest request that servers are launched to take; 0: MaxContext. Longest: it
	// is the model's, and there is room for it.
	Context int
	Longest bool
}

// PerNode is the processors of a node.
func (d *Deployment) PerNode() int { return cmp.Or(d.GPUsPerNode, hardware.NodeSize) }

// Split reports whether prefill and decode have processors of their own.
func (d *Deployment) Split() bool { return len(d.Pools) > 1 }

// Together is the ranks of a pool in lockstep: those of an expert model and, where only some steps
// hold prompts, the batches in flight of a pipeline, since a longer one holds up all others behind
// it. Chunks of a prompt that fill the stages are priced separately.
func (d *Deployment) Together(p *Pool, n workload.Lengths) int {
	out := p.Sharing(d.Model)
	if s := &d.Engine.Scheduling; p.Role == Both && !(s.PipelinesChunks && s.Cuts(n.Uncached()) > 1) {
		out *= p.Plan.InFlight()
	}
	return out
}

func (d *Deployment) Of(phase op.Phase) *Pool {
	for i := range d.Pools {
		if d.Pools[i].Role.Does(phase) {
			return &d.Pools[i]
		}
	}
	return nil
}

func (d *Deployment) Procs() int {
	n := 0
	for i := range d.Pools {
		n += d.Pools[i].Procs()
	}
	return n
}

// Span is the processors across which the pools send caches.
func (d *Deployment) Span() int {
	return hardware.Between(d.Of(op.Prefill).System, d.Of(op.Decode).System, d.Procs())
}

// Clients of a closed loop that fill the batches of the decode pool.
func (d *Deployment) Clients() int {
	p := d.Of(op.Decode)
	return max(1, p.Plan.Batch.Count) * p.Plan.Sequences(d.Model.IsMoE()) * p.Ranks()
}

// StandIns says where attention is priced by other kernels than the requested ones.
func (d *Deployment) StandIns() (out []string) {
	for i := range d.Pools {
		for _, why := range cost.StandIns(d.Pools[i].System, &d.Precision, d.Model.Attention.Kind == model.Latent) {
			if !slices.Contains(out, why) {
				out = append(out, why)
			}
		}
	}
	return out
}

func (d *Deployment) Problem(phase op.Phase, sys *hardware.System, n workload.Lengths) estimate.Problem {
	p := estimate.Problem{
		Model: d.Model, Settings: d.Settings, System: sys, Lengths: n, Precision: d.Precision, Assume: d.Assume,
		Phase: phase, Offload: d.Offload, Visited: d.Visited, Acceptance: d.Acceptance,
	}
	if d.Split() && phase == op.Prefill {
		p.Handover = &estimate.Handover{System: d.Of(op.Decode).System, Span: d.Span()}
	}
	return p
}
