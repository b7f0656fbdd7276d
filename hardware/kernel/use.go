package kernel

// Role is the part of an operator in a kernel. Engines fuse operators: residuals with the next
// norm, the gate with its multiplication, softmax with the two products of attention.
type Role uint8

const (
	Full   Role = iota // the kernel's time is the operator's
	Within             // part of a kernel charged to another operator
	Beside             // fused with a kernel that moves bytes: its bytes without latency
	Alone              // a separate kernel that only moves bytes, at the rate of the slot's

	// Part of the kernel behind where that was measured with it, by include.go; otherwise none.
	Quantised // a product's input is quantised
	Routed    // experts are chosen
	GatesMade // decay and strength of linear attention are made
	Rotated   // queries and keys get their positions, and the cache is written

	// Bare is the kernel without the quantisation of its input that it was measured with.
	Bare
	// Following is a separate kernel charged to another operator, as in blocks of experts: it only
	// takes the extra launch latency of a chip it was not measured on.
	Following
	RoleCount
)

// Charged reports whether the time of the operator is another's.
func (r Role) Charged() bool { return r == Within || r == Following }

// Launched reports whether the operator is launched separately, even if measured with another.
func (r Role) Launched() bool {
	return r == Full || r == Alone || r == Bare || r == Following || r.Included()
}

// Use is a kernel and an operator's part in it.
type Use struct {
	Slot Slot
	Role Role
}

// Uses are the kernels of an operator, of which the first calibrated one counts. If none is, the
// role of the last tells whether the operator is a separate kernel.
type Uses [3]Use

// Own reports whether the operator is a separate kernel where none of its kernels is calibrated.
func (u *Uses) Own() bool {
	for i := len(u) - 1; i >= 0; i-- {
		if u[i] != (Use{}) {
			return u[i].Role != Within
		}
	}
	return true
}

// Shape is the dimensions of an operator. Every kind of kernel uses some of them.
type Shape struct {
	// M, N, K of a product: tokens, outputs, inputs. Of attention: new tokens of all sequences,
	// tokens each attends to, width of a key. Of linear attention: tokens, widths of a value and of
	// a key. Of an exchange: tokens, experts of each, width.
	M, N, K float64
	// Count is the matrices of a product, or the sequences of an attention.
	Count float64
	// Rows per matrix on the busiest processor; of a norm, the rows that it normalises; of
	// attention in prefill, the fewest queries of a sequence that are computed, if not the kernel's
	// tile.
	Rows float64
	// Moved is the bytes read and written; of attention the cache, of communication the message.
	Moved float64
	// Heads of queries on KVHeads of keys and values, a value being Value wide.
	Heads, KVHeads, Value int32
	// Group of processors that communicate. An exchange chooses from Experts over Nodes, for each
	// token from the best Limit of Groups of experts; 0: from all.
	Group, Experts       int32
	Nodes, Groups, Limit int16
	// Gated: an expert block has gates; linear attention follows the gated delta rule.
	Gated bool
	// Untuned: an expert block has no tiles tuned for its shape.
	Untuned bool
	// Uneven: rows per matrix vary by chance, with Rows as their mean.
	Uneven bool
}

// tile is the largest of most kernels.
const tile = 128

// tiled is uneven rows in kernels of complete tiles, calibrated with even ones: half of a matrix's
// last tile is empty on average; below half a tile that is in the calibration.
func (s *Shape) tiled() float64 { return s.Rows + min(max(s.Rows-tile/2, 0), tile/2) }

// fitted is uneven rows in kernels that fit their tiles to them: half of the rows, up to 128. The
// even rows of tables are powers of two and half-way between, so that a quarter of a last tile is
// empty; of uneven ones half is, a quarter more.
//
// Chosen: experts with power-law loads in aiconfigurator's tables of H200, GB200, A100; 2026-11-19.
func (s *Shape) fitted() float64 { return s.Rows + min(s.Rows/2, tile)/4 }
