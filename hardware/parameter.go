package hardware

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Parameter is one number of systems of the same form, by its path in a system file.
type Parameter struct {
	Name      string
	Unit      string // empty: a factor
	Low, High float64
	Whole     bool // rounded to integers

	get func(*System) float64
	set func(*System, float64)
}

func (p *Parameter) Of(s *System) float64 { return p.get(s) }

// With is a copy of a system with another value.
func (p *Parameter) With(s *System, v float64) *System {
	c := s.Clone()
	p.Set(c, v)
	return c
}

// Set changes the value in a system, rounded and within its bounds. A scan clones a system once and
// changes the clone: whatever prices on it has to be updated after every change.
func (p *Parameter) Set(s *System, v float64) { p.set(s, min(max(v, p.Low), p.High)) }

// Clone is a copy whose numbers can be changed independently. Tables of efficiencies are shared.
func (s *System) Clone() *System {
	c := *s
	c.Matrix = maps.Clone(s.Matrix)
	c.Vector = maps.Clone(s.Vector)
	c.Networks = slices.Clone(s.Networks)
	if s.Memory.New != nil {
		fresh := *s.Memory.New
		c.Memory.New = &fresh
	}
	if s.Memory2 != nil {
		second := *s.Memory2
		c.Memory2 = &second
	}
	if s.Power != nil {
		power := *s.Power
		c.Power = &power
	}
	return &c
}

// beyond speeds up everything that has a rate: a second of work takes a picosecond.
const beyond = 1e12

// Unlimited is the system with rates beyond any limit, on which only static time remains.
func (s *System) Unlimited() *System {
	c := s.Clone()
	s.UnlimitedIn(c)
	return c
}

// UnlimitedIn is Unlimited in the memory of a clone of a system.
func (s *System) UnlimitedIn(c *System) {
	own := *c
	*c = *s
	c.Matrix, c.Vector, c.Networks = own.Matrix, own.Vector, append(own.Networks[:0], s.Networks...)
	clear(c.Matrix)
	for t, rate := range s.Matrix {
		rate.TFlops *= beyond
		c.Matrix[t] = rate
	}
	clear(c.Vector)
	for t, rate := range s.Vector {
		rate.TFlops *= beyond
		c.Vector[t] = rate
	}
	c.Memory.GBps *= beyond
	for i := range c.Networks {
		c.Networks[i].Bandwidth *= beyond
	}
}

// Bounds of the system format.
const (
	leastRate    = 1e-6
	greatestRate = 1e9
	greatestGain = 1e6
)

func number(name, unit string, low, high float64, field func(*System) *float64) Parameter {
	return Parameter{
		Name: name, Unit: unit, Low: low, High: high,
		get: func(s *System) float64 { return *field(s) },
		set: func(s *System, v float64) { *field(s) = v },
	}
}

func integer(name, unit string, low, high float64, field func(*System) *int) Parameter {
	return Parameter{
		Name: name, Unit: unit, Low: low, High: high, Whole: true,
		get: func(s *System) float64 { return float64(*field(s)) },
		set: func(s *System, v float64) { *field(s) = int(math.Round(v)) },
	}
}

// engine is a parameter of an engine, in a map by number type.
func engine[E any](name, unit string, high float64, engines func(*System) map[string]E, key string, field func(*E) *float64) Parameter {
	return Parameter{
		Name: name, Unit: unit, Low: leastRate, High: high,
		get: func(s *System) float64 {
			e := engines(s)[key]
			return *field(&e)
		},
		set: func(s *System, v float64) {
			e := engines(s)[key]
			*field(&e) = v
			engines(s)[key] = e
		},
	}
}

