package estimate

import (
	"throughline/hardware"
	"throughline/plan"
)

// Handover is where the KV cache goes after a prefill.
type Handover struct {
	System *hardware.System // of the processors that decode
	Span   int              // processors of both pools together
}

// span is an even number of processors, half of which lie between the two ends of the transfer.
func (h *Handover) span() int { return h.Span + h.Span%2 }

// Transfer is the handover of the KV cache from prefill to decode.
type Transfer struct {
	Bytes   float64 // of one request
	Time    float64 // to send the cache of one prefill batch, of which a pipeline has several in flight
	Exposed float64 // of that, what remains after the last layer
}

// Hidden is the part of the transfer behind the computation of the layers.
func (t *Transfer) Hidden() float64 { return t.Time - t.Exposed }

// cachePerRequest is the cache of one prompt, which the ranks of a replica share.
func (e *Evaluator) cachePerRequest() float64 {
	return e.problem.Model.CacheBytes(1, float64(e.problem.Lengths.Input), e.problem.Precision.Cache)
}

func (e *Evaluator) cacheMessage(p *plan.Plan) float64 {
	return e.cachePerRequest() * float64(p.Batch.Count*p.Sequences(e.moe)) / float64(p.Attention.Replica())
}

// sending is the time to send the cache after a prefill. The processors of a replica share it; each
// link runs at the rate of the slower system, on the network level that spans both pools.
func (e *Evaluator) sending(p *plan.Plan) float64 {
	message := e.cacheMessage(p)
	var t float64
	for i := range e.handover {
		t = max(t, e.handover[i].Time(hardware.PointToPoint, hardware.Members{Group: 2, Span: e.problem.Handover.span()}, message).Seconds)
	}
	return t
}
