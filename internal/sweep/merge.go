package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"

	"throughline/internal/axis"
	"throughline/internal/parquet"
	"throughline/internal/scan"
	"throughline/internal/table"
)

// Status is how far a scan has come.
type Status struct {
	Points, Parts, Done int
	Missing             []int // parts
	Unsure              int   // ranges that are being answered, or took a process down
}

// Status counts the parts of the work.
func (w *Work) Status(ctx context.Context) (*Status, error) {
	done, err := w.present(ctx)
	if err != nil {
		return nil, err
	}
	s := &Status{Points: w.Manifest.Points, Parts: w.Manifest.Parts(), Done: len(done)}
	for part := range s.Parts {
		if !done[part] {
			s.Missing = append(s.Missing, part)
		}
	}
	names, err := w.In.Names(ctx)
	for _, name := range names {
		if low, _, ok := markOf(name); ok && !done[w.Manifest.PartAt(low)] {
			s.Unsure++
		}
	}
	return s, err
}

// complete reports parts that are missing.
func (s *Status) complete() error {
	if n := len(s.Missing); n > 0 {
		return fmt.Errorf("%d of %d parts are missing, the first of them %s; run the scan again to answer them", n, s.Parts, scan.PartName(s.Missing[0]))
	}
	return nil
}

// open reads a part, and refuses one that is broken or of another scan.
func (w *Work) open(ctx context.Context, part int) (*parquet.File, error) {
	name := scan.PartName(part)
	data, err := w.In.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := parquet.Open(data)
	if err != nil {
		return nil, fmt.Errorf("%s/%s is broken: %w; remove it, and run the scan again", w.In, name, err)
	}
	if f.Notes[scanNote] != w.noteOf(part).Text || len(f.Columns) != len(w.Manifest.Columns) {
		return nil, fmt.Errorf("%s/%s is a part of another scan; remove it, and run the scan again", w.In, name)
	}
	return f, nil
}

// Merge writes all parts, in order, as one table.
func (w *Work) Merge(ctx context.Context, out io.Writer, form table.Form) (rows int, err error) {
	status, err := w.Status(ctx)
	if err != nil {
		return 0, err
	}
	if err := status.complete(); err != nil {
		return 0, err
	}
	columns := rawColumns(w.Manifest)
	sink := table.NewWriter(out, form, columns)
	all := newMerged(w)
	for part := range status.Parts {
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
		err := w.rows(ctx, part, func(row []any) error { return all.add(row, sink.Add) })
		if err != nil {
			return rows, err
		}
	}
	if err := all.flush(sink.Add); err != nil {
		return all.rows, err
	}
	return all.rows, sink.Close()
}

// rows visits the rows of a part; a row is written over by the next.
func (w *Work) rows(ctx context.Context, part int, take func([]any) error) error {
	f, err := w.open(ctx, part)
	if err != nil {
		return err
	}
	var own error // of what rows are taken for
	err = f.Each(func(row []any) error { own = take(row); return own })
	if err != nil && own == nil {
		return fmt.Errorf("%s/%s is broken: %w; remove it, and run the scan again", w.In, scan.PartName(part), err)
	}
	return err
}

// rawColumns are the columns of rows as they were read.
func rawColumns(m *scan.Manifest) (out []table.Column[[]any]) {
	for i, c := range m.Columns {
		out = append(out, table.Column[[]any]{Name: c.Name, Unit: c.Unit, Kind: table.Kind(c.Kind), Value: func(row []any) any { return row[i] }})
	}
	return out
}

// decoder makes points of the rows of parts.
type decoder struct {
	scan   *scan.Scan
	figure []int // column of each figure; -1: the parts have none
}

func newDecoder(w *Work) *decoder {
	d := &decoder{scan: w.Scan}
	for _, f := range Figures(w.Scan.Of) {
		d.figure = append(d.figure, slices.IndexFunc(w.Manifest.Columns, func(c scan.Column) bool { return c.Name == f.Name }))
	}
	return d
}

// point is the one of a row. Columns are its number, its values, its figures and the reason.
func (d *decoder) point(row []any) *Point {
	p := &Point{Values: make([]scan.Value, len(d.scan.Axes))}
	p.Number, _ = row[0].(int)
	for i := range p.Values {
		a, at := &d.scan.Axes[i], 0
		switch v := row[1+i].(type) {
		case float64:
			if p.Values[i].Number = v; a.Texts == nil {
				continue
			}
			at = slices.Index(a.Numbers, v)
		case string:
			p.Values[i].Number, at = math.NaN(), slices.Index(a.Texts, v)
		default: // a number that files do not have
			p.Values[i].Number = math.Inf(1)
			at = slices.Index(a.Numbers, p.Values[i].Number)
		}
		if at >= 0 {
			p.Values[i].Text = a.Texts[at]
		}
	}
	if p.Reason, _ = row[len(row)-1].(string); p.Reason != "" {
		return p
	}
	p.Meets, p.Figures = true, make([]any, len(d.figure))
	for k, at := range d.figure {
		if at >= 0 {
			p.Figures[k] = row[at]
		}
	}
	return p
}

