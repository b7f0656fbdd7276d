package op

import "throughline/model"

// Eager describes a framework that launches operators one by one, without graphs and with little
// fusion. Nil stands for serving engines, which fuse kernels and capture steps.
type Eager struct {
	// Kernels are the operators that run unfused.
	Kernels [KindCount]Unfused
	Gated   [KindCount]Unfused // overrides Kernels for models with a gated feed-forward block
	// GrowsCache: every step copies keys and values into memory with room for one more token.
	GrowsCache bool
	AllLogits  bool    // prefill projects all tokens of a prompt to logits
	Launch     float64 // seconds of host time per kernel
}

// Unfused is an operator that a framework runs as several kernels, one after another. Elements are
// read and written by all of them together, per element of the result.
type Unfused struct {
	Kernels  float64 `json:"kernels" required:"true" range:"[1,1000]"`
	Elements float64 `json:"elements" required:"true" range:"[0,1e6]"`
}

// of looks up how an operator runs; zero kernels mean as elsewhere.
func (e *Eager) of(k Kind, gated bool) Unfused {
	if u := e.Gated[k]; gated && u.Kernels > 0 {
		return u
	}
	return e.Kernels[k]
}

// Eager lowers as a framework would; nil lowers as serving engines do.
func (l *Lowerer) Eager(e *Eager) { l.eager = e }

// unfuse splits the operators into the kernels that the framework runs.
func (s *stage) unfuse() {
	if s.eager == nil {
		return
	}
	gated := s.model.MLP == model.Gated
	for i := range s.list.n {
		o := &s.list.ops[i]
		u := s.eager.of(o.Kind, gated)
		if u.Kernels == 0 {
			continue
		}
		o.Repeat *= u.Kernels
		o.Flops /= u.Kernels
		o.Weights /= u.Kernels
		o.Resident /= u.Kernels
		o.Activations = u.Elements * o.Output / u.Kernels
		o.Moved = o.Weights + o.Activations
		o.Kernels = moving
	}
}

// growCache copies the cached keys and values, a number of elements per token, to a larger buffer.
func (s *stage) growCache(elements float64) {
	if s.eager == nil || !s.eager.GrowsCache {
		return
	}
	entries := 0.0
	for i := range s.parts[:s.n] {
		entries += s.parts[i].read / float64(s.plan.Attention.Context())
	}
	bytes := entries * elements * s.c
	o := s.add(CacheGrowth, VectorUnit)
	o.Repeat *= 2
	o.Cache = bytes // half read, half written
	o.Output = bytes / 2
	o.Moved = bytes
}
