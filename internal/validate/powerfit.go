package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"throughline/cost"
	"throughline/hardware"
	"throughline/internal/calibrate"
	"throughline/internal/question"
)

// PowerFit is the power of a chip as measured loads show it, and how far that is off.
type PowerFit struct {
	Power  hardware.Power
	Left   []string // rows that are not used, and why
	Errors []PowerError
}

// PowerError is how far joules and times of some rows are off, in percent.
type PowerError struct {
	Of                   string
	Rows                 int
	Joules, MostJoules   float64 // median, and the 90th percentile
	Seconds, MostSeconds float64
}

// powerRow is a measured load, and what tells it from others.
type powerRow struct {
	powerLoad
	kind, shape string
	clock       float64 // MHz; 0: not known
}

// runs reports whether the row is fitted: it runs without rests.
func (r *powerRow) runs() bool { return r.works != nil && r.duty == 1 }

// judged reports whether errors of the row count: on random data, at a limit that clocks can keep.
func (r *powerRow) judged(p *hardware.Power) bool {
	return r.runs() && !r.works[0].Zeros && cmp.Or(r.limit, p.Limit) >= keptLimit*p.Limit
}

// keptLimit is the share of a chip's limit above which clocks can fall far enough for any load.
const keptLimit = 0.4

// FitPower fits the block of a chip to a table of loads, and predicts shapes, limits and kinds of
// loads by fits that have not seen them.
func FitPower(ctx context.Context, name string, src io.Reader, s *hardware.System, base question.Question) (*PowerFit, error) {
	rows, left, err := readPower(ctx, name, src, s, base)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(rows, func(r powerRow) bool { return r.runs() }) {
		return nil, fmt.Errorf("%s: no row of a load could be read%s", name, first(left))
	}
	start := powerStart(s, rows)
	if start.Limit == 0 {
		return nil, fmt.Errorf("%s: no row has its limit_w, and %s has no block \"power\" that says its limit", name, s.Name)
	}
	start.Origin = originOf(rows, &start)
	out := &PowerFit{Power: fitPower(rows, start), Left: left}
	out.Errors = append(out.Errors, powerError("fitted", rows, func(*powerRow) *hardware.Power { return &out.Power }))
	for _, by := range []struct {
		what string
		key  func(*powerRow) string
	}{
		{"shapes left out", tenthOf(rows)},
		{"limits left out", func(r *powerRow) string { return strconv.FormatFloat(r.limit, 'g', -1, 64) }},
		{"kinds left out", func(r *powerRow) string { return r.kind }},
	} {
		fits, err := leaveOut(ctx, rows, start, by.key)
		if err != nil {
			return nil, err
		}
		of := func(r *powerRow) *hardware.Power { return fits[by.key(r)] }
		out.Errors = append(out.Errors, powerError(by.what, rows, of))
		if by.what != "kinds left out" {
			continue
		}
		for _, kind := range slices.Sorted(maps.Keys(fits)) {
			these := slices.DeleteFunc(slices.Clone(rows), func(r powerRow) bool { return r.kind != kind })
			out.Errors = append(out.Errors, powerError(kind+" left out", these, of))
		}
	}
	out.Errors = slices.DeleteFunc(out.Errors, func(e PowerError) bool { return e.Rows == 0 })
	return out, nil
}

// originOf is measured where rows show both rests and as many loads as numbers are searched.
func originOf(rows []powerRow, p *hardware.Power) string {
	loads, rest, on := 0, false, false
	for i := range rows {
		switch r := &rows[i]; {
		case r.runs():
			loads++
		case r.works == nil:
			rest, on = rest || !r.hot, on || r.hot
		}
	}
	if rest && on && loads >= len(powerTerms)+len(typesOf(rows, p.Flop)) {
		return hardware.MeasuredPower
	}
	return hardware.FittedPower
}

// tenthOf tells rows apart by ten groups of shapes.
func tenthOf(rows []powerRow) func(*powerRow) string {
	const groups = 10
	at := map[string]int{}
	for i := range rows {
		if key := rows[i].kind + rows[i].shape; at[key] == 0 {
			at[key] = 1 + len(at)
		}
	}
	return func(r *powerRow) string { return strconv.Itoa(at[r.kind+r.shape] % groups) }
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", for example " + list[0]
}

