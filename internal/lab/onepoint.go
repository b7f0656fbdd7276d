package lab

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"throughline/cost"
	"throughline/deploy"
	"throughline/estimate"
	"throughline/internal/fitted"
	"throughline/internal/question"
	"throughline/internal/validate"
	"throughline/op"
)

// choice is how far parts may move, and what is left of that at other lengths.
type choice struct {
	widths    validate.Widths
	elsewhere deploy.Shares
}

// choices are what widths are chosen among: decode scale, prompt scale and first token, and the
// shares of corrections that remain at other lengths. Decoding keeps all of its correction.
var choices = func() (out []choice) {
	for _, w := range []validate.Widths{{0.1, 0.1, 0.03}, {0.1, 0.2, 0.03}, {0.1, 0.2, 0.1}, {0.2, 0.2, 0.03}, {0.2, 0.4, 0.03}} {
		for _, left := range []float64{1, 0.7, 0.4} {
			out = append(out, choice{w, deploy.Shares{Decode: 1, Prefill: left, First: left}})
		}
	}
	return out
}()

// measuredDeployment is one of a table, its runs by the number of clients.
type measuredDeployment struct {
	engine, mode string
	pair         string
	points       []*validate.FitPoint
	doubtful     []bool // TTFT of each
	middle       int
}

// othersError is the errors of one run that was not fitted to.
type othersError struct {
	deployment *measuredDeployment
	same       bool       // lengths as those of the run that was
	off        [2]float64 // logarithm of predicted over measured, TTFT and TPOT; NaN: not known
	band       [2]float64 // of the run without a fit, as a logarithm
	bad        float64    // of both
}

// OnePointRow is the errors on runs that were not fitted to, medians in percent.
type OnePointRow struct {
	Fitted, Others string
	Rows           int
	TPOT, TTFT     float64
}

// OnePointReport is what one measured run of each deployment tells of its others.
type OnePointReport struct {
	Deployments, Runs, Pairs int
	Rows                     []OnePointRow
	Inside                   [2]float64 // share of the others inside the bands of a fit, TTFT and TPOT
	Worse                    [2]int     // runs further off than without the fit, by more than their band
	Chosen, BuiltIn          string     // in words: the widths that all runs choose, and those of calibrate serving
}

// onePoint fits deployments of tables to one of their runs.
type onePoint struct {
	*validate.Fitter
	ctx context.Context
}

// OnePoint fits each deployment to its run at mid concurrency and judges it by its other runs. How
// far a part may move is chosen without the pair of model and engine that it is judged on.
func (t *Table) OnePoint(ctx context.Context) (*OnePointReport, error) {
	f := onePoint{validate.NewFitter(ctx, question.Default()), ctx}
	list, err := f.deployments(t)
	if err != nil {
		return nil, err
	}
	errors, err := f.judge(list)
	if err != nil {
		return nil, err
	}
	pairs := map[string]bool{}
	out := &OnePointReport{Deployments: len(list), BuiltIn: builtIn().words()}
	for _, d := range list {
		out.Runs += len(d.points)
		pairs[d.pair] = true
	}
	out.Pairs = len(pairs)
	var before, after []othersError
	for _, pair := range slices.Sorted(maps.Keys(pairs)) {
		c := best(errors, func(e *othersError) bool { return e.deployment.pair != pair })
		for i, e := range errors[c] {
			if e.deployment.pair == pair {
				before, after = append(before, errors[choice{}][i]), append(after, e)
			}
		}
	}
	out.add("nothing", before)
	out.add("one run", after)
	out.compare(before, after)
	all := best(errors, func(*othersError) bool { return true })
	out.Chosen = all.words()
	return out, nil
}

