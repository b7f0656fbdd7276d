package kernel

import (
	"strings"
	"sync"
)

// Types is the precision of a deployment. Where it is empty, a kernel runs as it was measured.
type Types struct {
	Matrix, Attention, Cache string   // number types
	Wide                     string   // a 16-bit type that the chip multiplies in
	Weight                   float64  // bytes of an element
	Dispatch, Combine        float64  // bytes of an element sent to experts and back, with its scale
	ReadsNarrow              bool     // kernels read a narrow cache as well as a wide one
	Stored                   string   // number type that weights are stored in, if not that of the products
	PrefillBy, DecodeBy      Backends // configured attention software
	Fused                    bool     // element-wise operators run in fused kernels
}

// mostScales is the most that scales add to weights: one of 8 bits per 16 elements of 4 (NVFP4), or
// one of 16 bits per 32 (int4 in small groups).
const mostScales = 0.125

// stored is the bytes of a stored weight, given those measured. Kernels were measured with scales,
// which count no bytes, so a format that only adds scales takes the measured time.
func (t *Types) stored(measured float64) float64 {
	if t.Weight == 0 || t.Weight >= measured && t.Weight <= measured*(1+mostScales) {
		return measured
	}
	return t.Weight
}

// Bound is the prepared kernels of a deployment. It is immutable.
type Bound struct {
	slots [slotPlaces]Binding
	// Launch is the least time of any kernel: the latency of the shortest calibrated product.
	Launch float64
}

// Slots and roles are rounded up to powers of two, which makes bounds checks cheap.
const (
	slotPlaces = 64
	rolePlaces = 16
)

// Binding is one kernel of a deployment. The zero value is not calibrated.
type Binding struct {
	Section, Key string // of its model in the set
	Peak         Peak
	// Narrowed: weights are stored narrower than they were measured.
	Narrowed bool
	// StandsIn: for software that was not measured. Stretched: measured with other heads.
	StandsIn, Stretched bool
	// Of communication: the most nodes and the largest group (0: any) measured.
	Nodes, Ranks float64

	timing [rolePlaces]Timing
}

// reaching is implemented by kernels that communicate.
type reaching interface {
	reach() (nodes, ranks float64)
}

// For returns the kernel of a use and its timing for that role, nil where it is not calibrated.
func (b *Bound) For(u Use) (Timing, *Binding) {
	k := &b.slots[u.Slot%slotPlaces]
	return k.timing[u.Role%rolePlaces], k
}

// ready caches what has been prepared of a set.
type ready struct {
	sync.Mutex
	bound map[Types]*Bound
}

// Share promises that only methods will change the set, so that prepared kernels can be shared.
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

// mostReady is how many precisions of a set stay prepared: more than any program compares.
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
	if r.backends == nil {
		return r.bound(s, t, keys)
	}
	backends := r.backends(t)
	own, found := backed(r.section, s, keys, backends)
	if o := r.others; o != nil && backends.treatsAlike(r.alike) && (!found || len(keys) == 0) && o.has(s, t) {
		if !r.stretches {
			return Binding{} // the operator names the other slot, too
		}
		b := o.bind(s, t)
		b.timing[Full], b.Stretched = LatentBy(b.timing[Full]), true
		return b
	}
	b := r.bound(s, t, own)
	b.StandsIn = !found && backends.wish()
	return b
}

// has reports whether a slot's kernels were measured with the requested software.
func (r *slot) has(s *Set, t *Types) bool {
	keys := r.pick(s, t)
	_, found := backed(r.section, s, keys, r.backends(t))
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
	full := all[0]
	if len(all) > 1 {
		full = all
	}
	b = Binding{Section: r.section.key, Key: keys[0], Peak: r.peak}
	b.timing[Full], b.timing[Bare] = full, full
	b.timing[Within], b.timing[Following] = charged{}, charged{}
	b.include(r.section, s, keys)
	if c := s.Elementwise[quantiseKey]; c != nil && b.timing[Quantised] != nil {
		if q, err := c.prepare(); err == nil {
			b.timing[Bare] = bare{full, q}
		}
	}
	if c, ok := full.(*curveTiming); ok {
		b.timing[Beside], b.timing[Alone] = fusedTiming{c}, c.alone()
	}
	if c, ok := full.(reaching); ok {
		b.Nodes, b.Ranks = c.reach()
	}
	if m, ok := r.section.get(s, keys[0]).(interface{ weightBytes() float64 }); ok && r.stored {
		b.Narrowed = t.stored(m.weightBytes()) != m.weightBytes()
	}
	return b
}

// Timing is a slot's model as it was measured; false where there is none.
func (s *Set) Timing(of Slot, key string) (Timing, bool) {
	if s.Model(of, key) == nil {
		return nil, false
	}
	t, err := table[of].prepare(s, key, &Types{})
	return t, err == nil
}

// otherWide pairs the 16-bit types, which run alike.
var otherWide = map[string]string{"float16": "bfloat16", "bfloat16": "float16"}

// typed returns the model's key for a number type; the 16-bit types stand in for each other.
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

// present filters the keys that have a model.
func present(in *section, s *Set, keys ...string) (out []string) {
	for _, key := range keys {
		if in.get(s, key) != nil {
			out = append(out, key)
		}
	}
	return out
}
