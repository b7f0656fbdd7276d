package op

import "throughline/model"

// Eager is how a framework runs a model that a host launches operator by operator, without graphs, and that fuses only what it
// has one function for. Nil stands for serving engines, whose kernels are fused and whose steps are captured.
type Eager struct {
	// Kernels are the operators that are kernels of their own there, by what the model is made of.
	Kernels [KindCount]Unfused
	Gated   [KindCount]Unfused // of models with a gated feed-forward block; one without kernels is as in Kernels
	// GrowsCache: keys and values are copied at every step into memory that has room for one token more.
	GrowsCache bool
	AllLogits  bool    // the output projection of a prompt is that of all its tokens
	Launch     float64 // seconds of the host for each kernel
}

// Unfused is an operator as a framework runs it: so many kernels, one after another, each with a result as large as that of the
// operator. Elements are those that all of them together read and write, for each of the result.
type Unfused struct{ Kernels, Elements float64 }

// of is how an operator of a model runs; without kernels: as everywhere.
func (e *Eager) of(k Kind, gated bool) Unfused {
	if u := e.Gated[k]; gated && u.Kernels > 0 {
		return u
	}
	return e.Kernels[k]
}

// Eager makes lowerings those of a framework; nil: of serving engines.
func (l *Lowerer) Eager(e *Eager) { l.eager = e }

// unfuse makes the operators from an index on kernels of their own, where the framework runs them so.
func (s *stage) unfuse(from int) {
	if s.eager == nil {
		return
	}
	gated := s.model.MLP == model.Gated
	for i := from; i < s.list.n; i++ {
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

// growCache copies keys and values, so many elements of a token, each by a kernel, into memory with room for the new tokens,
// which are copied too.
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
	o.Cache = bytes // half of them read, half written
	o.Output = bytes / 2
	o.Moved = bytes
}
