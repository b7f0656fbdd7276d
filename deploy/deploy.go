// Package deploy describes a deployment as one value: a model, how its numbers are stored, what is assumed, the engine that
// serves it, and the pools of processors it runs on. What is recommended, estimated, explained, validated and launched is
// such a value; the load that it serves (workload.Load) is another.
package deploy

import (
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

// Role is the part of the inference that a pool does.
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

// Pool is equal instances of a plan on one kind of processor. The batch of the plan is the sequences that a data-parallel
// rank may run at a time.
type Pool struct {
	Role   Role
	System *hardware.System
	Plan   plan.Plan
	Count  int // instances
}

// Procs is the processors of all instances.
func (p *Pool) Procs() int { return p.Count * p.Plan.Attention.Procs() }

// Ranks is the data-parallel ranks of all instances, which share the requests evenly; of a pipeline, as many as batches
// are in flight.
func (p *Pool) Ranks() int { return p.Count * p.Plan.Attention.DP * p.Plan.InFlight() }

// Under is the plan of the pool under so many clients. These share the batches in flight of its pipelines evenly: of fewer than there are
// stages each has a batch of its own, and the other stages have none.
func (p *Pool) Under(clients int) plan.Plan {
	q := p.Plan
	pipelines := p.Count * q.Attention.DP
	if under := (clients + pipelines - 1) / pipelines; q.Pipelined && under < q.Attention.PP {
		q.Under = max(1, under)
	}
	return q
}

// Sharing is the data-parallel ranks that wait for each other in every step: those of an expert model, between which tokens
// are exchanged. The ranks of others are replicas.
func (p *Pool) Sharing(m *model.Model) int {
	dp, copies := p.Plan.Attention.DP, max(1, p.Plan.Experts.DP)
	if !m.IsMoE() || dp%copies != 0 {
		return 1
	}
	return max(1, dp/copies)
}

// Deployment is a model on processors, behind an engine.
type Deployment struct {
	Name      string // of the checkpoint, as the engine's command line names it; empty: not known
	Model     *model.Model
	Settings  *model.Settings
	Precision plan.Precision // a cache of 0 bytes: what the engine makes it
	Stored    Stored         // the weights in words
	Assume    *assume.Assumptions
	Offload   estimate.Offload
	Visited   *experts.Popularity // how often experts are; nil: not said, all ranks alike
	// Acceptance is the share of drafted tokens that are accepted, by position in the draft.
	Acceptance []float64
	// Told is what servers are told; Engine the facts of the engine, as it has applied them.
	Told Told
	// Untold: what the server was told, and which version of it ran, is not known; it is taken to be as the engine has it.
	Untold bool
	Engine Engine
	Fitted Fit // what measurements of it correct
	// Pools is one pool that does both phases, or one for the prefill and one for the decode.
	Pools []Pool

	GPUsPerNode int // 0 for [hardware.NodeSize]
	MaxContext  int // tokens of prompt and output together, of the longest request; 0: the engine's default
	MaxPrompt   int // tokens of the longest prompt alone; 0: not known
}

// Split reports whether prefill and decode have processors of their own.
func (d *Deployment) Split() bool { return len(d.Pools) > 1 }

// Together is the ranks of a pool that wait for each other in every step: those of an expert model and, where some steps hold
// prompts and others do not, the batches in flight of a pipeline. One that takes longer in each of its stages holds up those
// behind it, which are all others on its way round. Chunks of a prompt that fill the stages are priced by themselves.
func (d *Deployment) Together(p *Pool, n workload.Lengths) int {
	out := p.Sharing(d.Model)
	if s := &d.Engine.Scheduling; p.Role == Both && !(s.PipelinesChunks && s.Cuts(n.Uncached()) > 1) {
		out *= p.Plan.InFlight()
	}
	return out
}

// Of is the pool that runs a phase.
func (d *Deployment) Of(phase op.Phase) *Pool {
	for i := range d.Pools {
		if d.Pools[i].Role.Does(phase) {
			return &d.Pools[i]
		}
	}
	return nil
}

// Procs is the processors of all pools.
func (d *Deployment) Procs() int {
	n := 0
	for i := range d.Pools {
		n += d.Pools[i].Procs()
	}
	return n
}

// Span is the processors across which the pools of a deployment send caches.
func (d *Deployment) Span() int {
	return hardware.Between(d.Of(op.Prefill).System, d.Of(op.Decode).System, d.Procs())
}

// Clients is the clients of a closed loop that fill the batches of the pool that decodes.
func (d *Deployment) Clients() int {
	p := d.Of(op.Decode)
	return max(1, p.Plan.Batch.Count) * p.Plan.Sequences(d.Model.IsMoE()) * p.Ranks()
}

// StandIns says where attention is priced by other kernels than the deployment is told to take.
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

// Problem is the estimate of a phase on a system, for requests of the given lengths.
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
