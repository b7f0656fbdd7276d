package scenario

import (
	"fmt"

	"throughline/assume"
	"throughline/collective"
	"throughline/cost"
	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/question"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// Row is the times of one scenario, in seconds.
type Row struct {
	Pair     *Pair
	Prefill  float64
	Transfer float64 // of the cache, from prefill to decode processors
	Decode   float64
	Waiting  float64 // of prefill and decode, for the host to launch kernels
	question *Question
}

func (r *Row) Total() float64 { return r.Prefill + r.Transfer + r.Decode }

// PromptRate, OutputRate and Rate are tokens per second: of prefill, of decode, and of both in all.
func (r *Row) PromptRate() float64 { return float64(r.question.Requests*r.question.Input) / r.Prefill }
func (r *Row) OutputRate() float64 { return float64(r.question.Requests*r.question.Output) / r.Decode }
func (r *Row) Rate() float64 {
	return float64(r.question.Requests*(r.question.Input+r.question.Output)) / r.Total()
}

func Rows(q *Question) ([]Row, error) {
	var out []Row
	for i := range q.Pairs {
		p := &q.Pairs[i]
		r := Row{Pair: p, question: q}
		for _, f := range []func(*Pair, *Row) error{q.prefill, q.decode} {
			if err := f(p, &r); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		if p.Split() {
			r.Transfer = q.transfer(p)
		}
		out = append(out, r)
	}
	return out, nil
}

// deployment is a side on its own, tensor-parallel, or all reasons why there is none.
func (q *Question) deployment(p *Pair, s Side) (deploy.Deployment, []error) {
	ask := question.Default()
	ask.TP, ask.Batch = s.TP, q.Requests
	l := question.Loaded{Question: ask, Shape: q.Model, Settings: q.Settings, Prefill: s.System, Decode: s.System, Precision: p.Precision, Assumptions: &assume.Physical}
	return l.Deploy(&ask)
}

// evaluator prepares a phase, with experts sliced over all processors of a side.
func (q *Question) evaluator(p *Pair, s Side, phase op.Phase) (*estimate.Evaluator, *plan.Plan, error) {
	d, _ := q.deployment(p, s) // checked with the file
	of := &d.Pools[0].Plan
	of.Behaviour = engine.Generic.Behaviour(&d, &d.Pools[0])
	problem := d.Problem(phase, s.System, workload.Lengths{Input: q.Input, Output: q.Output})
	problem.Eager = q.eager
	e, err := estimate.NewEvaluator(&problem)
	if err != nil {
		return nil, nil, err
	}
	m := e.MemoryOf(of)
	if usable := assume.Physical.Usable(s.System.Memory.GiB); m.Total() > usable {
		return nil, nil, fmt.Errorf("%d requests of %d tokens take %.1f GiB of each %s, which has %.1f to use; try fewer requests, or a larger prefill_tp or decode_tp",
			q.Requests, q.Input+q.Output, m.Total()/estimate.GiB, s.System.Name, usable/estimate.GiB)
	}
	return e, of, nil
}

// prefill computes all prompts in one step.
func (q *Question) prefill(p *Pair, r *Row) error {
	e, of, err := q.evaluator(p, p.Prefill, op.Prefill)
	if err != nil {
		return err
	}
	var out estimate.Estimate
	e.Evaluate(of, &out)
	r.Prefill = out.StepTime
	r.Waiting += out.LaunchTime
	return nil
}

// decode adds up a step per output token, each with its context.
func (q *Question) decode(p *Pair, r *Row) error {
	e, of, err := q.evaluator(p, p.Decode, op.Decode)
	if err != nil {
		return err
	}
	for i := range q.Output {
		var s op.Step
		e.Add(&s, op.Group{Phase: op.Decode, Sequences: float64(q.Requests), New: 1, Context: float64(q.Input + i + 1)})
		t := e.Step(of, &s)
		r.Decode += t.Step
		r.Waiting += t.Launch
	}
	return nil
}

// transfer is the time to move the cache of the prompts: between a GPU and its host tensor by
// tensor, else through the network, which the processors of the smaller side share.
func (q *Question) transfer(p *Pair) float64 {
	from, to := p.Prefill.System, p.Decode.System
	bytes := float64(q.Requests) * q.Model.CacheBytes(1, float64(q.Input), p.Precision.Cache)
	if from.IsHost() == to.IsHost() {
		ends := min(p.Prefill.TP, p.Decode.TP)
		span := hardware.Between(from, to, p.Prefill.TP+p.Decode.TP)
		var t float64
		for _, s := range []*hardware.System{from, to} {
			net := collective.NewNet(s, assume.Physical.BytesPerGB)
			t = max(t, net.Time(hardware.PointToPoint, hardware.Members{Group: 2, Span: span + span%2}, bytes/float64(ends)).Seconds)
		}
		return t
	}
	device, back := from, from.IsHost()
	if back {
		device = to
	}
	tensors := float64(2 * q.Model.Layers)
	each, _ := cost.ToHost(device, back, q.eager == nil, bytes/tensors) // the link was checked with the file
	t := tensors * each
	if q.eager != nil && to.Memory.New != nil {
		// One thread copies what arrives into new memory.
		t += bytes / (to.Memory.New.ThreadGBps * assume.Physical.BytesPerGB)
	}
	return t
}
