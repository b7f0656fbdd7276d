package measurement

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/hardware/kernel"
)

// The third schema is tables whose path tells what was measured, as InferSim keeps them:
//
//	gemm/GPU/data.csv                          m,k,n,latency_us,mfu
//	grouped_gemm/decode|prefill/GPU/data.csv   num_local_experts,...,up_proj_us,up_mfu,down_...
//	mha/decode|prefill/GPU/HEADS-KVHEADS-DIM.csv
//	mla/decode/GPU/HEADS-512-64.csv, mla/prefill/GPU/HEADS-128-64.csv
//	dsa/..., gdn/...                           sparse and linear attention, which have no model
//
// Products are of float8 with block scales. Attention computes in bfloat16, with some float8
// caches; prefill is one causal sequence. The column mfu is the share of peak reached, to three
// digits or better, and settles what the other columns leave open: see expertRows.

// place is what the path of a table tells.
type place struct {
	kind, phase, gpu string
	shape            []int // numbers of the file's name
}

// kinds of named tables; true where there is one for each phase.
var namedKinds = map[string]bool{"gemm": false, "grouped_gemm": true, "mha": true, "mla": true, "dsa": true, "gdn": true}

// Name is how messages name a table: what of its path tells tables apart.
func Name(file string) string {
	parts := strings.Split(filepath.ToSlash(file), "/")
	for _, back := range []int{4, 3} {
		if len(parts) < back {
			continue
		}
		tail := parts[len(parts)-back:]
		if phased, ok := namedKinds[tail[0]]; ok && phased == (back == 4) {
			return path.Join(tail...)
		}
	}
	return parts[len(parts)-1]
}

// placeOf reads a name that Name gave.
func placeOf(name string) (p place, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) < 3 {
		return p, false
	}
	p.kind, p.gpu = parts[0], parts[len(parts)-2]
	if len(parts) == 4 {
		p.phase = parts[1]
	}
	base, _, _ := strings.Cut(parts[len(parts)-1], ".")
	for s := range strings.SplitSeq(base, "-") {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			p.shape = nil
			break
		}
		p.shape = append(p.shape, n)
	}
	return p, true
}

// decodeColumns are those of attention in decode. One published table lacks its header.
var decodeColumns = []string{"dtype", "kv_dtype", "batch_size", "kv_len", "latency_us", "mfu"}

// headless says that a record is a row of attention in decode where a header should be.
func headless(rec []string) bool {
	if len(rec) != len(decodeColumns) || numberType(rec[0]) == rec[0] {
		return false
	}
	for _, v := range rec[2:] {
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return false
		}
	}
	return true
}

// peaks of float8 in operations per second, to which mfu is relative.
var peaks = map[string]float64{"h20": 296e12, "h800": 1979e12}

// newNamed reads a table by its path and columns; nil without an error if it is no such table.
func newNamed(name string, head []string) (func([]string) ([]Row, error), error) {
	p, known := placeOf(name)
	has := func(columns ...string) bool {
		for _, c := range columns {
			if !slices.Contains(head, c) {
				return false
			}
		}
		return true
	}
	no := func(why string) func([]string) ([]Row, error) {
		return func([]string) ([]Row, error) { return nil, fmt.Errorf("no model of %s", why) }
	}
	unnamed := func(want string) error {
		return fmt.Errorf("the shape of this table is in its path, which should end in %s", want)
	}
	switch {
	case p.kind == "dsa":
		return no("sparse attention"), nil
	case p.kind == "gdn":
		return no("linear attention"), nil
	case has("m", "k", "n", "latency_us"):
		return plainProducts(head), nil
	case has("num_local_experts", "tokens_per_expert", "up_proj_us", "up_mfu", "down_proj_us", "down_mfu"):
		if p.kind != "grouped_gemm" {
			return nil, unnamed("grouped_gemm/decode/GPU/data.csv or grouped_gemm/prefill/GPU/data.csv")
		}
		if peaks[p.gpu] == 0 {
			return nil, fmt.Errorf("the peak that mfu is relative to is known for h20 and h800, not for %s", p.gpu)
		}
		return expertProducts(head, peaks[p.gpu]), nil
	case has(decodeColumns[:5]...), has("dtype", "seq_len", "latency_us"):
		decode := has("kv_len")
		if !known || len(p.shape) != 3 || p.phase == "decode" != decode || p.kind != "mha" && p.kind != "mla" {
			phase := "prefill"
			if decode {
				phase = "decode"
			}
			return nil, unnamed(fmt.Sprintf("mha/%s/GPU/HEADS-KVHEADS-DIM.csv or mla/%[1]s/GPU/HEADS-WIDTH-ROTATED.csv", phase))
		}
		return attention(head, p)
	}
	return nil, nil
}

// reader finds the fields of a record by column.
type reader struct {
	head []string
	err  error
}

func (r *reader) text(rec []string, column string) string {
	if i := slices.Index(r.head, column); i >= 0 {
		return rec[i]
	}
	return ""
}

// count is a dimension of at least 1.
func (r *reader) count(rec []string, column string) int {
	n, err := integer(column, r.text(rec, column))
	if err == nil && n == 0 {
		err = fmt.Errorf("%s is 0", column)
	}
	if r.err == nil {
		r.err = err
	}
	return n
}

