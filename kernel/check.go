package kernel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Check reports what is wrong with the models of a set.
func (s *Set) Check() error {
	c := &checker{}
	check(c, "gemm", s.Gemm, func(m *GemmModel) error {
		_, err := m.At(1, 1)
		return errors.Join(err, sizes(m.Weight, m.Input, m.Output, m.Tile))
	})
	grouped := func(m *GroupedModel) error {
		_, err := m.At(1, 1)
		return errors.Join(err, sizes(m.Weight, m.Input, m.Output))
	}
	check(c, "grouped_gemm", s.GroupedGemm, grouped)
	check(c, "experts", s.Experts, grouped)
	check(c, "absorb", s.Absorb, grouped)
	decode := func(m *DecodeAttention) error {
		_, err := m.At(1, 1)
		return errors.Join(err, sizes(m.Query, m.Tile))
	}
	check(c, "decode", s.Decode, decode)
	check(c, "latent_decode", s.LatentDecode, decode)
	prefill := func(m *PrefillAttention) error {
		_, err := m.At(1, 1)
		return errors.Join(err, sizes(m.Element, m.Tile))
	}
	check(c, "prefill", s.Prefill, prefill)
	check(c, "latent_prefill", s.LatentPrefill, prefill)
	linear := func(m *LinearAttention) error {
		_, err := m.At(1, 1)
		return errors.Join(err, sizes(m.Element, m.State, m.Tile))
	}
	check(c, "linear_decode", s.LinearDecode, linear)
	check(c, "linear_prefill", s.LinearPrefill, linear)
	curve := func(m *Curve) error { _, err := m.At(1); return err }
	check(c, "elementwise", s.Elementwise, curve)
	check(c, "copy", s.Copy, curve)
	check(c, "convolution", s.Convolution, curve)
	check(c, "collective", s.Collective, func(m *CollectiveModel) error { _, err := m.At(1); return err })
	check(c, "exchange", s.Exchange, func(m *ExchangeModel) error { _, err := m.At(1, 1); return err })
	if !(s.Sustained >= 0 && s.Sustained <= 1) {
		c.errs = append(c.errs, fmt.Errorf("a sustained share of %g", s.Sustained))
	}
	return errors.Join(c.errs...)
}

type checker struct{ errs []error }

// check adds what is wrong with the models of a kind, in the order of their keys.
func check[M any](c *checker, kind string, models map[string]*M, valid func(*M) error) {
	for _, key := range slices.Sorted(maps.Keys(models)) {
		err := errors.New("null is no model")
		if m := models[key]; m != nil {
			err = valid(m)
		}
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("%s %s: %w", kind, key, err))
		}
	}
}

// sizes must not be negative.
func sizes(list ...float64) error {
	for _, v := range list {
		if !(v >= 0) {
			return fmt.Errorf("a size of %g", v)
		}
	}
	return nil
}
