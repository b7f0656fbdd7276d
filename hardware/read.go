package hardware

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"throughline/internal/document"
)

// reader turns a decoded file into a System and reports problems that involve several keys.
type reader struct{ doc *document.File }

func (r reader) system(f *File) *System {
	s := &System{
		Name: f.Name, Type: f.Type, Maker: f.Maker, Units: f.Units, Indexing: f.Indexing, Generation: f.Generation, Formats: f.Formats, ProcsPerNPU: f.ProcsPerNPU, Kernels: f.Kernels.set, Borrowed: f.borrowed(),
		ExchangeRemark: f.Remark, Power: f.Power, Economics: f.Economics,
		Matrix: make(map[string]MatrixEngine, len(f.Matrix)),
		Vector: make(map[string]VectorEngine, len(f.Vector)),
		Memory: Memory{
			GiB: f.Mem1.GiB, GBps: f.Mem1.GBps, Calibration: f.Mem1.Calibration,
			Efficiency: r.sizes("mem1.MB_efficiency", f.Mem1.Efficiency),
			Attention:  PhaseFactor{f.Mem1.Page, f.Mem1.PagePrefill},
			Cache:      PhaseFactor{f.Mem1.KV, f.Mem1.KVPrefill},
			New:        f.Mem1.New.memory(),
		},
	}
	if f.Mode == "no_overlap" {
		s.Mode = NoOverlap
	}
	for t, e := range f.Matrix {
		s.Matrix[t] = MatrixEngine{e.TFlops, e.Calibration, r.shapes("matrix."+t+".gflops_efficiency", e.Efficiency)}
	}
	for t, e := range f.Vector {
		s.Vector[t] = VectorEngine{e.TFlops, e.Calibration, r.sizes("vector."+t+".gflops_efficiency", e.Efficiency)}
	}
	r.power(f)
	if m := f.Mem2; m != nil {
		s.Memory2 = &SecondMemory{m.GiB, m.GBps, m.HostGBps, r.sizes("mem2.MB_efficiency", m.Efficiency)}
	}
	for i := range f.Networks {
		path := fmt.Sprintf("networks[%d]", i)
		if i > 0 {
			r.nesting(i, f.Networks[i-1].Size, f.Networks[i].Size)
		}
		s.Networks = append(s.Networks, r.network(path, &f.Networks[i]))
	}
	switch {
	case f.Overlap != nil:
		s.CollectiveOverlap = *f.Overlap
	case f.Type == "sow":
		// On these wafers the published sample adds no time for collectives.
		s.CollectiveOverlap = 1
	}
	if s.Generation == "" {
		s.Generation = s.inherited()
	}
	if s.Maker == "" {
		s.Maker = MakerOf(s.Generation)
	}
	return s
}

// inherited is the generation of the built-in system of the name or of its own kernels, if any.
func (s *System) inherited() string {
	if g := GenerationOf(s.Name); g != "" || s.Kernels == nil || !s.Has(s.Kernels) {
		return g
	}
	return GenerationOf(s.Kernels.System)
}

// GenerationOf is the generation of the built-in system of a name, if any.
func GenerationOf(name string) string { return families().generations[name] }

// MakerOf is the maker of the chips of a generation, if a built-in system is of it.
func MakerOf(generation string) string { return families().makers[generation] }

// families are the generations of the built-in systems by name, and their makers by generation.
var families = sync.OnceValue(func() (out struct{ generations, makers map[string]string }) {
	out.generations, out.makers = map[string]string{}, map[string]string{}
	for _, name := range Catalogue.Names() {
		src, _ := Catalogue.Find(name)
		var f struct{ Name, Maker, Generation string }
		if err := json.Unmarshal(src, &f); err != nil {
			panic(fmt.Sprintf("the built-in system %s: %v", name, err)) // a test reads them all
		}
		out.generations[f.Name], out.makers[f.Generation] = f.Generation, f.Maker
	}
	return out
})

// power reports watts and clocks that contradict each other, and operations without energy.
func (r reader) power(f *File) {
	p := f.Power
	if p == nil {
		return
	}
	if p.On < p.Rest && r.doc.Sound("power.on_W") && r.doc.Sound("power.rest_W") {
		r.doc.Problemf("power.on_W", "must be at least rest_W (%g), not %g", p.Rest, p.On)
	}
	const clock = "power.clock.lowest_MHz"
	if c := &p.Clock; c.Lowest > c.MHz && r.doc.Sound(clock) && r.doc.Sound("power.clock.MHz") {
		r.doc.Problemf(clock, "must be at most MHz (%g), not %g", c.MHz, c.Lowest)
	}
	const flops = "power.pJ_per_flop"
	if !r.doc.Sound(flops) {
		return
	}
	for _, t := range slices.Sorted(maps.Keys(f.Matrix)) {
		if _, known := p.Flop[t]; !known {
			r.doc.Problemf(flops, "missing required key %q, which matrix computes", t)
		}
	}
}