// leaveOut fits all rows but those of one key, for every key.
func leaveOut(ctx context.Context, rows []powerRow, start hardware.Power, key func(*powerRow) string) (map[string]*hardware.Power, error) {
	out := map[string]*hardware.Power{}
	for i := range rows {
		k := key(&rows[i])
		if out[k] != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fit := fitPower(slices.DeleteFunc(slices.Clone(rows), func(r powerRow) bool { return key(&r) == k }), start)
		out[k] = &fit
	}
	return out, nil
}

// powerError is how far rows are off by the block of each.
func powerError(what string, rows []powerRow, of func(*powerRow) *hardware.Power) PowerError {
	var joules, seconds []float64
	for i := range rows {
		r := &rows[i]
		if p := of(r); r.judged(p) {
			s := r.spent(p)
			joules = append(joules, 100*math.Abs(s.Joules/r.joules-1))
			seconds = append(seconds, 100*math.Abs(s.Seconds/r.seconds-1))
		}
	}
	if len(joules) == 0 {
		return PowerError{Of: what}
	}
	most := func(list []float64) float64 { return list[(9*len(list)+9)/10-1] } // sorted by Median
	out := PowerError{Of: what, Rows: len(joules), Joules: Median(joules), Seconds: Median(seconds)}
	out.MostJoules, out.MostSeconds = most(joules), most(seconds)
	return out
}

// powerStart is round numbers of chips in 4 to 7 nm, from which a fit starts; rest, limit and clock
// are those of the rows. What no row can show stays as the system has it.
func powerStart(s *hardware.System, rows []powerRow) hardware.Power {
	p := hardware.Power{
		Held: 1, Byte: 60, CoreByte: 20, HostByte: 50, Empty: 0.2, Issue: 0.3, Clock: hardware.Clock{MHz: 2000, Lowest: 350, Knee: 0.5, Voltage: 0.75},
		Flop: map[string]float64{"float32": 8, "bfloat16": 0.8, "float16": 0.8, "float8": 0.4, "int8": 0.4, "float4": 0.2, "int4": 0.2},
	}
	known, seen := s.Power, 0.0
	if known != nil {
		p.Limit = known.Limit
	}
	for i := range rows {
		p.Limit = max(p.Limit, rows[i].limit)
		if rows[i].works != nil {
			seen = max(seen, rows[i].clock)
		}
	}
	p.Clock.MHz = cmp.Or(seen, p.Clock.MHz)
	p.Rest, p.On, p.Busy = 0.12*p.Limit, 0.18*p.Limit, 0.25*p.Limit
	if known != nil {
		p.Rest, p.On, p.Link, p.Host, p.HostByte, p.Window = known.Rest, known.On, known.Link, known.Host, known.HostByte, known.Window
		p.Clock.MHz, p.Clock.Lowest = max(known.Clock.MHz, seen), known.Clock.Lowest
		shown := typesOf(rows, p.Flop)
		for t, joules := range known.Flop {
			if !slices.Contains(shown, t) {
				p.Flop[t] = joules
			}
		}
	}
	maps.DeleteFunc(p.Flop, func(t string, _ float64) bool { _, has := s.Matrix[t]; return !has })
	return p
}

// powerTerm is a number that is searched, within bounds.
type powerTerm struct {
	low, high float64
	of        func(*hardware.Power) *float64
}

var powerTerms = []powerTerm{
	{1, 1e4, func(p *hardware.Power) *float64 { return &p.Busy }},
	{1, 1e4, func(p *hardware.Power) *float64 { return &p.Byte }},
	{1, 1e4, func(p *hardware.Power) *float64 { return &p.CoreByte }},
	{0.01, 1, func(p *hardware.Power) *float64 { return &p.Issue }},
	{0.01, 1, func(p *hardware.Power) *float64 { return &p.Empty }},
	{0.05, 0.95, func(p *hardware.Power) *float64 { return &p.Clock.Knee }},
	{0.3, 1, func(p *hardware.Power) *float64 { return &p.Clock.Voltage }},
}

// fitPower fits the power of a chip to measured loads.
func fitPower(rows []powerRow, start hardware.Power) hardware.Power {
	p := start
	p.Flop = maps.Clone(start.Flop)
	observe(&p, rows)
	var values, lows, highs []float64
	for _, t := range powerTerms {
		values, lows, highs = append(values, *t.of(&p)), append(lows, t.low), append(highs, t.high)
	}
	types := typesOf(rows, p.Flop)
	for _, t := range types {
		values, lows, highs = append(values, p.Flop[t]), append(lows, 1e-3), append(highs, 1e3)
	}
	set := func(v []float64) {
		for i, t := range powerTerms {
			*t.of(&p) = v[i]
		}
		for i, t := range types {
			p.Flop[t] = v[len(powerTerms)+i]
		}
	}
	from := slices.Clone(values)
	descend(values, lows, highs, func(v []float64) float64 {
		set(v)
		return powerLoss(&p, rows, v, from)
	})
	for i := range values {
		values[i] = calibrate.Digits(values[i])
	}
	set(values)
	return p
}

