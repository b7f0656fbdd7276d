package estimate

import (
	"throughline/collective"
	"throughline/hardware"
	"throughline/plan"
)

// Transfer is the way of the KV cache from the processors of the prefill to those of the decode.
type Transfer struct {
	Bytes   float64 // of one request
	Time    float64 // to send the cache of one prefill batch, nothing hidden
	Exposed float64 // of that, what remains when the last layer has been computed
}

// Hidden is the part of the transfer that runs behind the computation of the layers.
func (t *Transfer) Hidden() float64 { return t.Time - t.Exposed }

// TransferOf is the transfer of the cache after a prefill. The processors of a replica share the sending of its cache;
// each link runs at the rate of the slower system, on the network level that spans both pools. The cache of a layer
// leaves while the next ones are computed: what is exposed is the last layer, or, where sending is slower than
// computing, all but what fits behind the other layers.
func TransferOf(p *Problem, prefill *Estimate, decode *hardware.System, procs int) Transfer {
	m := p.Model
	layers := float64(m.Layers)
	perRequest := float64(p.Lengths.Input) * float64(m.Attention.CacheElements(1)) * layers * p.Precision.Cache
	l := &prefill.Plan.Attention
	sequences := float64(prefill.Plan.Sequences(m.IsMoE()) * prefill.Plan.Batch.Count)
	message := perRequest * sequences / float64(l.Replica())

	seconds := 0.0
	for _, s := range []*hardware.System{p.System, decode} {
		net := collective.NewNet(s, p.Assume.BytesPerGB)
		seconds = max(seconds, net.Time(hardware.PointToPoint, 2, procs, message).Seconds)
	}
	t := Transfer{Bytes: perRequest, Time: seconds}
	stageLayers := float64(plan.LayersPerStage(m.Layers, l.PP))
	computing := prefill.Stage.Time() * float64(prefill.Plan.Batch.Count) * (stageLayers - 1) / stageLayers
	t.Exposed = max(seconds/stageLayers, seconds-computing)
	return t
}