// merged keeps rows of all parts as a keeper does those of one.
type merged struct {
	keeper *keeper
	*decoder
	rows int
}

func newMerged(w *Work) *merged {
	return &merged{keeper: newKeeper(w.Scan, w.Keep), decoder: newDecoder(w)}
}

func (m *merged) add(row []any, pass func([]any) error) error {
	if (m.keeper.Keep == Keep{}) {
		m.rows++
		return pass(row)
	}
	p := m.point(row)
	p.Answer = slices.Clone(row)
	return m.keeper.add(p, nil)
}

func (m *merged) flush(pass func([]any) error) error {
	return m.keeper.flush(func(p *Point) error {
		m.rows++
		return pass(p.Answer.([]any))
	})
}

// Points hands over the points of all parts, in order.
func (w *Work) Points(ctx context.Context, emit func(*Point) error) error {
	status, err := w.Status(ctx)
	if err == nil {
		err = status.complete()
	}
	d := newDecoder(w)
	for part := 0; part < w.Manifest.Parts() && err == nil; part++ {
		err = w.rows(ctx, part, func(row []any) error { return emit(d.point(row)) })
	}
	return err
}

// learn reads the frontier of the rounds before one, so that its points are known.
func (w *Work) learn(ctx context.Context, round int) error {
	if w.learnt >= round {
		return nil
	}
	d, aims := newDecoder(w), aimsOf(w.Scan)
	for ; w.learnt < round; w.learnt++ {
		from, to := w.Manifest.RoundParts(w.learnt)
		for part := from; part < to; part++ {
			err := w.rows(ctx, part, func(row []any) error {
				if spot, ok := aims.spot(w.Scan, d.point(row)); ok {
					w.found = append(w.found, spot)
				}
				return nil
			})
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s is missing, and later points follow from it; run the scan again to answer it", scan.PartName(part))
			}
			if err != nil {
				return err
			}
		}
		w.found = axis.Frontier(w.found)
		w.Scan.Learn(w.learnt+1, w.found)
	}
	return nil
}

// Verified is what a check of a scan found.
type Verified struct {
	Parts, Rows, Again int // parts read, rows in them, points that were answered again
}

// Verify reads every part, and answers some points of them again.
func (w *Work) Verify(ctx context.Context, again int) (*Verified, error) {
	status, err := w.Status(ctx)
	if err != nil {
		return nil, err
	}
	scanner, err := NewScanner(w.Scan, 1)
	if err != nil {
		return nil, err
	}
	columns, v := Columns(w.Scan), &Verified{}
	done, err := w.present(ctx)
	if err != nil {
		return nil, err
	}
	every := max(1, status.Done/max(1, again))
	for part := range status.Parts {
		if !done[part] {
			continue
		}
		v.Parts++
		var rows [][]any
		if err := w.rows(ctx, part, func(row []any) error { v.Rows++; rows = append(rows, slices.Clone(row)); return nil }); err != nil {
			return v, err
		}
		if len(rows) == 0 || part%every != 0 {
			continue
		}
		row := rows[rand.IntN(len(rows))]
		number, _ := row[0].(int)
		if err := w.learn(ctx, w.Scan.RoundOf(number)); err != nil {
			return v, err
		}
		p, err := scanner.At(ctx, number)
		if err != nil {
			return v, err
		}
		v.Again++
		for i := range columns {
			var now any
			if p != nil {
				now = columns[i].Value(p)
			}
			if was := row[i]; !same(was, now, w.Manifest.OtherArchitecture() != "") {
				return v, fmt.Errorf("%s/%s: point %d has %s %v, and now it is %v; remove the part, and run the scan again", w.In, scan.PartName(part), number, columns[i].Name, was, now)
			}
		}
	}
	return v, nil
}

// same compares two values; those of another architecture may differ in their last digits.
func same(a, b any, loosely bool) bool {
	if i, ok := b.(int); ok {
		if _, isFloat := a.(float64); isFloat {
			b = float64(i)
		}
	}
	x, ok := a.(float64)
	y, also := b.(float64)
	if ok && also && loosely {
		return x == y || abs(x-y) <= 1e-9*max(abs(x), abs(y))
	}
	return a == b
}

func abs(x float64) float64 { return max(x, -x) }
