package kernel

import (
	"errors"
	"fmt"
)

// Check reports what is wrong with the models of a set.
func (s *Set) Check() error {
	var errs []error
	note := func(kind, key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", kind, key, err))
		}
	}
	for k, m := range s.Gemm {
		_, err := m.At(1, 1)
		note("gemm", k, err)
	}
	for kind, set := range map[string]map[string]*GroupedGemm{"grouped_gemm": s.GroupedGemm, "experts": s.Experts, "absorb": s.Absorb} {
		for k, m := range set {
			_, err := m.At(1, 1)
			note(kind, k, err)
		}
	}
	for kind, set := range map[string]map[string]*DecodeAttention{"decode": s.Decode, "latent_decode": s.LatentDecode} {
		for k, m := range set {
			_, err := m.At(1, 1)
			note(kind, k, err)
		}
	}
	for kind, set := range map[string]map[string]*PrefillAttention{"prefill": s.Prefill, "latent_prefill": s.LatentPrefill} {
		for k, m := range set {
			_, err := m.At(1, 1)
			note(kind, k, err)
		}
	}
	for kind, set := range map[string]map[string]*LinearAttention{"linear_decode": s.LinearDecode, "linear_prefill": s.LinearPrefill} {
		for k, m := range set {
			_, err := m.At(1, 1)
			note(kind, k, err)
		}
	}
	for kind, set := range map[string]map[string]*Curve{"elementwise": s.Elementwise, "copy": s.Copy, "convolution": s.Convolution} {
		for k, m := range set {
			_, err := m.At(1)
			note(kind, k, err)
		}
	}
	for k, m := range s.Collective {
		_, err := m.At(1)
		note("collective", k, err)
	}
	for k, m := range s.Exchange {
		_, err := m.At(1, 1)
		note("exchange", k, err)
	}
	if !(s.Sustained >= 0 && s.Sustained <= 1) {
		errs = append(errs, fmt.Errorf("a sustained share of %g", s.Sustained))
	}
	return errors.Join(errs...)
}
