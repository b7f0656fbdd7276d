package sweep

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"throughline/internal/scan"
)

// guard finds the point of a part that no process survives. Whoever answers a range of points
// leaves a mark, which is removed at the end. A range with three marks that nobody removed is
// answered in pieces, each with marks of its own, down to a point, which gets a row that says so.
type guard struct {
	work  *Work
	part  int
	marks map[[2]int]int // by range
	left  []string       // marks of the part that others have left
	there bool           // the part, by now
	own   string         // mark of the whole part, which stays until others see the part itself
}

const (
	mostMarks = 3
	pieces    = 16 // of a range that is answered in pieces
	markName  = "try-%d-%d-"
)

// guard reads the marks of a part.
func (w *Work) guard(ctx context.Context, part int) (*guard, error) {
	g := &guard{work: w, part: part}
	return g, g.read(ctx)
}

// read finds the marks that are there now.
func (g *guard) read(ctx context.Context) error {
	names, err := g.work.In.Names(ctx)
	if err != nil {
		return err
	}
	g.marks, g.left = map[[2]int]int{}, nil
	from, to := g.work.Manifest.Bounds(g.part)
	for _, name := range names {
		g.there = g.there || name == scan.PartName(g.part)
		if low, high, ok := markOf(name); ok && low >= from && high <= to {
			g.marks[[2]int{low, high}]++
			g.left = append(g.left, name)
		}
	}
	return nil
}

// markOf is the range of a mark; false: the file is none.
func markOf(name string) (low, high int, ok bool) {
	if !strings.HasPrefix(name, "try-") {
		return 0, 0, false
	}
	n, err := fmt.Sscanf(name, markName, &low, &high)
	return low, high, err == nil && n == 2
}

// wentDown is the reason of a point that no process survives.
const wentDown = "the program went down here, three times"

// deadly waits for whoever still answers a point with three marks: a process that lives removes its
// own, so that only the marks of those that went down are left.
func (g *guard) deadly(ctx context.Context, point int) (bool, error) {
	const look = 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += look {
		switch {
		case g.marks[[2]int{point, point + 1}] < mostMarks:
			return false, nil
		case waited >= g.work.Patience:
			return true, nil
		}
		if err := sleep(ctx, look); err != nil {
			return false, err
		}
		if err := g.read(ctx); err != nil {
			return false, err
		}
	}
}

// each answers the points of a range, in order; deadly: no process survives the point.
func (g *guard) each(ctx context.Context, from, to int, answer func(i int, deadly bool) error) error {
	marked := g.marks[[2]int{from, to}] >= mostMarks
	if marked && to-from == 1 {
		var err error
		if marked, err = g.deadly(ctx, from); err != nil {
			return err
		}
	}
	switch {
	case marked && to-from == 1:
		return answer(from, true)
	case marked:
		step := max(1, (to-from)/pieces)
		for at := from; at < to; at += step {
			if err := g.each(ctx, at, min(at+step, to), answer); err != nil {
				return err
			}
		}
		return nil
	}
	var salt [4]byte
	rand.Read(salt[:])
	mark := fmt.Sprintf(markName, from, to) + hex.EncodeToString(salt[:])
	if _, err := g.work.In.Create(ctx, mark, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	// Who comes back, even with an error, has survived.
	if first, last := g.work.Manifest.Bounds(g.part); from == first && to == last {
		g.own = mark
	} else {
		defer g.work.In.Remove(context.WithoutCancel(ctx), mark)
	}
	for i := from; i < to; i++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := answer(i, false); err != nil {
			return err
		}
	}
	return nil
}

// removeLeftMarks removes the marks that others have left.
func (g *guard) removeLeftMarks(ctx context.Context) {
	for _, name := range g.left {
		g.work.In.Remove(ctx, name) // a file too many does no harm
	}
}
