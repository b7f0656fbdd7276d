package kernel

import (
	"strings"
	"sync"
)

// Types is the precision of a deployment as kernels see it. Where it is empty, a kernel runs as it was measured.
type Types struct {
	Matrix, Attention, Cache string  // number types
	Wide                     string  // a type of 16 bits that the chip multiplies in
	Weight                   float64 // bytes of an element
	Dispatch, Combine        float64 // bytes of an element of tokens on their way to experts and back, with its scale
	ReadsNarrow              bool    // kernels read a narrow cache as well as a wide one
	Stored                   string  // the number type that weights are stored in, where it is not that of the products
	PrefillBy, DecodeBy      Asked   // software of attention that the server is told to take
}

// mostScales is the share that scales add to weights at most: one of 8 bits for 16 elements of 4 (NVFP4), or one of 16 bits for
// 32 (int4 in small groups).
const mostScales = 0.125

// stored is the bytes of an element of weights in a kernel that was measured with the given ones. Those are without scales,
// which the kernel read nevertheless: the time of a format that only has scales besides is what was measured.
func (t *Types) stored(measured float64) float64 {
	if t.Weight == 0 || t.Weight >= measured && t.Weight <= measured*(1+mostScales) {
		return measured
	}
	return t.Weight
}

// Bound is the kernels of a set that a deployment runs, prepared. It never changes.
type Bound struct {
	slots [slotPlaces]Binding
	// Launch is what any kernel takes at least: the latency of the shortest calibrated product.
	Launch float64
}

// slotPlaces and rolePlaces are the slots and roles rounded up to a power of two, which makes an index cheap to bound.
const (
	slotPlaces = 64
	rolePlaces = 16
)

// Binding is one kernel of a deployment. The zero value is one that is not calibrated.
type Binding struct {
	Section, Key string // of its model in the set
	Peak         Peak
	// Narrowed: weights are stored narrower than those that were measured.
	Narrowed bool
	// StandsIn: the software that was asked for was not measured, and this is another. Stretched: it was measured with other heads.
	StandsIn, Stretched bool
	// Of communication: the most nodes, and the largest group (0: any) that were measured.
	Nodes, Ranks float64

	timing [rolePlaces]Timing
}

// reaching is kernels that communicate.
type reaching interface {
	reach() (nodes, ranks float64)
}

// For is the kernel of a use and its timing for that role, nil where it is not calibrated.
func (b *Bound) For(u Use) (Timing, *Binding) {
	k := &b.slots[u.Slot%slotPlaces]
	return k.timing[u.Role%rolePlaces], k
}

// ready is what has been prepared of a set.
type ready struct {
	sync.Mutex
	bound map[Types]*Bound
}

// Share says that the set will not change but by its methods, so that what is prepared once can be used by all.
func (s *Set) Share() { s.ready = &ready{bound: map[Types]*Bound{}} }

// Bind prepares the kernels of the set for a deployment.
func (s *Set) Bind(t Types) *Bound {
	if s.ready == nil {
		return s.bind(&t)
	}
	s.ready.Lock()
	defer s.ready.Unlock()
	b := s.ready.bound[t]
	if b == nil {
		if len(s.ready.bound) == mostReady {
			clear(s.ready.bound)
		}
		b = s.bind(&t)
		s.ready.bound[t] = b
	}
	return b
}

// mostReady is how many precisions of a set stay prepared: more than any program compares, and a few MB.
const mostReady = 64

func (s *Set) bind(t *Types) *Bound {
	b := &Bound{}
	for i := range table {
		if row := &table[i]; row.section != nil {
			b.slots[i] = row.bind(s, t)
		}
	}
	for _, g := range s.Gemm {
		if b.Launch == 0 || g.Latency < b.Launch {
			b.Launch = g.Latency
		}
	}
	return b
}

func (r *slot) bind(s *Set, t *Types) Binding {
	keys := r.pick(s, t)
	if r.asked == nil {
		return r.bound(s, t, keys)
	}
	asked := r.asked(t)
	own, found := backed(r.section, s, keys, asked)
	if o := r.others; o != nil && asked.treatsAlike(r.alike) && (!found || len(keys) == 0) && o.has(s, t) {
		if !r.stretches {
			return Binding{} // the operator names the other slot, too
		}
		b := o.bind(s, t)
		b.timing[Whole], b.Stretched = LatentBy(b.timing[Whole]), true
		return b
	}
	b := r.bound(s, t, own)
	b.StandsIn = !found && asked.wish()
	return b
}

// has reports whether the kernels of a slot were measured as the software that is asked for.
func (r *slot) has(s *Set, t *Types) bool {
	keys := r.pick(s, t)
	_, found := backed(r.section, s, keys, r.asked(t))
	return found && len(keys) > 0
}

func (r *slot) bound(s *Set, t *Types, keys []string) (b Binding) {
	var all fastest
	for _, key := range keys {
		if timing, err := r.prepare(s, key, t); err == nil { // the loader has checked the models
			all = append(all, timing)
		}
	}
	if len(all) == 0 {
		return b
	}
	whole := all[0]
	if len(all) > 1 {
		whole = all
	}
	b = Binding{Section: r.section.key, Key: keys[0], Peak: r.peak}
	b.timing[Whole], b.timing[Bare] = whole, whole
	b.timing[Within], b.timing[Following] = charged{}, charged{}
	b.include(r.section, s, keys)
	if c := s.Elementwise[quantiseKey]; c != nil && b.timing[Quantised] != nil {
		if q, err := c.prepare(); err == nil {
			b.timing[Bare] = bare{whole, q}
		}
	}
	if c, ok := whole.(*curveTiming); ok {
		b.timing[Beside], b.timing[Alone] = fusedTiming{c}, c.alone()
	}
	if c, ok := whole.(reaching); ok {
		b.Nodes, b.Ranks = c.reach()
	}
	if m, ok := r.section.get(s, keys[0]).(interface{ weightBytes() float64 }); ok && r.stored {
		b.Narrowed = t.stored(m.weightBytes()) != m.weightBytes()
	}
	return b
}

// Timing is the model of a slot under a key, prepared as it was measured; false where there is none.
func (s *Set) Timing(of Slot, key string) (Timing, bool) {
	if s.Model(of, key) == nil {
		return nil, false
	}
	t, err := table[of].prepare(s, key, &Types{})
	return t, err == nil
}

// otherWide are the types of 16 bits, which run alike.
var otherWide = map[string]string{"float16": "bfloat16", "bfloat16": "float16"}

// typed is the key of the model for a number type. The two types of 16 bits stand in for each other.
func typed(in *section, s *Set, numberType string) []string {
	base, isTuned := strings.CutSuffix(numberType, Tuned)
	other := otherWide[base]
	if isTuned && other != "" {
		other += Tuned
	}
	for _, key := range [...]string{numberType, other} {
		if in.get(s, key) != nil {
			return []string{key}
		}
	}
	return nil
}

// present are the keys that have a model.
func present(in *section, s *Set, keys ...string) (out []string) {
	for _, key := range keys {
		if in.get(s, key) != nil {
			out = append(out, key)
		}
	}
	return out
}