// compare counts runs inside the bands of a fit, and those that it puts further off.
func (r *OnePointReport) compare(before, after []othersError) {
	for f, q := range []estimate.Quantity{ttft: estimate.TTFT, tpot: estimate.TPOT} {
		known := estimate.Known(q, cost.Fitted, 0, estimate.Causes{estimate.Wave: q == estimate.TTFT})
		known = known.Given(&estimate.MeasuredRun)
		band := math.Log1p(known.Band)
		n := 0.0
		for i := range after {
			was, is := math.Abs(before[i].off[f]), math.Abs(after[i].off[f])
			if math.IsNaN(is) {
				continue
			}
			n++
			if is <= band {
				r.Inside[f]++
			}
			if is > was+before[i].band[f] {
				r.Worse[f]++
			}
		}
		r.Inside[f] /= n
	}
}

// badnessOf is the sum of that of some runs.
func badnessOf(list []othersError, on func(*othersError) bool) (sum float64) {
	for i := range list {
		if e := &list[i]; on(e) {
			sum += e.bad
		}
	}
	return sum
}

// firstParts are those that calibrate serving corrects unless told otherwise.
const firstParts = 3

// builtIn is the choice of calibrate serving.
func builtIn() *choice {
	c := &choice{elsewhere: fitted.Elsewhere}
	usual := validate.UsualWidths()
	copy(c.widths[:], usual[:firstParts])
	return c
}

// words lists what is not 0: how far parts may move, and how much of that is left at other lengths.
func (c *choice) words() string {
	left := [...]float64{c.elsewhere.Decode, c.elsewhere.Prefill, c.elsewhere.First}
	var out []string
	for i, name := range []string{"decode scale", "prompt scale", "first token"} {
		if c.widths[i] > 0 {
			out = append(out, fmt.Sprintf("%s %g (%g)", name, c.widths[i], left[i]))
		}
	}
	return strings.Join(out, ", ")
}

// best is the choice that is least bad on some runs: errors count as where constants are chosen.
func best(errors map[choice][]othersError, on func(*othersError) bool) (best choice) {
	least := math.Inf(1)
	for _, c := range choices {
		if sum := badnessOf(errors[c], on); sum < least {
			best, least = c, sum
		}
	}
	return best
}

// mediansOf are the errors of some runs.
func mediansOf(list []othersError, on func(*othersError) bool) (tpots, ttfts float64, rows int) {
	var off [2][]float64
	for i := range list {
		for f := range off {
			if e := &list[i]; on(e) && !math.IsNaN(e.off[f]) {
				off[f] = append(off[f], 100*math.Abs(math.Expm1(e.off[f])))
			}
		}
	}
	if len(off[tpot]) == 0 || len(off[ttft]) == 0 {
		return 0, 0, 0
	}
	return validate.Median(off[tpot]), validate.Median(off[ttft]), len(off[tpot])
}

// add sums errors up, by lengths, mode and engine.
func (r *OnePointReport) add(name string, list []othersError) {
	row := func(what string, on func(*othersError) bool) {
		if tpot, ttft, n := mediansOf(list, on); n > 0 {
			r.Rows = append(r.Rows, OnePointRow{name, what, n, tpot, ttft})
		}
	}
	row("equal lengths", func(e *othersError) bool { return e.same })
	row("other lengths", func(e *othersError) bool { return !e.same })
	row("all", func(*othersError) bool { return true })
	for _, mode := range []string{"agg", "disagg"} {
		row("all, "+mode, func(e *othersError) bool { return e.deployment.mode == mode })
	}
	for _, engine := range []string{"sglang", "trtllm", "vllm"} {
		row("all, "+engine, func(e *othersError) bool { return e.deployment.engine == engine })
	}
}

