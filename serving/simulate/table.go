package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
)

// TableRow is a measured step of equal sequences.
type TableRow struct {
	Decodes int     // decoding sequences
	Context float64 // keys that they read together
	Tokens  int     // of prompts
	Prompts int
	Past    float64 // cached tokens before each prompt
	Seconds float64
}

func (r *TableRow) pairs() float64 {
	if r.Prompts == 0 {
		return 0
	}
	each := float64(r.Tokens) / float64(r.Prompts)
	return float64(r.Prompts) * (each*r.Past + each*(each+1)/2)
}

// Table interpolates measured step times.
//
// Decode steps lie between the next smaller and larger number of sequences at the same mean
// context. Prompt steps take a time by their tokens, plus one least-squares constant per query-key
// pair. A mixed step takes the time of its tokens and pairs, what contexts add to a decode step,
// and a factor that is interpolated between measured mixed steps.
type Table struct {
	// PadDecodes and PadTokens are the captured graph sizes that smaller steps are padded to.
	PadDecodes, PadTokens []int

	batches []decodeRow
	prompts curve // seconds by tokens, without pairs
	pair    float64
	both    []bothRow
}

// decodeRow is decode times by mean context; bothRow is factors of mixed steps by tokens.
type decodeRow struct {
	sequences float64
	curve     curve
}

type bothRow = decodeRow

// curve is piecewise linear, and extrapolates linearly.
type curve struct{ x, y []float64 }

func (c *curve) at(x float64) float64 {
	if len(c.x) == 1 {
		return c.y[0]
	}
	i := min(max(sort.SearchFloat64s(c.x, x)-1, 0), len(c.x)-2)
	return c.y[i] + (c.y[i+1]-c.y[i])*(x-c.x[i])/(c.x[i+1]-c.x[i])
}

// within clamps to the ends instead of extrapolating.
func (c *curve) within(x float64) float64 { return c.at(min(max(x, c.x[0]), c.x[len(c.x)-1])) }

// newCurve averages the points at each x.
func newCurve(x, y []float64) curve {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	var c curve
	n := 0.0
	for _, i := range order {
		if last := len(c.x) - 1; last >= 0 && c.x[last] == x[i] {
			n++
			c.y[last] += (y[i] - c.y[last]) / n
			continue
		}
		n = 1
		c.x, c.y = append(c.x, x[i]), append(c.y, y[i])
	}
	return c
}

// NewTable makes a table of measured steps.
func NewTable(rows []TableRow, padDecodes, padTokens []int) (*Table, error) {
	t := &Table{PadDecodes: padDecodes, PadTokens: padTokens}
	var decode, both []TableRow
	var prompts []TableRow
	for _, r := range rows {
		switch {
		case r.Decodes > 0 && r.Tokens > 0:
			both = append(both, r)
		case r.Decodes > 0:
			decode = append(decode, r)
		case r.Tokens > 0:
			prompts = append(prompts, r)
		}
	}
	if len(prompts) == 0 {
		return nil, errors.New("there are no steps of prompts alone")
	}
	t.batches = byDecodes(decode, func(r *TableRow) (x, y float64) { return r.Context / float64(r.Decodes), r.Seconds })
	t.fitPrompts(prompts)
	t.both = byDecodes(both, func(r *TableRow) (x, y float64) {
		return float64(r.Tokens), r.Seconds / t.sum(float64(r.Decodes), r.Context, float64(r.Tokens), r.pairs())
	})
	return t, nil
}

func byDecodes(rows []TableRow, point func(*TableRow) (x, y float64)) []decodeRow {
	xs, ys := map[int][]float64{}, map[int][]float64{}
	for i := range rows {
		x, y := point(&rows[i])
		n := rows[i].Decodes
		xs[n], ys[n] = append(xs[n], x), append(ys[n], y)
	}
	var out []decodeRow
	for n := range xs {
		out = append(out, decodeRow{float64(n), newCurve(xs[n], ys[n])})
	}
	slices.SortFunc(out, func(a, b decodeRow) int { return cmp.Compare(a.sequences, b.sequences) })
	return out
}

// fitPrompts fits the time per pair on steps with equal tokens, then the times of the tokens.
func (t *Table) fitPrompts(rows []TableRow) {
	type mean struct{ n, pairs, seconds float64 }
	levels := map[int]*mean{}
	for i := range rows {
		m := levels[rows[i].Tokens]
		if m == nil {
			m = &mean{}
			levels[rows[i].Tokens] = m
		}
		m.n++
		m.pairs += rows[i].pairs()
		m.seconds += rows[i].Seconds
	}
	var with, squares float64
	for i := range rows {
		m := levels[rows[i].Tokens]
		d := rows[i].pairs() - m.pairs/m.n
		with += d * (rows[i].Seconds - m.seconds/m.n)
		squares += d * d
	}
	if squares > 0 {
		t.pair = max(0, with/squares)
	}
	var x, y []float64
	for i := range rows {
		x, y = append(x, float64(rows[i].Tokens)), append(y, rows[i].Seconds-t.pair*rows[i].pairs())
	}
	t.prompts = newCurve(x, y)
}

