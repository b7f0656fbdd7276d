package kernel

import "maps"

// MeasuredOn is the chip that the kernels of a kind were measured on.
func (s *Set) MeasuredOn(kind string) string {
	if from, ok := s.From[kind]; ok {
		return from
	}
	return s.System
}

// Fill takes from another set the kinds of kernels that this one lacks, and notes where they were measured.
func (s *Set) Fill(other *Set) {
	fill(s, other, "gemm", &s.Gemm, other.Gemm)
	fill(s, other, "grouped_gemm", &s.GroupedGemm, other.GroupedGemm)
	fill(s, other, "experts", &s.Experts, other.Experts)
	fill(s, other, "decode", &s.Decode, other.Decode)
	fill(s, other, "latent_decode", &s.LatentDecode, other.LatentDecode)
	fill(s, other, "prefill", &s.Prefill, other.Prefill)
	fill(s, other, "latent_prefill", &s.LatentPrefill, other.LatentPrefill)
	fill(s, other, "elementwise", &s.Elementwise, other.Elementwise)
	fill(s, other, "copy", &s.Copy, other.Copy)
	fill(s, other, "collective", &s.Collective, other.Collective)
	fill(s, other, "exchange", &s.Exchange, other.Exchange)
	if s.Sustained == 0 {
		s.Sustained = other.Sustained
	}
}

func fill[M any](s, other *Set, kind string, into *map[string]*M, models map[string]*M) {
	if len(*into) > 0 || len(models) == 0 {
		return
	}
	*into = maps.Clone(models)
	if e, ok := other.Errors[kind]; ok {
		if s.Errors == nil {
			s.Errors = map[string]float64{}
		}
		s.Errors[kind] = e
	}
	if on := other.MeasuredOn(kind); on != s.System {
		if s.From == nil {
			s.From = map[string]string{}
		}
		s.From[kind] = on
	}
}
