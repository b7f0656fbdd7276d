package point

import (
	"throughline/internal/result"
	"throughline/op"
)

// Record is all that is said about a point: what clients see, and the bare steps behind it. It is built once.
func (a *Answer) Record() *result.Record {
	if a.record == nil {
		a.record = a.newRecord()
	}
	return a.record
}

func (a *Answer) newRecord() *result.Record {
	d, first := &a.Deployment, &a.Phases[0]
	r := &result.Record{
		Model: d.Model, Settings: d.Settings, Lengths: a.Load.Lengths, Precision: d.Precision, Assume: first.Problem.Assume,
		Procs: d.Procs(), Cards: result.CardsOf(d), Shared: !d.Split(), Engine: d.Engine.Name, Clients: a.Load.Clients, Remark: a.Remark,
	}
	for i := range a.Phases {
		p := &a.Phases[i]
		s := result.NewSide(p.Phase, p.Problem.System, p.Contents, d.Model.IsMoE())
		s.Instances, s.Usable, s.Ongoing = d.Of(p.Phase).Count, p.Usable, p.Ongoing
		r.Sides[p.Phase] = s
	}
	if seen := a.Seen; seen != nil {
		r.Whole, r.Served, r.Held, r.Trusted = true, true, a.Held, &a.Trusted
		r.TTFT, r.TPOT, r.Latency, r.Requests = seen.TTFT, seen.TPOT, seen.Latency, seen.Requests
		if s := r.Sides[op.Prefill]; s != nil {
			s.Latency = seen.TTFT
		}
		if s := r.Sides[op.Decode]; s != nil {
			s.Latency = seen.TPOT
		}
	}
	return r
}
