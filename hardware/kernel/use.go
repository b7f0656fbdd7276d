package kernel

// Role is the part that an operator plays in a kernel. Engines fuse what the operators list one by one: residuals with
// the norm behind them, the gate with its multiplication, softmax and the two products of attention.
type Role uint8

const (
	Whole  Role = iota // the time of the kernel is that of the operator
	Within             // part of a kernel whose time is charged to another operator: it takes none of its own
	Beside             // fused with a kernel that moves bytes: its own at no latency
	Alone              // a kernel of its own that only moves bytes, at the rate of the slot's kernel

	// Part of the kernel behind where that was measured with it, which include.go says; otherwise none.
	Quantised // what a product reads is made narrow
	Routed    // experts are chosen
	GatesMade // decay and strength of linear attention are made
	Rotated   // queries and keys get their positions, and the cache grows

	// Bare is the whole kernel without the quantisation of its input, where that was measured with it.
	Bare
	// Following is a kernel of its own whose time is charged to another operator, as blocks of experts are timed as a whole: it takes
	// none but what it is launched later than where it was measured.
	Following
	RoleCount
)

// Charged reports whether the time of the operator is another's.
func (r Role) Charged() bool { return r == Within || r == Following }

// Launched reports whether the operator is a kernel that is started by itself. What was only measured with another is.
func (r Role) Launched() bool {
	return r == Whole || r == Alone || r == Bare || r == Following || r.Included()
}

// Use is a kernel and the part that an operator plays in it.
type Use struct {
	Slot Slot
	Role Role
}

// Uses are what an operator runs in: the first whose kernel is calibrated counts. Where none is, the role of the last says
// whether the operator is a kernel of its own at all.
type Uses [3]Use

// Own reports whether the operator is a kernel of its own where none of its kernels is calibrated.
func (u *Uses) Own() bool {
	for i := len(u) - 1; i >= 0; i-- {
		if u[i] != (Use{}) {
			return u[i].Role != Within
		}
	}
	return true
}

// Shape is what an operator tells its kernel. Every kind looks at some of it only.
type Shape struct {
	// M, N, K is a product: tokens, outputs, inputs. Of attention: new tokens of all sequences, tokens that each of them
	// attends to, the width of a key. Of linear attention: tokens, the widths of a value and of a key. Of an exchange:
	// tokens, experts of each, width.
	M, N, K float64
	// Count is the matrices that are multiplied by, or the sequences whose tokens attention treats apart.
	Count float64
	// Rows is those that each matrix multiplies on the busiest processor; of a norm, those that it normalises.
	Rows float64
	// Moved is the bytes that are read and written; of attention, those of the cache; of communication, of the message.
	Moved float64
	// Heads of queries on KVHeads of keys and values, a value being Value wide.
	Heads, KVHeads, Value int32
	// Group of processors that communicate. An exchange chooses from Experts, over so many Nodes: those of a token from the
	// best Limit of Groups that the experts are in; 0: from all.
	Group, Experts       int32
	Nodes, Groups, Limit int16
	// Gated: the outputs of an expert block are gates as well; linear attention follows the gated delta rule.
	Gated bool
	// Uneven: by chance each matrix sees another number of rows, Rows on average.
	Uneven bool
}

// Tiled is the rows in kernels that work on whole tiles. Kernels are calibrated with even rows, in whole tiles mostly.
// Where each matrix sees another number, half of its last tile is empty on average; below half a tile the calibration has
// that in it.
func (s *Shape) Tiled() float64 {
	const tile = 128
	if !s.Uneven {
		return s.Rows
	}
	return s.Rows + min(max(s.Rows-tile/2, 0), tile/2)
}
