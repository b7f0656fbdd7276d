package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestFilledTiles: 16 experts on each of two ranks and tiles of 8 rows. 3 sequences on each of two
// replicas choose 2·6 = 12 experts, which with 16·7 rows of room are 124, in whole tiles 128:
// 2·128·8·2·4 flops up, and 128·4 elements of activation. Weights are those that tokens visit.
func TestFilledTiles(t *testing.T) {
	m := expertModel(model.Gated)
	m.Experts = model.Experts{Routed: 32, TopK: 2, Width: 4, CapacityFactor: 1, Interval: 1}
	p := plan.Plan{Layout: plan.Layout{
		Attention: plan.Split{DP: 2, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, Pipelined: true,
	}, Batch: three}
	p.Gathered = true
	without := physically(assume.Physical, m, fused, p, decode)
	p.ExpertTile = 8
	with := physically(assume.Physical, m, fused, p, decode)
	bytes(t, "flops", find(t, with, op.ExpertGateUp).Flops, 2*128*8*2*4)
	bytes(t, "activation", find(t, with, op.ExpertActivation).Flops, 3*128*4)
	bytes(t, "weights", find(t, with, op.ExpertGateUp).Weights, find(t, without, op.ExpertGateUp).Weights)
	bytes(t, "weighting", find(t, with, op.ExpertWeighting).Flops, find(t, without, op.ExpertWeighting).Flops)
}
