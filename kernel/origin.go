package kernel

import (
	"cmp"
	"maps"
	"slices"
)

// MeasuredOn is the chip that the kernels of a kind and number type were measured on.
func (s *Set) MeasuredOn(kind, numberType string) string {
	return cmp.Or(s.From[kind+"."+numberType], s.From[kind], s.System)
}

// Fill takes from another set the kernels that this one lacks, and notes where they were measured.
func (s *Set) Fill(other *Set) {
	fill(s, other, "gemm", &s.Gemm, other.Gemm)
	fill(s, other, "grouped_gemm", &s.GroupedGemm, other.GroupedGemm)
	fill(s, other, "experts", &s.Experts, other.Experts)
	fill(s, other, "decode", &s.Decode, other.Decode)
	fill(s, other, "latent_decode", &s.LatentDecode, other.LatentDecode)
	fill(s, other, "prefill", &s.Prefill, other.Prefill)
	fill(s, other, "latent_prefill", &s.LatentPrefill, other.LatentPrefill)
	fill(s, other, "absorb", &s.Absorb, other.Absorb)
	fill(s, other, "convolution", &s.Convolution, other.Convolution)
	fill(s, other, "linear_decode", &s.LinearDecode, other.LinearDecode)
	fill(s, other, "linear_prefill", &s.LinearPrefill, other.LinearPrefill)
	fill(s, other, "elementwise", &s.Elementwise, other.Elementwise)
	fill(s, other, "copy", &s.Copy, other.Copy)
	fill(s, other, "collective", &s.Collective, other.Collective)
	fill(s, other, "exchange", &s.Exchange, other.Exchange)
	if s.Sustained == 0 {
		s.Sustained = other.Sustained
	}
}

func fill[M any](s, other *Set, kind string, into *map[string]*M, models map[string]*M) {
	for _, key := range slices.Sorted(maps.Keys(models)) {
		if (*into)[key] != nil {
			continue
		}
		if *into == nil {
			*into = map[string]*M{}
		}
		(*into)[key] = models[key]
		if e, ok := other.Errors[kind+"."+key]; ok {
			if s.Errors == nil {
				s.Errors = map[string]float64{}
			}
			s.Errors[kind+"."+key] = e
		}
		if on := other.MeasuredOn(kind, key); on != s.System {
			s.note(kind+"."+key, on)
		}
	}
}

func (s *Set) note(kernels, on string) {
	if s.From == nil {
		s.From = map[string]string{}
	}
	s.From[kernels] = on
}
