package kernels

import (
	"slices"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
)

// A kernel also loads, scales, adds and stores, at a pace set by the multiprocessors rather than
// their tensor cores. Slowdowns count that in units of the tensor cores, so a chip like the H20,
// with a seventh of their rate on the same multiprocessors, has a smaller one:
//
//	slowdown' = 1 + (slowdown - 1) · (matrix' / vector') / (matrix / vector)
//
// where matrix and vector are the rates of the two chips. DeepGEMM, measured on both, confirms it:
// grouped products at best 1.41 times slower than peak on an H800 predict 1.09 on an H20, where
// 1.05 was measured.
const usualType = "bfloat16"

// tensorShare is a chip's ratio of tensor to other units relative to another chip's; 1 where it is
// about as large or larger.
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
