package sweep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"throughline/internal/axis"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/internal/store"
	"throughline/internal/table"
)

// objectives are the figures that points are compared by.
var objectives = map[question.Objective]string{
	question.Throughput: "tokens_per_s_per_gpu", question.Cost: "usd_per_m_tokens", question.Energy: "tokens_per_joule",
	question.Latency: "tpot_ms", question.MinGPUs: "num_gpus",
}

// Objective is the figure that the points of a scan are compared by.
func Objective(s *scan.Scan) int {
	name := "tokens_per_s_per_gpu"
	switch {
	case s.Of == question.Simulate:
		name = "requests_per_s"
	case s.Of == question.Plan:
		name = cmp.Or(objectives[question.Objective(s.Words["objective"])], name)
	case s.Words["phase"] != "" || s.Words["context"] != "":
		name = "step_ms"
	}
	return Find(s.Of, name)
}

// Columns are those of the parts of a scan: the number of a point, its values, its figures, and why
// it has none.
func Columns(s *scan.Scan) []table.Column[*Point] {
	out := []table.Column[*Point]{table.CountColumn("point", func(p *Point) int { return p.Number })}
	taken := map[string]bool{}
	for i := range s.Axes {
		a := &s.Axes[i]
		c := table.Column[*Point]{Name: a.Column(), Unit: a.Unit(), Kind: table.Number, Value: func(p *Point) any {
			if v := p.Values[i].Number; !math.IsInf(v, 0) {
				return v
			}
			return nil
		}}
		if !a.IsNumeric() {
			c.Kind, c.Value = table.Text, func(p *Point) any { return p.Values[i].Text }
		}
		taken[c.Name] = true
		out = append(out, c)
	}
	moves := newMoving(s) != nil
	for k, f := range Figures(s.Of) {
		if taken[f.Name] || moves && !slices.Contains(stepFigures.list(), k) {
			continue
		}
		out = append(out, table.Column[*Point]{Name: f.Name, Unit: f.Unit, Kind: f.Kind, Value: func(p *Point) any {
			if p.Figures == nil {
				return nil
			}
			return p.Figures[k]
		}})
	}
	return append(out, table.TextColumn("reason", func(p *Point) string { return p.Reason }))
}

// Keep is which rows of a part are kept.
type Keep struct {
	Best     int // of the best; 0: all
	Frontier bool
}

// ParseKeep reads all, best:N or frontier.
func ParseKeep(text string) (Keep, error) {
	digits, best := strings.CutPrefix(text, "best:")
	n, err := strconv.Atoi(digits)
	switch {
	case text == "" || text == "all":
		return Keep{}, nil
	case text == "frontier":
		return Keep{Frontier: true}, nil
	case best && err == nil && n >= 1 && n <= mostKept:
		return Keep{Best: n}, nil
	}
	return Keep{}, question.OfSetting("keep", fmt.Errorf("must be all, best:N (N from 1 to %d) or frontier, not %q", mostKept, text))
}

// mostKept limits the rows that are held in memory.
const mostKept = 100_000

// Work is a scan that is answered part by part into a store, by any number of processes.
type Work struct {
	Request  *scan.Request
	Scan     *scan.Scan
	Manifest *scan.Manifest
	In       store.Store
	Keep     Keep
	Seconds  float64 // of a part, where the scan begins
	// Patience is how long a point that seems to take processes down is watched for one that
	// survives it.
	Patience time.Duration

	runs   *runs       // of a runtime file, in place of the points of a scan
	learnt int         // rounds whose answers are known
	found  []axis.Spot // the frontier of those
}

const patience = 30 * time.Second // ten times what a part takes

// NewWork reads a scan and continues it in a store, or begins it there.
func NewWork(ctx context.Context, r *scan.Request, at string, seconds float64) (*Work, error) {
	s, err := scan.New(files.Machine, r)
	if err != nil {
		return nil, err
	}
	if s.Of == question.Run {
		return nil, errors.New("a runtime file is run, and with `resume` continued, by throughline run")
	}
	keep, err := ParseKeep(r.Keep)
	err = document.Join(err, Check(s))
	if err == nil && len(s.Axes) == 0 {
		err = errors.New("nothing varies, and the scan is one question: give a setting several values, or vary a number")
	}
	if err != nil {
		return nil, err
	}
	inputs, err := s.Inputs()
	if err != nil {
		return nil, err
	}
	in, err := store.Open(ctx, at, true)
	if err != nil {
		return nil, err
	}
	w := &Work{Request: r, Scan: s, In: in, Keep: keep, Seconds: seconds, Patience: patience}
	w.Manifest, err = scan.Started(ctx, in, r, inputs, func() (*scan.Manifest, error) { return w.begin(ctx) })
	return w, err
}

