package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Set is the calibrated kernels of a system file. What is missing is priced without calibration.
type Set struct {
	// System is the chip that was measured, From another one for kinds of kernels ("experts") or
	// single kernels ("gemm.bfloat16"). Slowdowns carry over because they are relative to peaks.
	System string            `json:"system,omitempty"`
	From   map[string]string `json:"from,omitempty"`
	// Peaks of the measured chip: a system with other peaks is another chip, whatever its name.
	Peaks  map[string]float64 `json:"peaks,omitempty"`
	Source string             `json:"source,omitempty"` // what the models were fitted to
	// Errors are the mean errors of models on shapes not in their fits, as shares: "gemm.bfloat16".
	Errors map[string]float64 `json:"errors,omitempty"`
	// Software is what attention was measured with, by kind and number type ("decode.bfloat16":
	// "fa3"). Models of other software have it behind their number type: "bfloat16@triton".
	Software map[string]string `json:"software,omitempty"`

	Gemm        map[string]*GemmModel    `json:"gemm,omitempty"`         // by number type
	GroupedGemm map[string]*GroupedModel `json:"grouped_gemm,omitempty"` // by number type
	Experts     map[string]*GroupedModel `json:"experts,omitempty"`      // fused blocks, by number type, and tuned ones
	// DispatchedExperts are blocks between dispatch and combine, by number type.
	DispatchedExperts map[string]*GroupedModel     `json:"dispatched_experts,omitempty"`
	Decode            map[string]*DecodeAttention  `json:"decode,omitempty"`         // by number type of the cache
	LatentDecode      map[string]*DecodeAttention  `json:"latent_decode,omitempty"`  // by number type of the cache
	Prefill           map[string]*PrefillAttention `json:"prefill,omitempty"`        // by number type
	LatentPrefill     map[string]*PrefillAttention `json:"latent_prefill,omitempty"` // by number type
	Absorb            map[string]*GroupedModel     `json:"absorb,omitempty"`         // of latent attention, by number type
	Convolution       map[string]*Curve            `json:"convolution,omitempty"`    // of linear attention: decode, prefill
	LinearDecode      map[string]*LinearAttention  `json:"linear_decode,omitempty"`  // by rule: gated_delta
	LinearPrefill     map[string]*LinearAttention  `json:"linear_prefill,omitempty"` // by rule
	Elementwise       map[string]*Curve            `json:"elementwise,omitempty"`    // by kernel: add_rmsnorm, silu_mul, quantise
	Copy              map[string]*Curve            `json:"copy,omitempty"`           // by direction: d2d_copy, d2h, h2d
	Collective        map[string]*CollectiveModel  `json:"collective,omitempty"`     // by pattern, as in the networks
	// Exchange is dispatch_normal, combine_normal, dispatch_low_latency, combine_low_latency.
	Exchange map[string]*ExchangeModel `json:"exchange,omitempty"`

	// ready caches prepared kernels of a shared set.
	ready *ready
}

// Model is a calibrated kernel as data.
type Model interface {
	Check() error // what is wrong with it
	Numbers() int // how many were fitted
}

// section is the models of a set that have one form and one key.
type section struct {
	key  string
	keys func(*Set) []string // of its models, sorted
	get  func(*Set, string) Model
	put  func(*Set, string, Model)
	drop func(*Set, string)
}

func sectionOf[M any, P interface {
	*M
	Model
}](key string, models func(*Set) *map[string]P) section {
	return section{
		key:  key,
		keys: func(s *Set) []string { return slices.Sorted(maps.Keys(*models(s))) },
		get: func(s *Set, key string) Model {
			if m := (*models(s))[key]; m != nil {
				return m
			}
			return nil
		},
		put: func(s *Set, key string, m Model) {
			if *models(s) == nil {
				*models(s) = map[string]P{}
			}
			(*models(s))[key] = m.(P)
		},
		drop: func(s *Set, key string) { delete(*models(s), key) },
	}
}

// Model is a slot's model under a key, nil where there is none.
func (s *Set) Model(of Slot, key string) Model { return table[of].section.get(s, key) }

// Put adds a model, unless there is one, with its mean error on shapes not in its fit, if known.
func (s *Set) Put(of Slot, key string, m Model, missed float64) {
	in := table[of].section
	if in.get(s, key) != nil {
		return
	}
	in.put(s, key, m)
	if missed >= 0 {
		s.setError(in.key+"."+key, missed)
	}
	s.ready = nil
}

// Keys are those of a slot's models, sorted.
func (s *Set) Keys(of Slot) []string { return table[of].section.keys(s) }

// Drop removes a slot's model from the set, with everything recorded about it.
func (s *Set) Drop(of Slot, key string) {
	in := table[of].section
	in.drop(s, key)
	for _, records := range []map[string]string{s.From, s.Software} {
		delete(records, in.key+"."+key)
	}
	delete(s.Errors, in.key+"."+key)
	s.ready = nil
}

func (s *Set) setError(model string, share float64) {
	if s.Errors == nil {
		s.Errors = map[string]float64{}
	}
	s.Errors[model] = share
}

// By records the software that a slot's model was measured with.
func (s *Set) By(of Slot, key, software string) {
	if software == "" {
		return
	}
	if s.Software == nil {
		s.Software = map[string]string{}
	}
	s.Software[table[of].section.key+"."+key] = software
}

// MeasuredOn is the chip that a section's kernels of a number type were measured on.
func (s *Set) MeasuredOn(section, key string) string {
	return cmp.Or(s.From[section+"."+key], s.From[section], s.System)
}

// Fill takes the kernels that this set lacks from another, and records where they were measured.
func (s *Set) Fill(other *Set) {
	for _, in := range sections {
		for _, key := range in.keys(other) {
			if in.get(s, key) != nil {
				continue
			}
			in.put(s, key, in.get(other, key))
			if e, ok := other.Errors[in.key+"."+key]; ok {
				s.setError(in.key+"."+key, e)
			}
			if by, ok := other.Software[in.key+"."+key]; ok {
				if s.Software == nil {
					s.Software = map[string]string{}
				}
				s.Software[in.key+"."+key] = by
			}
			if on := other.MeasuredOn(in.key, key); on != s.System {
				if s.From == nil {
					s.From = map[string]string{}
				}
				s.From[in.key+"."+key] = on
			}
		}
	}
	s.ready = nil
}

// Check reports what is wrong with the models of a set.
func (s *Set) Check() error {
	var errs []error
	for _, in := range sections {
		for _, key := range in.keys(s) {
			err := errors.New("null is no model")
			if m := in.get(s, key); m != nil {
				err = m.Check()
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", in.key, key, err))
			}
		}
	}
	return errors.Join(errs...)
}
