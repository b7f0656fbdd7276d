package kernel

// Timing is a prepared model. It is immutable, so that any number of deployments share it.
type Timing interface {
	Seconds(*Pace, *Shape) float64
	// Beyond reports whether a shape lies beyond what was measured.
	Beyond(*Shape) bool
}

// Pace is seconds per operation and per byte at the peaks of a system.
type Pace struct {
	Flop, Byte float64
	Far        float64 // a byte to another node
	Idle       bool    // nothing computes meanwhile: an exchange may use more units
}

// Peak selects the peaks of a system that a kernel's slowdowns are relative to.
type Peak uint8

const (
	MemoryPeak    Peak = iota // bytes of the memory
	MatrixPeak                // the same, and operations in the number type of matrices
	AttentionPeak             // operations in that of attention
	WidePeak                  // operations in 16 bits, whatever the precision
	LinkPeak                  // bytes of a processor in one direction, to its node and to other nodes
	HostPeak                  // bytes to and from the second memory tier
	PeakCount
)

// charged is the time of an operator whose kernel is charged to another.
type charged struct{}

func (charged) Seconds(*Pace, *Shape) float64 { return 0 }
func (charged) Beyond(*Shape) bool            { return false }