// Opened is the work of a store that a scan was begun in.
func Opened(ctx context.Context, at string) (*Work, error) {
	in, err := store.Open(ctx, at, false)
	if err != nil {
		return nil, err
	}
	m, err := scan.ReadManifest(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%s holds no scan: %w", at, err)
	}
	s, err := scan.New(files.Machine, m.Scan)
	if err != nil {
		return nil, err
	}
	keep, err := ParseKeep(m.Scan.Keep)
	return &Work{Request: m.Scan, Scan: s, Manifest: m, In: in, Keep: keep}, err
}

// begin sizes the parts of a new scan by how long its first points take.
func (w *Work) begin(ctx context.Context) (*scan.Manifest, error) {
	c, err := NewScanner(w.Scan, 1)
	if err != nil {
		return nil, err
	}
	n := w.Scan.Len()
	chunk, err := sized(n, w.Scan.Known(), w.Seconds, func(i int) error { _, err := c.At(ctx, i); return err })
	return &scan.Manifest{Points: n, Rounds: w.Scan.Rounds, Chunk: chunk, Columns: described(Columns(w.Scan))}, err
}

// sized is how many of n points take some seconds, by asking some of the first known.
func sized(n, known int, seconds float64, ask func(i int) error) (int, error) {
	const probe = 500 * time.Millisecond
	asked, start := 0, time.Now()
	for ; asked <= known && (asked <= 1 || time.Since(start) < probe); asked++ {
		if asked == 1 { // the first one prepares what the others share
			start = time.Now()
		}
		if err := ask(probed(known, asked)); err != nil {
			return 0, err
		}
	}
	each := time.Since(start).Seconds() / float64(asked-1)
	return min(n, max(1, int(seconds/each), (n+scan.MostParts-1)/scan.MostParts)), nil
}

func described[T any](columns []table.Column[T]) (out []scan.Column) {
	for _, c := range columns {
		out = append(out, scan.Column{Name: c.Name, Unit: c.Unit, Kind: string(cmp.Or(c.Kind, table.Text))})
	}
	return out
}

// probed is the i-th point that sizes the parts of a scan: far apart, as their work may differ.
func probed(points, i int) int {
	return int(rand.New(rand.NewPCG(1, uint64(i))).Int64N(int64(points)))
}

// warm prepares what all points share, before a part is marked as being answered. The process that
// began the scan has survived this point.
func (w *Work) warm(ctx context.Context) (*Scanner, error) {
	c, err := NewScanner(w.Scan, 1)
	if err == nil {
		c.passing = w.Keep == Keep{}
		_, err = c.At(ctx, probed(w.Scan.Known(), 0))
	}
	return c, err
}

// filling answers the points of a part and writes them.
type filling func(ctx context.Context, part int, g *guard, out io.Writer) error

func (w *Work) filling(ctx context.Context) (filling, error) {
	if w.runs != nil {
		return w.writeRuns, nil
	}
	c, err := w.warm(ctx)
	return func(ctx context.Context, part int, g *guard, out io.Writer) error {
		return w.write(ctx, c, part, g, out)
	}, err
}

