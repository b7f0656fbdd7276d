package calibrate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Result is what calibration reached for one class of kernels.
type Result struct {
	Class   string // gemm, decode, ...
	Kernel  string // the software that was measured, where the table names it
	Type    string // number type; for attention with another type of cache "computed/cached"
	Numbers int    // fitted
	Validation
	// Doubt is why the model is left out of the set, Reason why it is used despite a doubt.
	Doubt, Reason string
	slow          bool   // the doubt is that it reaches little of the peaks
	derived       string // the software, where its rows are differences of others

	slot  kernel.Slot
	row   *measurement.Row // one of the rows
	rows  []measurement.Row
	model kernel.Model
}

// class is rows that are fitted together.
type class struct {
	slot               kernel.Slot
	kernel, numberType string
	nodes              int // of exchanges
}

// classOf sorts a row into its class; false for rows that no model covers.
func classOf(r *measurement.Row) (class, bool) {
	c := class{slot: r.Kind, kernel: strings.TrimPrefix(r.Label("kernel"), "sglang_"), numberType: r.Type}
	if d := r.Label("dtype"); d == "fp8_block" {
		c.numberType = "float8 blocks"
	} else if strings.HasPrefix(d, "w4a") {
		c.numberType = computed(r) + "/" + r.Type
	} else if d != "" && hardware.TypeBytes(r.Type) == 0 {
		return c, false
	}
	s := &subjects[r.Kind]
	if s.sort != nil && !s.sort(r, &c) {
		return c, false
	}
	// Windows are another kernel in all but name; whole layers are not kernels.
	if r.Get("window") > 0 || r.Label("gemm_type") != "" {
		return c, false
	}
	return c, true
}

// Slot is the kind of kernels that a row is fitted as; false for rows that no model covers.
func Slot(r *measurement.Row) (kernel.Slot, bool) {
	c, ok := classOf(r)
	return c.slot, ok
}

// ShapeOf is the shape of the kernel of a row; false for rows that no model covers.
func ShapeOf(r *measurement.Row) (kernel.Shape, bool) {
	c, ok := classOf(r)
	if !ok || subjects[r.Kind].shape == nil {
		return kernel.Shape{}, false
	}
	return subjects[c.slot].shape(r), true
}

// Classes fits every class of rows and adds models to the set where a slot is free, leaving out
// doubtful ones unless there is a reason to use them. It also counts rows that no model covers.
func Classes(rows []measurement.Row, s *hardware.System, set *kernel.Set) (results []Result, uncovered int) {
	byClass := map[class][]measurement.Row{}
	for i := range rows {
		c, ok := classOf(&rows[i])
		if !ok {
			uncovered++
			continue
		}
		byClass[c] = append(byClass[c], rows[i])
	}
	keys := slices.SortedFunc(maps.Keys(byClass), func(a, b class) int {
		return cmp.Or(cmp.Compare(a.slot.Name(), b.slot.Name()), cmp.Compare(len(byClass[b]), len(byClass[a])),
			cmp.Compare(a.numberType, b.numberType), cmp.Compare(a.kernel, b.kernel), cmp.Compare(a.nodes, b.nodes))
	})
	for _, c := range keys {
		part := byClass[c]
		p, ok := PeakOf(&part[0], s, c.nodes)
		if !ok {
			uncovered += len(part)
			continue
		}
		m, v := subjects[c.slot].fit(part, p)
		if v.Fitted.Rows == 0 { // all of them faster than the peaks allow, or too short
			uncovered += len(part)
			continue
		}
		include(m, &part[0])
		results = append(results, Result{
			Class: c.slot.Name(), Kernel: c.software(), Type: c.numberType, Numbers: m.Numbers(), Validation: v,
			slot: c.slot, row: &part[0], rows: part, model: m,
		})
	}
	doubt(results)
	for _, r := range fastestFirst(results) {
		if r.Doubt == "" || r.Reason != "" {
			add(set, r.row, r.model, &r.Validation)
		}
		if software := r.software(); software != "" && r.named() {
			putBy(set, r, software)
		}
	}
	return results, uncovered
}

// fastestFirst puts faster kernels of a key first where the slot wants the best one.
func fastestFirst(results []Result) []*Result {
	var out []*Result
	for i := range results {
		out = append(out, &results[i])
	}
	for i, a := range out {
		for j := i + 1; j < len(out); j++ {
			b := out[j]
			if a.slot == b.slot && subjects[a.slot].best && KeyOf(a.row) == KeyOf(b.row) && faster(b.rows, a.rows) {
				out[i], out[j] = b, a
				a = b
			}
		}
	}
	return out
}

// faster reports whether rows take less time than others on average over shapes both have.
func faster(rows, others []measurement.Row) bool {
	shape := subjects[rows[0].Kind].shape
	times := make(map[kernel.Shape]float64, len(others))
	for i := range others {
		times[shape(&others[i])] = others[i].Seconds
	}
	sum := 0.0
	for i := range rows {
		if t := times[shape(&rows[i])]; t > 0 {
			sum += math.Log(rows[i].Seconds / t)
		}
	}
	return sum < 0
}

// software is what was measured, and over how many nodes where that counts.
func (c *class) software() string {
	if c.nodes > 0 {
		return fmt.Sprintf("%s, nodes: %d", c.kernel, c.nodes)
	}
	return c.kernel
}

// add puts a model into the set unless there is one, with its error as given by missed.
func add(set *kernel.Set, r *measurement.Row, m kernel.Model, v *Validation) {
	s, key := &subjects[r.Kind], KeyOf(r)
	if there := set.Model(r.Kind, key); there != nil && s.join != nil {
		s.join(there, m)
		return
	}
	set.Put(r.Kind, key, m, missed(r, v))
}

// missed is the error that is kept of a model, negative where none is.
func missed(r *measurement.Row, v *Validation) float64 {
	e := v.Shapes
	if e.Rows == 0 {
		e = v.Largest
	}
	if e.Rows == 0 || r.Kind.Of() == "" {
		return -1
	}
	return Digits(e.Mean / 100)
}

// PeakOf is the peaks that a row is fitted at; false where the system does not have them.
func PeakOf(r *measurement.Row, s *hardware.System, nodes int) (Peak, bool) {
	switch r.Kind.Peak() {
	case kernel.LinkPeak:
		network := 0
		if nodes > 1 {
			network = 1
		}
		if network >= len(s.Networks) {
			return Peak{}, false
		}
		return Peak{Bandwidth: s.Networks[network].Bandwidth * 1e9}, true
	case kernel.HostPeak:
		if s.Memory2 == nil {
			return Peak{}, false
		}
		return Peak{Bandwidth: s.Memory2.GBps * 1e9}, true
	}
	p := Peak{Bandwidth: s.Memory.GBps * 1e9}
	if r.Kind.Peak() != kernel.MemoryPeak {
		p.Rate = rate(s, computed(r)) * 1e12
		return p, p.Rate > 0
	}
	return p, true
}

// rate is in T operations per second; types that are only stored are computed in bfloat16.
func rate(s *hardware.System, numberType string) float64 {
	if m, ok := s.Matrix[numberType]; ok {
		return m.TFlops
	}
	return s.Matrix["bfloat16"].TFlops
}