// Parameters are the numbers of a system outside of tables, in the order of the format.
func (s *System) Parameters() []Parameter {
	var out []Parameter
	add := func(p Parameter) { out = append(out, p) }
	matrix := func(s *System) map[string]MatrixEngine { return s.Matrix }
	for _, t := range s.MatrixTypes() {
		add(engine("matrix."+t+".tflops", "T/s", greatestRate, matrix, t, func(e *MatrixEngine) *float64 { return &e.TFlops }))
		add(engine("matrix."+t+".calibration_coefficient", "", 1, matrix, t, func(e *MatrixEngine) *float64 { return &e.Calibration }))
	}
	vector := func(s *System) map[string]VectorEngine { return s.Vector }
	for _, t := range s.VectorTypes() {
		add(engine("vector."+t+".tflops", "T/s", greatestRate, vector, t, func(e *VectorEngine) *float64 { return &e.TFlops }))
		add(engine("vector."+t+".calibration_coefficient", "", 1, vector, t, func(e *VectorEngine) *float64 { return &e.Calibration }))
	}
	add(number("mem1.GiB", "GiB", leastRate, greatestRate, func(s *System) *float64 { return &s.Memory.GiB }))
	add(number("mem1.GBps", "GB/s", leastRate, greatestRate, func(s *System) *float64 { return &s.Memory.GBps }))
	add(number("mem1.calibration_coefficient", "", leastRate, 1, func(s *System) *float64 { return &s.Memory.Calibration }))
	add(number("mem1.page_attention_calibration_coefficient", "", leastRate, greatestGain, func(s *System) *float64 { return &s.Memory.Attention.Decode }))
	add(number("mem1.page_attention_calibration_coefficient_prefill", "", leastRate, greatestGain, func(s *System) *float64 { return &s.Memory.Attention.Prefill }))
	add(number("mem1.kv_cache_calibration_coefficient", "", leastRate, greatestGain, func(s *System) *float64 { return &s.Memory.Cache.Decode }))
	add(number("mem1.kv_cache_calibration_coefficient_prefill", "", leastRate, greatestGain, func(s *System) *float64 { return &s.Memory.Cache.Prefill }))
	if s.Memory.New != nil {
		add(number("mem1.new.GBps", "GB/s", leastRate, greatestRate, func(s *System) *float64 { return &s.Memory.New.GBps }))
		add(number("mem1.new.thread_GBps", "GB/s", leastRate, greatestRate, func(s *System) *float64 { return &s.Memory.New.ThreadGBps }))
		add(number("mem1.new.MiB", "MiB", 0, greatestRate, func(s *System) *float64 { return &s.Memory.New.MiB }))
	}
	if s.Memory2 != nil {
		add(number("mem2.GiB", "GiB", leastRate, greatestRate, func(s *System) *float64 { return &s.Memory2.GiB }))
		add(number("mem2.GBps", "GB/s", leastRate, greatestRate, func(s *System) *float64 { return &s.Memory2.GBps }))
		add(number("mem2.host_GBps", "GB/s", 0, greatestRate, func(s *System) *float64 { return &s.Memory2.HostGBps }))
	}
	for i := range s.Networks {
		path := fmt.Sprintf("networks[%d].", i)
		add(number(path+"bandwidth", "GB/s", leastRate, greatestRate, func(s *System) *float64 { return &s.Networks[i].Bandwidth }))
		add(number(path+"efficiency", "", leastRate, 1, func(s *System) *float64 { return &s.Networks[i].Efficiency }))
		low, high := s.sizesAround(i)
		add(integer(path+"size", "processors", low, high, func(s *System) *int { return &s.Networks[i].Size }))
		add(number(path+"latency", "s", 0, 1, func(s *System) *float64 { return &s.Networks[i].Latency }))
		add(number(path+"processor_usage", "", 0, math.Nextafter(1, 0), func(s *System) *float64 { return &s.Networks[i].ProcessorUsage }))
	}
	add(number("kernel_launch", "s", 0, 1, func(s *System) *float64 { return &s.Borrowed.Launch }))
	if s.Borrowed.WeightOnly > 0 {
		add(number("kernel_weight_only", "", 1, 1000, func(s *System) *float64 { return &s.Borrowed.WeightOnly }))
	}
	if s.Units > 0 {
		add(integer("multiprocessors", "", 1, 1e6, func(s *System) *int { return &s.Units }))
	}
	if s.Indexing > 0 {
		add(number("index_efficiency", "", leastRate, 1, func(s *System) *float64 { return &s.Indexing }))
	}
	if s.Power != nil {
		add(Parameter{
			Name: "power.limit_W", Unit: "W", Low: 1, High: greatestGain, get: (*System).Limit,
			set: func(s *System, v float64) {
				if s.Power.Limit = v; s.PowerLimit > 0 {
					s.PowerLimit = v
				}
			},
		})
	}
	add(integer("procs_per_npu", "processors", 1, 1e6, func(s *System) *int { return &s.ProcsPerNPU }))
	add(number("collective_overlap", "", 0, 1, func(s *System) *float64 { return &s.CollectiveOverlap }))
	return out
}

// sizesAround are the bounds of a network level's size: between those of its neighbours.
func (s *System) sizesAround(level int) (low, high float64) {
	low, high = 1, greatestRate
	if level > 0 {
		low = float64(s.Networks[level-1].Size + 1)
	}
	if level < len(s.Networks)-1 {
		high = float64(s.Networks[level+1].Size - 1)
	}
	return low, high
}

// Parameter finds a number of the system by its path.
func (s *System) Parameter(name string) (Parameter, bool) {
	for _, p := range s.Parameters() {
		if p.Name == name {
			return p, true
		}
	}
	return Parameter{}, false
}