// Do answers the parts that are missing: first those of the shard, then any others, each process at
// another place, so that a lost or slow one holds nobody up. No part is claimed: two processes may
// answer the same, and the first to end keeps it. It counts the parts that it answered in vain.
func (w *Work) Do(ctx context.Context, number, of, jobs int, tick func(parts int)) (vain int, err error) {
	p := &progress{work: w, done: map[int]bool{}, handed: map[int]bool{}, ended: make(chan struct{}, 1), ready: make(chan struct{}), over: make(chan struct{}), marks: map[string]time.Time{}, busy: map[int]time.Time{}}
	if err := p.refresh(ctx); err != nil {
		return 0, err
	}
	tick(len(p.done))
	queue := make(chan int)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(queue)
		defer close(p.over)
		return p.hand(ctx, number, of, queue)
	})
	for range max(1, jobs) {
		g.Go(func() error {
			fill, err := w.filling(ctx) // before a part is chosen, which others cannot see until it is marked
			if err != nil {
				return err
			}
			for {
				select { // what is missing is asked for when a worker is free, not before
				case p.ready <- struct{}{}:
				case <-ctx.Done():
					return ctx.Err()
				case <-p.over:
					return nil
				}
				part, more := <-queue
				if !more {
					return nil
				}
				start := time.Now()
				vain, err := w.part(ctx, part, fill)
				if err != nil {
					return err
				}
				p.finish(part, vain, time.Since(start))
				tick(1)
			}
		})
	}
	err = g.Wait()
	return p.vain, err
}

func (w *Work) present(ctx context.Context) (map[int]bool, error) {
	names, err := w.In.Names(ctx)
	return w.partsIn(names), err
}

// partsIn are the parts among files.
func (w *Work) partsIn(names []string) map[int]bool {
	out, parts := map[int]bool{}, w.Manifest.Parts()
	for _, name := range names {
		if part, ok := scan.PartOf(name); ok && part < parts {
			out[part] = true
		}
	}
	return out
}

// Notes of a part, by which it is known.
const (
	scanNote   = "throughline.scan"
	countsNote = "throughline.counts"
	bestNote   = "throughline.best"
)

// part answers one part and stores it, unless another process has; vain: one has meanwhile.
func (w *Work) part(ctx context.Context, part int, fill filling) (vain bool, err error) {
	guard, err := w.guard(ctx, part)
	if err != nil || guard.there {
		return false, err
	}
	kept, err := w.In.Create(ctx, scan.PartName(part), func(out io.Writer) error { return fill(ctx, part, guard, out) })
	if guard.own != "" {
		w.In.Remove(context.WithoutCancel(ctx), guard.own)
	}
	if err == nil {
		guard.removeLeftMarks(ctx)
	}
	return !kept, err
}

// noteOf says which part of which scan a file is.
func (w *Work) noteOf(part int) table.Note {
	return table.Note{Key: scanNote, Text: fmt.Sprintf("%s part %d", w.Manifest.Hash(), part)}
}

// answered is point i; deadly: no process survives it.
func (c *Scanner) answered(ctx context.Context, i int, deadly bool) (*Point, error) {
	if !deadly {
		return c.At(ctx, i)
	}
	p := &Point{Number: i, Values: make([]scan.Value, len(c.Scan.Axes)), Reason: wentDown}
	c.Scan.At(i, p.Values)
	return p, nil
}

// write answers the points of a part and writes their rows.
func (w *Work) write(ctx context.Context, c *Scanner, part int, guard *guard, out io.Writer) error {
	from, to := w.Manifest.Bounds(part)
	rows := table.NewWriter(out, table.Parquet, Columns(w.Scan))
	keeper := newKeeper(w.Scan, w.Keep)
	answered, left := 0, 0
	err := guard.each(ctx, from, to, func(i int, deadly bool) error {
		p, err := c.answered(ctx, i, deadly)
		if err != nil {
			return err
		}
		if p == nil || p.Figures != nil && !p.Meets {
			left++
			return nil
		}
		if p.Figures != nil {
			answered++
		}
		return keeper.add(p, rows.Add)
	})
	if err == nil {
		err = keeper.flush(rows.Add)
	}
	if err != nil {
		return err
	}
	noted := rows.(table.Noted)
	noted.Note(w.noteOf(part))
	noted.Note(table.Note{Key: countsNote, Text: fmt.Sprintf(`{"points": %d, "answered": %d, "left_out": %d}`, to-from, answered, left)})
	if best := keeper.best; best != nil {
		var text bytes.Buffer
		one := table.NewWriter(&text, table.Lines, Columns(w.Scan))
		if err := errors.Join(one.Add(best), one.Close()); err != nil {
			return err
		}
		noted.Note(table.Note{Key: bestNote, Text: strings.TrimSpace(text.String())})
	}
	return rows.Close()
}
