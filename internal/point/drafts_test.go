package point_test

import (
	"math"
	"testing"

	"throughline/estimate"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/op"
)

// drafting is DeepSeek-V3 on 8 H200 with so many drafts, one decode step of a batch of 8.
func drafting(t *testing.T, drafts int) *point.Result {
	t.Helper()
	q := question.Default()
	q.Model, q.System, q.Engine, q.Phase = "DeepSeek-V3", "H200", "sglang", "decode"
	q.TP, q.EP, q.MoETP, q.Batch, q.Drafts, q.Input, q.Output = 8, 1, 8, 8, drafts, 1024, 1024
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		t.Fatal(err)
	}
	return &a.Phases[0]
}

// TestEagleExample is three drafts by one module that is used again: from t5 and the drafts d6 to
// d8, d6 and d7 are accepted and t8 is sampled; from t8 and d9 to d11, d9 is accepted and t10 is
// sampled. Two steps of four tokens give three and two: of the first drafts both were accepted, of
// the two second ones one, of the one third none.
func TestEagleExample(t *testing.T) {
	const drafts = 3
	accepted := []float64{2. / 2, 1. / 2, 0. / 1}
	if got := estimate.TokensPerStep(accepted, drafts); got != (3+2)/2. {
		t.Errorf("%v tokens of a step", got)
	}
	none, one, three := drafting(t, 0), drafting(t, 1), drafting(t, drafts)
	// The weights of the module are there once, and so is its layer of the cache.
	weights := func(r *point.Result) float64 {
		return r.Estimate.Memory.Weights[op.AttentionBlock] + r.Estimate.Memory.Weights[op.MLPBlock]
	}
	if weights(one) != weights(three) || !(weights(one) > weights(none)) || one.Estimate.Memory.Cache != three.Estimate.Memory.Cache {
		t.Errorf("weights %v, %v and %v without, with one and with three drafts", weights(none), weights(one), weights(three))
	}
	if got, want := three.Estimate.DraftTime, 3*one.Estimate.DraftTime; math.Abs(got-want) > 1e-9*want {
		t.Errorf("three drafts take %v, one three times %v", got, want)
	}
	// The four tokens of a sequence share one pass over its cache.
	cache := func(r *point.Result) (bytes, rows float64) {
		e, err := estimate.NewEvaluator(&r.Problem)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range e.Operators(&r.Plan) {
			if o.Kind == op.Scores {
				return o.Cache, o.M
			}
		}
		return 0, 0
	}
	alone, queries := cache(none)
	shared, more := cache(three)
	if queries != 8 || more != 4*8 || math.Abs(shared/alone-1) > 0.01 {
		t.Errorf("%v bytes for %v queries, %v for %v", alone, queries, shared, more)
	}
}
