// Package hardware describes a chip and the networks that join it to others: peak rates by engine
// and number type, memory, efficiencies, latencies.
package hardware

import (
	"maps"
	"slices"

	"throughline/hardware/kernel"
)

// System is one kind of processor together with the networks between many of them.
type System struct {
	Name  string
	Type  string
	Maker string // empty: unknown
	Units int    // multiprocessors; 0: unknown
	// Indexing is the share of the 8-bit peak that indexers reach on prompts; 0: unmeasured.
	Indexing float64
	// Generation is that of the chip, by which engines choose kernels; empty: unknown.
	Generation string
	Formats    []string                // that its matrix units multiply; none: all whose type has a rate
	Matrix     map[string]MatrixEngine // by number type: float4, float8, …
	Vector     map[string]VectorEngine
	Memory     Memory
	Memory2    *SecondMemory // nil: the chip has one tier
	Mode       ProcessingMode
	Networks   []Network  // from the innermost level to the outermost
	Power      *Power     // nil: not known
	PowerLimit float64    // watts; 0: as delivered
	Economics  *Economics // nil: not known
	// ProcsPerNPU is how many processors make one card, for results per card.
	ProcsPerNPU int
	// CollectiveOverlap is the share of every collective that is hidden behind computation.
	CollectiveOverlap float64
	// Kernels are calibrated models of kernels; nil: a plain roofline.
	Kernels *kernel.Set
	// Borrowed is how kernels measured on another chip perform on this one; zero: alike.
	Borrowed Borrowed
	// ExchangeRemark is a warning for systems whose processors exchange something.
	ExchangeRemark string
}

// chipTypes are the number types at whose rate matrix units multiply a format.
var chipTypes = map[string]string{
	"nvfp4": "float4", "mxfp4": "float4", "fp8": "float8", "int8": "int8", "int4": "int4", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32",
}

// Computes reports whether the matrix units multiply a number format.
func (s *System) Computes(format string) bool {
	_, rated := s.Matrix[chipTypes[format]]
	return rated && (len(s.Formats) == 0 || slices.Contains(s.Formats, format))
}

// NodeSize is the default number of processors per node. A first network that joins more of them
// reaches beyond nodes, as NVLink does in racks.
const NodeSize = 8

// InNodes is the system with procs processors per node. Its first network joins no more than those,
// unless it reaches beyond nodes: then they only determine where servers run.
func (s *System) InNodes(procs int) *System {
	if first := s.Networks[0].Size; procs >= first || first > NodeSize {
		return s
	}
	out := *s
	out.Networks = slices.Clone(s.Networks)
	out.Networks[0].Size = procs
	return &out
}

// Borrowed is how kernels perform on a chip that they were not measured on, at its own peaks.
type Borrowed struct {
	Efficiency [kernel.KindCount]float64 // share of their speed by kind; 0: all of it
	Memory     float64                   // share of their bandwidth, of kinds that compute; 0: as their speed
	Launch     float64                   // extra seconds for each
	// WeightOnly bounds the speedup of narrow weights multiplied in 16 bits; 0: by their bytes.
	WeightOnly float64
}

// BytePace is how much longer a byte takes than an operation of the same kernel slows down: their
// times are divided by the share of the kind, which is one of operations.
func (b *Borrowed) BytePace(kind kernel.Kind) float64 {
	if b.Memory == 0 || b.Efficiency[kind] == 0 {
		return 1
	}
	return b.Efficiency[kind] / b.Memory
}

// ProcessingMode is how the compute and the memory time of an operator combine.
type ProcessingMode uint8

const (
	Roofline  ProcessingMode = iota // the longer of the two
	NoOverlap                       // their sum
)

// MatrixEngine is the rate of the matrix unit for one number type.
type MatrixEngine struct {
	TFlops      float64
	Calibration float64
	Efficiency  ShapeTable
}

// VectorEngine is the rate of the vector unit for one number type.
type VectorEngine struct {
	TFlops      float64
	Calibration float64
	Efficiency  SizeTable // by operator size in units of 1e9 flops
}

type Memory struct {
	GiB         float64
	GBps        float64
	Calibration float64
	Efficiency  SizeTable // by bytes moved, in MB of 1e6 bytes
	Attention   PhaseFactor
	Cache       PhaseFactor
	New         *NewMemory // nil: memory that a framework allocates costs nothing
}

