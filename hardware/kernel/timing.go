package kernel

// Timing is a prepared model: what it takes to give times on any system. It never changes, so that any number of
// deployments share it.
type Timing interface {
	// Seconds is the time of a shape at a pace.
	Seconds(*Pace, *Shape) float64
	// Beyond reports whether a shape lies beyond what was measured, so that its time is extrapolated.
	Beyond(*Shape) bool
}

// Pace is what the peaks of a system make of work: seconds per operation and per byte.
type Pace struct {
	Flop, Byte float64
	Far        float64 // a byte that goes to another node
	Idle       bool    // nothing computes meanwhile: an exchange may have as many units as it can use
}

// Peak says which peaks of a system the slowdowns of a kernel are relative to.
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

// charged is the time of an operator within a kernel that another operator is charged with.
type charged struct{}

func (charged) Seconds(*Pace, *Shape) float64 { return 0 }
func (charged) Beyond(*Shape) bool            { return false }