func (r *reader) micros(rec []string, column string) float64 {
	s, err := seconds(r.text(rec, column), 1e-6)
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", column, err)
	}
	return s
}

var (
	plainLayout    = layout{[]string{"m", "n", "k"}, []string{"kernel", "dtype"}}
	groupedLayout  = layout{[]string{"experts", "m", "n", "k"}, []string{"kernel", "dtype"}}
	decodeLayout   = layout{[]string{"b", "s", "h", "hk", "d"}, []string{"kv"}}
	prefillLayout  = layout{[]string{"b", "s", "h", "hk", "dq", "dv"}, nil}
	latentLayout   = layout{[]string{"b", "s", "h"}, []string{"kv"}}
	blockScaledFP8 = []string{"deepgemm", "fp8_block"}
)

func plainProducts(head []string) func([]string) ([]Row, error) {
	return func(rec []string) ([]Row, error) {
		r := reader{head: head}
		dims := []int{r.count(rec, "m"), r.count(rec, "n"), r.count(rec, "k")}
		t := r.micros(rec, "latency_us")
		return []Row{{Kind: kernel.Gemm, Type: "float8", Seconds: t, layout: &plainLayout, dims: dims, labels: blockScaledFP8}}, r.err
	}
}

// scaled is the width of blocks that share a scale; experts' inner widths were padded to it.
const scaled = 128

func expertProducts(head []string, peak float64) func([]string) ([]Row, error) {
	return func(rec []string) ([]Row, error) {
		r := reader{head: head}
		local, tokens := r.count(rec, "num_local_experts"), r.count(rec, "tokens_per_expert")
		hidden, inner := r.count(rec, "hidden_size"), r.count(rec, "intermediate_size")
		inner = (inner + scaled - 1) / scaled * scaled
		var rows []Row
		for _, p := range []struct {
			name string
			n, k int
		}{{"up", 2 * inner, hidden}, {"down", hidden, inner}} { // gate and up are one product
			t := r.micros(rec, p.name+"_proj_us")
			mfu, err := strconv.ParseFloat(r.text(rec, p.name+"_mfu"), 64)
			if err != nil || !(mfu >= 0 && mfu <= 1) {
				return nil, fmt.Errorf("%s_mfu %q is not a share", p.name, r.text(rec, p.name+"_mfu"))
			}
			if r.err != nil {
				return nil, r.err
			}
			experts, m := expertRows(local, tokens, mfu*peak*t/(2*float64(p.n)*float64(p.k)))
			rows = append(rows, Row{Kind: kernel.GroupedGemm, Type: "float8", Seconds: t, layout: &groupedLayout,
				dims: []int{experts, m, p.n, p.k}, labels: blockScaledFP8})
		}
		return rows, nil
	}
}

// expertRows is how many experts had rows, and how many each. Tables used ⌊t·u⌋ rows per expert,
// for a nominal t and u drawn from 0.7 to 1.3, and mfu counts the rows drawn (computed). Some also
// count padding to 128 rows, so a number the draw cannot explain is replaced by its mean; with one
// nominal row, half of the experts had none.
func expertRows(local, nominal int, computed float64) (experts, m int) {
	n, t := float64(local), float64(nominal)
	mean, deviation := (t-0.5)*n, 0.6*t*math.Sqrt(n/12)
	if nominal == 1 {
		mean, deviation = n/2, math.Sqrt(n)/2
	}
	if math.Abs(computed-mean) > 3*deviation {
		computed = mean
	}
	if nominal == 1 {
		return max(int(math.Round(computed)), 1), 1
	}
	return local, max(int(math.Round(computed/n)), 1)
}

func attention(head []string, p place) (func([]string) ([]Row, error), error) {
	kind, lay := kernel.Prefill, &prefillLayout
	if p.phase == "decode" {
		kind, lay = kernel.Decode, &decodeLayout
	}
	if p.kind == "mla" {
		kind, lay = kernel.LatentPrefill, &latentLayout
		width := 128
		if p.phase == "decode" {
			kind, width = kernel.LatentDecode, 512
		}
		if p.shape[1] != width || p.shape[2] != 64 {
			return nil, fmt.Errorf("latent attention of widths %d and %d has no model: those of %s are %d and 64", p.shape[1], p.shape[2], p.phase, width)
		}
	}
	return func(rec []string) ([]Row, error) {
		r := reader{head: head}
		row := Row{Kind: kind, Type: numberType(r.text(rec, "dtype")), layout: lay, labels: make([]string, len(lay.labels))}
		b, s := 1, 0
		if p.phase == "decode" {
			b, s = r.count(rec, "batch_size"), r.count(rec, "kv_len")
		} else {
			s = r.count(rec, "seq_len")
		}
		row.dims = []int{b, s, p.shape[0]}
		switch kind {
		case kernel.Decode:
			row.dims = append(row.dims, p.shape[1], p.shape[2])
		case kernel.Prefill:
			row.dims = append(row.dims, p.shape[1], p.shape[2], p.shape[2])
		}
		if len(row.labels) > 0 {
			row.labels[0] = r.text(rec, "kv_dtype")
		}
		row.Seconds = r.micros(rec, "latency_us")
		return []Row{row}, r.err
	}, nil
}