// judge fits each deployment to its middle run and predicts the others, without a fit and for all
// choices. Requests of one length are handled in turn to reuse known steps.
func (f *onePoint) judge(list []*measuredDeployment) (map[choice][]othersError, error) {
	out := map[choice][]othersError{}
	for _, d := range list {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		fits := map[validate.Widths]deploy.Fit{}
		for _, c := range append(choices, choice{}) {
			if _, ok := fits[c.widths]; !ok {
				fit, err := f.fitMiddle(d, c.widths)
				if err != nil {
					return nil, err
				}
				fits[c.widths] = fit
			}
		}
		for i, p := range d.points {
			if i == d.middle {
				continue
			}
			distance := fitted.Distance(p.Lengths, d.points[d.middle].Lengths)
			for _, c := range append(choices, choice{}) {
				fit := fits[c.widths]
				e, err := f.judgeRun(d, i, fit.Faded(fitted.Left(distance, c.elsewhere)))
				if err != nil {
					return nil, err
				}
				e.same = distance == 0
				out[c] = append(out[c], e)
			}
		}
	}
	return out, nil
}

// fitMiddle fits a deployment to its middle run, less a doubtful TTFT.
func (f *onePoint) fitMiddle(d *measuredDeployment, widths validate.Widths) (deploy.Fit, error) {
	middle := *d.points[d.middle]
	if d.doubtful[d.middle] {
		middle.Targets = middle.Targets[1:]
	}
	if f.Widths = widths; f.Widths == (validate.Widths{}) {
		return deploy.Fit{}, nil
	}
	return f.Fit([]*validate.FitPoint{&middle})
}

// judgeRun is the errors of a run under a fit to another one.
func (f *onePoint) judgeRun(d *measuredDeployment, at int, fit deploy.Fit) (othersError, error) {
	p, e := d.points[at], othersError{deployment: d}
	got, err := f.Predicted(p, fit)
	if err != nil {
		return e, err
	}
	if t := p.Trusted(); t != nil {
		e.band = [2]float64{ttft: math.Log1p(t.TTFT.Band), tpot: math.Log1p(t.TPOT.Band)}
	}
	for k := range e.off {
		if k == ttft && d.doubtful[at] {
			e.off[k] = math.NaN()
			continue
		}
		e.off[k] = math.Log(got[k] / p.Targets[k].Measured)
		e.bad += badness(got[k], p.Targets[k].Measured, k)
	}
	return e, nil
}

// deployments are those with several runs that have both times, without copies and doubtful runs.
func (f *onePoint) deployments(t *Table) ([]*measuredDeployment, error) {
	points, err := f.Rows(t.Name, bytes.NewReader(t.text))
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	found := map[string]*measuredDeployment{}
	var out []*measuredDeployment
	for i, p := range points {
		if p == nil {
			continue
		}
		r := t.rows[i]
		first, later := doubted(r, 1)
		d := p.Deployment()
		model := d.Model.Name
		if same, ok := sameModel[model]; ok {
			model = same
		}
		copied := fmt.Sprint(model, r.Get("system"), r.Get("engine"), r.Get("mode"), p.Targets[ttft].Measured, p.Targets[tpot].Measured)
		if listed[copied] || later {
			continue
		}
		listed[copied] = true
		key := fmt.Sprint(model, validate.Identity(d), d.Of(op.Prefill).Count, d.Of(op.Decode).Count, r.Cell("backend_version"), r.Cell("version"))
		if found[key] == nil {
			found[key] = &measuredDeployment{engine: d.Engine.Name, mode: r.Get("mode"), pair: d.Engine.Name + " " + model}
			out = append(out, found[key])
		}
		one := found[key]
		one.points, one.doubtful = append(one.points, p), append(one.doubtful, first)
	}
	out = slices.DeleteFunc(out, func(d *measuredDeployment) bool { return len(d.points) < 2 })
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no deployment has two runs with TTFT and TPOT", t.Name)
	}
	for _, d := range out {
		d.middle = d.mid()
	}
	return out, nil
}

// mid is the run at mid concurrency: the lower one of two in the middle, of equals the first.
func (d *measuredDeployment) mid() int {
	order := make([]int, len(d.points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return d.points[a].Clients() - d.points[b].Clients() })
	return order[(len(order)-1)/2]
}
