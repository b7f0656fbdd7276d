package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

var alone = plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}}, Batch: plan.Batch{Count: 1, Size: 3}}

// eagerly is a framework whose activation is 8 kernels, whose residuals are one each, and whose
// cache is copied.
func eagerly() *op.Eager {
	e := &op.Eager{GrowsCache: true, AllLogits: true, Launch: 1}
	e.Kernels[op.Activation] = op.Unfused{Kernels: 8, Elements: 18}
	e.Kernels[op.AttentionResidual] = op.Unfused{Kernels: 1, Elements: 3}
	e.Kernels[op.MLPResidual] = op.Unfused{Kernels: 1, Elements: 3}
	e.Gated[op.Rotary] = op.Unfused{Kernels: 10, Elements: 12}
	e.Gated[op.Activation] = op.Unfused{Kernels: 1, Elements: 2}
	return e
}

// TestEager: of a layer of a plain model a host launches the norm, qkv, two copies of the cache,
// attention, projection and residual, and of the dense block norm, up, 8 kernels of the activation,
// down and residual: 19. Ends: embedding, norm, head, choice.
func TestEager(t *testing.T) {
	m := groupQuery()
	m.MLP, m.Vocab, m.Attention.QKNorm, m.Attention.Gated = model.Plain, 11, false, false
	four := plan.Precision{Weight: 4, Activation: 4, Residual: 4, Cache: 4, Comm: 4}
	set := model.Settings{Flash: true}
	l := op.NewLowerer(m, &set, &four, &assume.Physical)
	l.Eager(eagerly())
	var stage, ends op.List
	p, s := alone, op.Step{}
	l.Add(&s, &op.Group{Phase: op.Decode, Sequences: 3, New: 1, Context: 10})
	l.Stage(&p, &s, &stage)
	if got, want := stage.Launched(nil), 19*float64(m.Layers); got != want {
		t.Errorf("%g launches, not %g", got, want)
	}
	// 3 sequences of 10 tokens with a key and a value of each of the KV heads; half of what moves
	// is read, half written, in two kernels.
	kv := 3 * 10 * float64(2*m.Attention.KVHeads*m.Attention.HeadDim) * 4
	grown := find(t, &stage, op.CacheGrowth)
	bytes(t, "grown", grown.Repeat*grown.Bytes(), 2*kv*float64(m.Layers))
	bytes(t, "one of keys and values", grown.Output, kv/2)
	// 18 elements of 4 bytes for each of 3 tokens of the inner width.
	inner := 3 * float64(m.FeedForward) * 4
	act := find(t, &stage, op.Activation)
	bytes(t, "activation", act.Repeat*act.Activations, 18*inner*float64(m.Layers))
	bytes(t, "result of each kernel", act.Output, inner)

	// A prompt of 5 tokens has 5 logits and one successor.
	s = op.Step{}
	l.Add(&s, &op.Group{Phase: op.Prefill, Sequences: 1, New: 5, Context: 5, Ends: true})
	l.Ends(&p, &s, &ends)
	if head := find(t, &ends, op.OutputHead); head.M != 5 {
		t.Errorf("the head sees %g tokens", head.M)
	}
	bytes(t, "choice", find(t, &ends, op.Sampling).Output, float64(m.Vocab)*4)
	if got := ends.Launched(nil); got != 4 {
		t.Errorf("%g launches of the ends, not 4", got)
	}
}

// TestEagerGated: rotary positions are 10 kernels of models that have them, and none of others.
func TestEagerGated(t *testing.T) {
	set := model.Settings{Flash: true}
	for mlp, want := range map[model.MLPKind]bool{model.Gated: true, model.Plain: false} {
		m := groupQuery()
		m.MLP = mlp
		l := op.NewLowerer(m, &set, &eight, &assume.Physical)
		l.Eager(eagerly())
		var list op.List
		p, s := alone, op.Step{}
		l.Add(&s, &op.Group{Phase: op.Decode, Sequences: 1, New: 1, Context: 4})
		l.Stage(&p, &s, &list)
		found := false
		for _, o := range list.All() {
			if o.Kind == op.Rotary {
				found = true
				if o.Repeat != 10*float64(m.Layers) {
					t.Errorf("%g rotations", o.Repeat)
				}
			}
		}
		if found != want {
			t.Errorf("%v: rotary positions %v", mlp, found)
		}
	}
}
