package serving_test

import (
	"testing"

	"throughline/deploy"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// TestFullest: among all batches within the limit none decodes more, but for what lies between two
// batches of the curve where steps get longer faster than they get fuller.
func TestFullest(t *testing.T) {
	n := workload.Lengths{Input: 2000, Output: 100}
	for _, overlap := range []plan.Overlap{plan.NoOverlap, plan.TwoBatch} {
		d := deployment(t, "DeepSeek-V3", "sglang", plan.Plan{
			Layout: plan.Layout{
				Attention: plan.Split{DP: 32, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 32, TP: 1, DP: 1},
				Pipelined: true, SharedPerCard: true,
			},
			Overlap: overlap,
		})
		d.Pools[0].Role = deploy.Decode
		other := d.Pools[0]
		other.Role = deploy.Prefill
		d.Pools = append(d.Pools, other)
		p, err := serving.NewPredictor(&d)
		if err != nil {
			t.Fatal(err)
		}
		curve := p.Steps(&d, &d.Pools[0], n, 1)
		for _, limit := range []float64{0.02, 0.05, 0.1, 10} {
			batch, token := p.Fullest(&d, &d.Pools[0], n, &curve, limit, 1)
			if token > limit {
				t.Errorf("%v: a token takes %v s, limit %v", overlap, token, limit)
			}
			for b := overlap.Least(); b <= curve.Largest; b++ {
				time := p.Token(&d, &d.Pools[0], n, b, 1)
				if time <= limit && float64(b)/time > 1.01*float64(batch)/token {
					t.Errorf("%v, limit %v: %d sequences of %v s, but %d of %v s do more", overlap, limit, batch, token, b, time)
				}
			}
		}
	}
}