// nesting reports a network level that is no larger than the level inside it.
func (r reader) nesting(i, inner, size int) {
	at := fmt.Sprintf("networks[%d].size", i)
	if size <= inner && r.doc.Sound(at) && r.doc.Sound(fmt.Sprintf("networks[%d].size", i-1)) {
		r.doc.Problemf(at, "must be larger than the size of the level inside it (%d), not %d", inner, size)
	}
}

func (r reader) network(path string, f *networkFile) Network {
	n := Network{
		Bandwidth: f.Bandwidth, Efficiency: f.Efficiency, Topology: f.Topology, Library: f.Library, Formula: f.Formula, Size: f.Size, Latency: f.Latency,
		MessageSize: r.sizes(path+".DB_efficiency", f.DBEfficiency), ProcessorUsage: f.ProcessorUsage,
	}
	for c, key := range collectiveKeys {
		p := path + ".ops." + key
		op, ok := f.Ops[key]
		if !ok {
			if f.Ops != nil {
				r.doc.Problemf(path+".ops", "missing required key %q", key)
			}
			continue
		}
		rate := CollectiveRate{Lowest: math.Inf(1)}
		if s := op.Scalar[0]; s != nil {
			rate.Scale = *s
		}
		if o := op.Scalar[1]; o != nil {
			rate.Offset = *o
		}
		if at := p + ".op_scalar[0]"; rate.Scale <= 0 && r.doc.Sound(p+".op_scalar") {
			r.doc.Problemf(at, "must be greater than 0: it scales the volume")
		}
		for j, row := range op.Groups {
			at := fmt.Sprintf("%s.bandwidth_eff[%d]", p, j)
			if row[0] != math.Trunc(row[0]) {
				r.doc.Problemf(at+"[0]", "must be a whole number of processors, not %g", row[0])
			}
			r.efficiency(at+"[1]", row[1])
			rate.Groups = append(rate.Groups, GroupEfficiency{int(row[0]), row[1]})
			rate.Lowest = min(rate.Lowest, row[1])
		}
		n.Ops[c] = rate
	}
	return n
}

// minEfficiency is below everything ever measured, and far enough above 0 to divide by.
const minEfficiency = 1e-6

// efficiency reports a value that is not a share of a peak.
func (r reader) efficiency(path string, e float64) {
	switch {
	case e <= 0:
		r.doc.Problemf(path, "must be greater than 0, not %g", e)
	case e < minEfficiency:
		r.doc.Problemf(path, "must be at least %f, not %g", minEfficiency, e)
	case e > 1:
		r.doc.Problemf(path, "must be at most 1, not %g", e)
	}
}

// sizes turns rows [threshold, efficiency] into a table; no rows: efficiency 1.
func (r reader) sizes(path string, rows [][2]float64) SizeTable {
	if len(rows) == 0 {
		return SizeTable{{0, 1}}
	}
	t := make(SizeTable, len(rows))
	ordered := true // so far; a table in the wrong order is one mistake
	for i, row := range rows {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.efficiency(at+"[1]", row[1])
		if i > 0 && ordered && row[0] >= rows[i-1][0] {
			ordered = false
			r.doc.Problemf(at+"[0]", "is never reached: thresholds go from large to small, and %g does not lie below %g", row[0], rows[i-1][0])
		}
		t[i] = SizeRow{row[0], row[1]}
	}
	return t
}

// shapes turns rows [m, n, k, efficiency] into a table; no rows: efficiency 1.
func (r reader) shapes(path string, rows [][4]*float64) ShapeTable {
	if len(rows) == 0 {
		return ShapeTable{{Efficiency: 1}}
	}
	t := make(ShapeTable, len(rows))
	misplaced := false // a row without bounds was not the last
	for i, row := range rows {
		at := fmt.Sprintf("%s[%d]", path, i)
		bounds := [3]float64{}
		bounded := false
		for j, p := range row[:3] {
			if p != nil {
				bounded = true
				bounds[j] = *p
				if *p < 0 {
					r.doc.Problemf(fmt.Sprintf("%s[%d]", at, j), "must be at least 0 or null, not %g", *p)
				}
			}
		}
		if row[3] == nil {
			r.doc.Problemf(at+"[3]", "must be an efficiency, not null")
		} else {
			r.efficiency(at+"[3]", *row[3])
			t[i].Efficiency = *row[3]
		}
		t[i].M, t[i].N, t[i].K = bounds[0], bounds[1], bounds[2]
		switch last := i == len(rows)-1; {
		case last && bounded && !misplaced:
			r.doc.Problemf(at, "must be [null, null, null, efficiency]: the last row serves every shape")
		case !last && !bounded:
			misplaced = true
			r.doc.Problemf(at, "has no bound, so the rows after it are never reached; put it last")
		}
	}
	return t
}