// typesOf are the number types whose energy rows show.
func typesOf(rows []powerRow, known map[string]float64) (out []string) {
	for t := range known {
		shown := func(r powerRow) bool {
			return slices.ContainsFunc(r.works, func(w cost.Work) bool { return w.Type == t })
		}
		if slices.ContainsFunc(rows, shown) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// observe takes over what rows show directly: watts of idle chips, the limit and how far it is
// used, clocks.
func observe(p *hardware.Power, rows []powerRow) {
	var rest, on, held, clocks []float64
	for i := range rows {
		r := &rows[i]
		watts := r.joules / r.seconds
		switch {
		case r.works == nil && r.hot:
			on = append(on, watts)
		case r.works == nil:
			rest = append(rest, watts)
		case r.limit > 0 && watts > nearLimit*r.limit && watts < r.limit/nearLimit:
			held = append(held, min(1, watts/r.limit))
		}
		if r.clock > 0 && r.works != nil {
			clocks = append(clocks, r.clock)
		}
	}
	for _, seen := range []struct {
		list []float64
		to   *float64
	}{{rest, &p.Rest}, {on, &p.On}, {held, &p.Held}} {
		if len(seen.list) > 0 {
			*seen.to = calibrate.Digits(Median(seen.list))
		}
	}
	p.On = max(p.On, p.Rest)
	if len(clocks) > 0 {
		p.Clock.Lowest = min(p.Clock.Lowest, slices.Min(clocks))
	}
}

// nearLimit is the share of a limit from which on a load is taken to be slowed by it.
const nearLimit = 0.93

// powerLoss is the mean of what rows are off by in joules, time and clock, in logarithms, and a
// little for leaving the start: what rows do not show stays as it was.
func powerLoss(p *hardware.Power, rows []powerRow, v, from []float64) float64 {
	const loyalty, clockWeight = 2e-3, 0.2
	sum, n := 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		if !r.runs() {
			continue
		}
		s := r.spent(p)
		sum += math.Abs(math.Log(s.Joules/r.joules)) + math.Abs(math.Log(s.Seconds/r.seconds))
		if r.clock > 0 {
			sum += clockWeight * math.Abs(math.Log(s.Clock*p.Clock.MHz/r.clock))
		}
		n++
	}
	sum /= max(1, n) // of a table with one kind of loads, none is left beside it
	for i := range v {
		sum += loyalty * math.Abs(math.Log(v[i]/from[i]))
	}
	return sum
}

// descend lowers a function of positive numbers, one after another in steps that shrink.
func descend(v, low, high []float64, f func([]float64) float64) {
	best := f(v)
	for step := 0.2; step > 2e-3; {
		before := best
		for i := range v {
			for _, by := range []float64{math.Exp(step), math.Exp(-step)} {
				kept := v[i]
				v[i] = min(max(kept*by, low[i]), high[i])
				if got := f(v); got < best {
					best = got
					break
				}
				v[i] = kept
			}
		}
		if !(best < before-1e-6) {
			step /= 2
		}
	}
}

// readPower reads a table of power. Rows that cannot be read are left out, and named.
func readPower(ctx context.Context, name string, src io.Reader, s *hardware.System, base question.Question) (rows []powerRow, left []string, err error) {
	reader := newPowerReader(name, s, base)
	_, err = predictTable(ctx, name, src, powerColumns, func(get func(string) string) (out Row) {
		l, err := reader.load(get)
		if err == nil && (l.joules == 0 || l.seconds == 0) {
			err = errors.New("joules and time_us are needed")
		}
		if err != nil {
			left = append(left, fmt.Sprintf("%s %s: %s", get("kind"), get("params"), reasonIn(err)))
			return out
		}
		clock, _ := strconv.ParseFloat(get("sm_mhz"), 64)
		rows = append(rows, powerRow{l, get("kind"), get("dtype") + " " + get("params"), clock})
		return out
	})
	return rows, left, err
}