// NewMemory is the rate, of all cores and of one, at which an operating system hands out memory:
// pages are zeroed as they are first touched.
type NewMemory struct {
	GBps, ThreadGBps float64
	MiB              float64 // smallest block that an allocator returns, so that it is new next time
}

// PhaseFactor is a factor on memory efficiency that differs between the phases.
type PhaseFactor struct{ Decode, Prefill float64 }

func (f PhaseFactor) In(prefill bool) float64 {
	if prefill {
		return f.Prefill
	}
	return f.Decode
}

// SecondMemory is a slower tier behind the device memory.
type SecondMemory struct {
	GiB, GBps  float64
	HostGBps   float64 // at which the host's own processor reads it; 0: unknown
	Efficiency SizeTable
}

// Network is one level of the interconnect.
type Network struct {
	Bandwidth      float64 // GB/s of one processor
	Efficiency     float64
	Topology       string
	Library        string    // what drives collectives that span several groups of the level below: plain, nccl
	Formula        bool      // collectives within it take the formula, even if kernels were measured
	MessageSize    SizeTable // efficiency by message size, in MB of 1e6 bytes
	Size           int       // processors in one group of this level
	Latency        float64   // seconds per hop
	Ops            [CollectiveCount]CollectiveRate
	ProcessorUsage float64 // share of compute that overlapping communication takes
}

// Collective is a communication pattern.
type Collective uint8

const (
	PointToPoint Collective = iota
	ReduceScatter
	AllGather
	AllReduce
	AllToAll
	CollectiveCount
)

var collectiveNames = [CollectiveCount]string{"point to point", "reduce-scatter", "all-gather", "all-reduce", "all-to-all"}

func (c Collective) String() string { return collectiveNames[c] }

// Members is where the processors of a group lie: Group of them, evenly within Span consecutive
// ones. Such groups follow one another through World processors, aligned with every network level
// at the start; 0: no group crosses a border needlessly.
type Members struct{ Group, Span, World int }

// Within reports whether each of the groups lies within one group of a level of the given size.
func (m Members) Within(size int) bool {
	return m.Span <= size && (m.World <= size || size%m.Span == 0)
}

// CollectiveRate scales the volume and the bandwidth of one collective on one level.
type CollectiveRate struct {
	Scale, Offset float64 // volume = bytes · Scale · (1 + Offset/group)
	Groups        []GroupEfficiency
	Lowest        float64 // efficiency of unlisted group sizes
}

// GroupEfficiency is a measured bandwidth efficiency at one group size.
type GroupEfficiency struct {
	Size       int
	Efficiency float64
}

// EfficiencyAt is the bandwidth efficiency for a group of n: the listed value, else the lowest.
func (c *CollectiveRate) EfficiencyAt(n int) float64 {
	for i := range c.Groups {
		if c.Groups[i].Size == n {
			return c.Groups[i].Efficiency
		}
	}
	return c.Lowest
}

// Volume is what one processor sends for a collective over n processors on the given bytes.
func (c *CollectiveRate) Volume(bytes float64, n int) float64 {
	return bytes * c.Scale * (1 + c.Offset/float64(n))
}

// IsHost reports whether the processor is a CPU, which launches its own operators.
func (s *System) IsHost() bool { return s.Type == "cpu" }

// Between is the span of transfers between two systems: different ones meet on their outermost
// networks, since a node or a rack has processors of one kind.
func Between(a, b *System, span int) int {
	if a.Name == b.Name {
		return span
	}
	for _, s := range []*System{a, b} {
		if n := len(s.Networks); n > 1 {
			span = max(span, s.Networks[n-2].Size+1)
		}
	}
	return span
}

// MaxProcs is the number of processors that the outermost network joins.
func (s *System) MaxProcs() int { return s.Networks[len(s.Networks)-1].Size }

// MatrixTypes and VectorTypes are the number types the system has, sorted.
func (s *System) MatrixTypes() []string { return slices.Sorted(maps.Keys(s.Matrix)) }
func (s *System) VectorTypes() []string { return slices.Sorted(maps.Keys(s.Vector)) }
