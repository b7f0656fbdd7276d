package kernels

import (
	"slices"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
)

// Tensor cores are not all that a kernel waits for: it also loads, scales, adds up and stores, which takes as long as the
// multiprocessors have it take, however fast their tensor cores are. Slowdowns count all of that in units of the tensor
// cores, so that a chip with a seventh of their rate on the same multiprocessors, as the H20, has a smaller one:
//
//	slowdown' = 1 + (slowdown - 1) · (matrix' / vector') / (matrix / vector)
//
// where matrix and vector are the rates of the two chips. DeepGEMM, which was measured on both, bears it out: at best its grouped
// products are 1.41 times slower than the peak of an H800, which would make 1.09 on an H20, where they are 1.05.
const usualType = "bfloat16"

// tensorShare is how much less a chip has of tensor cores for its other units than another; 1 where it has about as much, or
// more.
func tensorShare(from, to *hardware.System) float64 {
	share := func(s *hardware.System) float64 { return s.Matrix[usualType].TFlops / s.Vector[usualType].TFlops }
	const alike = 0.9
	if s := share(to) / share(from); s < alike {
		return s
	}
	return 1
}

// weaker is the kernels of a chip as one with so much less of tensor cores would run them.
func weaker(set *kernel.Set, share float64) *kernel.Set {
	if share == 1 {
		return set
	}
	out := *set
	out.Gemm = less(set.Gemm, share, func(m *kernel.GemmModel) *kernel.Base { return &m.Base })
	out.Prefill = less(set.Prefill, share, func(m *kernel.PrefillAttention) *kernel.Base { return &m.Base })
	out.LatentPrefill = less(set.LatentPrefill, share, func(m *kernel.PrefillAttention) *kernel.Base { return &m.Base })
	for _, models := range []*map[string]*kernel.GroupedModel{&out.GroupedGemm, &out.Experts, &out.DispatchedExperts, &out.Absorb} {
		*models = less(*models, share, func(m *kernel.GroupedModel) *kernel.Base { return &m.Base })
	}
	return &out
}

// less is models whose slowdowns of operations lie above 1 by a share of what they did.
func less[M any](models map[string]*M, share float64, base func(*M) *kernel.Base) map[string]*M {
	out := map[string]*M{}
	for key, m := range models {
		changed := *m
		s := &base(&changed).Compute
		s.Slowdown = slices.Clone(s.Slowdown)
		for i, v := range s.Slowdown {
			s.Slowdown[i] = calibrate.Digits(1 + (v-1)*share)
		}
		out[key] = &changed
	}
	return out
}
