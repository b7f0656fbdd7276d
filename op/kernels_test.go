package op_test

import (
	"testing"

	"throughline/assume"
	"throughline/hardware/kernel"
	"throughline/internal/test/builtin"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// TestEveryKernelIsUsed: the operators of the built-in models run in every kernel that the table
// has for operators, and what they say of their shape is what that kernel needs.
func TestEveryKernelIsUsed(t *testing.T) {
	used := map[kernel.Slot]bool{}
	for _, name := range model.Catalogue.Names() {
		m, set := builtin.Model(t, name)
		narrow := plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 2}
		l := op.NewLowerer(m, set, &narrow, &assume.Physical)
		for _, phase := range []op.Phase{op.Decode, op.Prefill} {
			for _, sequenceParallel := range []bool{false, true} {
				p := plan.Plan{
					Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 2, TP: 1, DP: 1}, SharedReplicas: 2, SequenceParallel: sequenceParallel},
					Batch:  three,
				}
				var list op.List
				step := batch(&l, m, &p, op.Group{Phase: phase, New: 1, Context: 10, Ends: true})
				l.Stage(&p, step, &list)
				uses(t, name, &list, used)
				l.Ends(&p, step, &list)
				uses(t, name, &list, used)
			}
		}
	}
	for _, s := range kernel.Slots() {
		if s.Of() != "" && !used[s] {
			t.Errorf("no operator runs in %s", s.Name())
		}
	}
}

// uses notes the kernels that operators run in.
func uses(t *testing.T, model string, list *op.List, used map[kernel.Slot]bool) {
	t.Helper()
	for _, o := range list.All() {
		for _, u := range o.Kernels {
			used[u.Slot] = true
			if u.Slot != kernel.None && !u.Role.Charged() && !u.Role.Included() {
				checkShape(t, model, &o, u)
			}
		}
	}
}

// checkShape: an operator tells its kernel how much there is to do.
func checkShape(t *testing.T, model string, o *op.Op, u kernel.Use) {
	t.Helper()
	needs := []float64{o.M, o.N, o.K, o.Count}
	switch u.Slot {
	case kernel.GroupedGemm, kernel.Experts, kernel.DispatchedExperts, kernel.Absorb:
		needs = []float64{o.Count, o.Rows, o.N, o.K}
	case kernel.Decode, kernel.LatentDecode:
		needs = append(needs, o.Moved, float64(o.Heads), float64(o.KVHeads), float64(o.Value))
	case kernel.Prefill, kernel.LatentPrefill:
		needs = append(needs, float64(o.Heads), float64(o.KVHeads), float64(o.Value))
	case kernel.LinearDecode, kernel.LinearPrefill:
		needs = append(needs, float64(o.Heads), float64(o.KVHeads))
	case kernel.AddNorm:
		if needs = []float64{o.Moved}; u.Role == kernel.Full {
			needs = append(needs, o.Rows)
		}
	case kernel.SiluMul, kernel.ConvolutionDecode, kernel.ConvolutionPrefill, kernel.Quantise, kernel.RopeCache, kernel.Permute,
		kernel.Unpermute, kernel.DeltaGates:
		needs = []float64{o.Moved}
	case kernel.TopK, kernel.Align, kernel.ArgMax:
		needs = []float64{o.Moved, o.Rows}
	case kernel.AllReduce, kernel.AllGather, kernel.ReduceScatter, kernel.AllToAll:
		needs = []float64{o.Moved, float64(o.Group)}
	case kernel.DispatchNormal, kernel.CombineNormal, kernel.DispatchLowLatency, kernel.CombineLowLatency:
		needs = []float64{o.M, o.N, o.K, float64(o.Group), float64(o.Experts)}
	}
	for i, v := range needs {
		if !(v > 0) {
			t.Errorf("%s: %v does not say number %d of %s: %+v", model, o.Kind, i, u.Slot.Name(), o.Shape)
		}
	}
}