// Bounds are none: a table has no attention windows.
func (t *Table) Bounds() []int { return nil }

// Seconds is the time of a step.
func (t *Table) Seconds(w *Work) float64 {
	n, context := float64(w.Decodes), float64(w.Context)
	if len(w.Chunks) == 0 {
		return t.decode(padded(t.PadDecodes, n), context)
	}
	tokens, pairs := float64(w.Tokens()), w.Pairs()
	s := t.sum(n, context, tokens, pairs)
	if w.Decodes == 0 || len(t.both) == 0 {
		return s
	}
	i, part := between(t.both, n)
	factor := t.both[i].curve.within(tokens)
	if part > 0 {
		factor += part * (t.both[i+1].curve.within(tokens) - factor)
	}
	return s * factor
}

// sum adds the times of prompts and decodes.
func (t *Table) sum(n, context, tokens, pairs float64) float64 {
	s := t.prompts.at(padded(t.PadTokens, tokens+n)) + t.pair*pairs
	if n > 0 && len(t.batches) > 0 {
		s += max(0, t.decode(n, context)-t.decode(n, 0))
	}
	return max(s, 0)
}

// decode is the time of a decode-only step.
func (t *Table) decode(n, context float64) float64 {
	if len(t.batches) == 0 {
		return t.prompts.at(n)
	}
	each := context / n
	i, part := between(t.batches, n)
	s := t.batches[i].curve.at(each)
	if part != 0 {
		s += part * (t.batches[i+1].curve.at(each) - s)
	}
	return max(s, 0)
}

// between locates a number of sequences among rows, extrapolating from the last two.
func between(rows []decodeRow, n float64) (i int, part float64) {
	if len(rows) == 1 || n <= rows[0].sequences {
		return 0, 0
	}
	i = sort.Search(len(rows), func(i int) bool { return rows[i].sequences >= n }) - 1
	i = min(i, len(rows)-2)
	return i, (n - rows[i].sequences) / (rows[i+1].sequences - rows[i].sequences)
}

// padded is the captured size that n is padded to.
func padded(sizes []int, n float64) float64 {
	i := sort.Search(len(sizes), func(i int) bool { return float64(sizes[i]) >= n })
	if i == len(sizes) {
		return n
	}
	return float64(sizes[i])
}

// tableColumns of a file of steps. One of the last two is required.
var tableColumns = []string{"n_decode", "sum_ctx", "prefill_tokens", "prefill_seqs", "past_per_seq", "wall_ms", "gpu_ms"}

// ReadTable reads measured steps from CSV with tableColumns; absent ones are 0. It skips rows of
// other models than the given one, and unequal sequences (a kind that ends in "-unequal").
func ReadTable(src io.Reader, model string) ([]TableRow, error) {
	r := csvfile.NewReader(src, csvfile.Kept)
	header, err := r.Header()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, h := range header {
		at[strings.ToLower(h)] = i
	}
	_, wall := at["wall_ms"]
	if _, gpu := at["gpu_ms"]; !wall && !gpu {
		return nil, fmt.Errorf("line 1: there is no column wall_ms; the columns are %s", document.QuoteList(tableColumns))
	}
	var out []TableRow
	var errs []error
	for len(errs) < 20 {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		cells := tableCells{at, row}
		if m := cells.text("model"); model != "" && m != "" && m != model || strings.HasSuffix(cells.text("kind"), "-unequal") {
			continue
		}
		t, wrong := cells.step(wall)
		for _, err := range wrong {
			errs = append(errs, fmt.Errorf("line %d: %w", r.Line(), err))
		}
		out = append(out, t)
	}
	if len(errs) == 0 && len(out) == 0 {
		errs = append(errs, errors.New("has no steps"))
	}
	return out, document.Join(errs...)
}

// tableCells is a row of a file of steps, with the columns by name.
type tableCells struct {
	at  map[string]int
	row []string
}

func (c *tableCells) text(column string) string {
	if i, ok := c.at[column]; ok && i < len(c.row) {
		return strings.TrimSpace(c.row[i])
	}
	return ""
}

// step parses the row, with the time from wall_ms or gpu_ms.
func (c *tableCells) step(wall bool) (t TableRow, errs []error) {
	number := func(column string) float64 {
		text := c.text(column)
		if text == "" {
			return 0
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0) || v > 1e15 {
			errs = append(errs, fmt.Errorf("%s must be a number from 0 on, not %q", column, text))
		}
		return v
	}
	t = TableRow{Decodes: int(number("n_decode")), Context: number("sum_ctx"), Tokens: int(number("prefill_tokens")),
		Prompts: int(number("prefill_seqs")), Past: number("past_per_seq"), Seconds: number("gpu_ms") / 1e3}
	if wall {
		t.Seconds = number("wall_ms") / 1e3
	}
	if t.Tokens > 0 {
		t.Prompts = max(1, t.Prompts)
	}
	if t.Seconds == 0 || t.Decodes+t.Tokens == 0 || math.IsInf(t.Context, 0) {
		errs = append(errs, errors.New("a step needs n_decode or prefill_tokens, and a time above 0"))
	}
	return t, errs
}
