package lab

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/internal/fitted"
	"throughline/internal/question"
	"throughline/internal/validate"
	"throughline/op"
)

// tried are the widths that are chosen among, by part; 0: the part is not fitted.
var tried = [3][]float64{{0.1, 0.2}, {0, 0.1, 0.2}, {0, 0.03, 0.06, 0.1}}

// faded are the shares of corrections that may remain at other lengths. Decoding keeps all of its
// correction: less was never chosen.
var faded = func() (out []deploy.Shares) {
	for _, prefill := range []float64{1, 0.7, 0.4} {
		for _, first := range []float64{1, 0.7, 0.4} {
			out = append(out, deploy.Shares{Decode: 1, Prefill: prefill, First: first})
		}
	}
	return out
}()

// choice is how far parts may move, and what is left of that at other lengths.
type choice struct {
	widths    validate.Widths
	elsewhere deploy.Shares
}

// folds are the parts of the groups of deployments: each is judged by widths chosen on the others.
const folds = 5

// variant is a choice of what one point may correct.
type variant struct {
	name   string
	allows func(w validate.Widths) bool
	each   bool // engine has widths of its own
}

// allThree is the variant of calibrate serving.
const allThree = "all three"

// variants are what is compared.
var variants = []variant{
	{"decode scale", func(w validate.Widths) bool { return w[1] == 0 && w[2] == 0 }, false},
	{"decode and prefill scale", func(w validate.Widths) bool { return w[1] > 0 && w[2] == 0 }, false},
	{"decode scale, first token", func(w validate.Widths) bool { return w[1] == 0 && w[2] > 0 }, false},
	{allThree, func(w validate.Widths) bool { return w[1] > 0 && w[2] > 0 }, false},
	{"any of them, by engine", func(w validate.Widths) bool { return true }, true},
}

// measuredDeployment is one of a table, its runs by the number of clients.
type measuredDeployment struct {
	engine, mode string
	fold         int
	points       []*validate.FitPoint
	doubtful     []bool // TTFT of each
	middle       int
}

// othersError is the errors of one run that was not fitted to.
type othersError struct {
	deployment *measuredDeployment
	same       bool    // lengths as those of the run that was
	tpot, ttft float64 // percent; negative: not known
	bad        float64 // of both
}

// OnePointRow is the errors on runs that were not fitted to, medians in percent.
type OnePointRow struct {
	Fitted, Others string
	Rows           int
	TPOT, TTFT     float64
}

// OnePointReport is what one measured run of each deployment tells of its others.
type OnePointReport struct {
	Deployments, Runs int
	Rows              []OnePointRow
	Chosen            []string // in words: the widths that all runs choose
	BuiltIn           string   // and those of calibrate serving
	Worse             float64  // percent by which BuiltIn is worse than the best widths
}

// onePoint fits deployments of tables to one of their runs.
type onePoint struct {
	*validate.Fitter
	ctx context.Context
}

// OnePoint fits each deployment to its run at mid concurrency and judges it by its other runs. How
// far a part may move is chosen on other groups (model, system and engine) than it is judged on.
func (t *Table) OnePoint(ctx context.Context) (*OnePointReport, error) {
	f := onePoint{validate.NewFitter(ctx, question.Default()), ctx}
	list, err := f.deployments(t)
	if err != nil {
		return nil, err
	}
	var all []choice
	widths := []validate.Widths{{}}
	for _, d := range tried[0] {
		for _, p := range tried[1] {
			for _, t := range tried[2] {
				widths = append(widths, validate.Widths{d, p, t})
				for _, share := range faded {
					all = append(all, choice{validate.Widths{d, p, t}, share})
				}
			}
		}
	}
	errors, err := f.judge(list, widths)
	if err != nil {
		return nil, err
	}
	out := &OnePointReport{Deployments: len(list), BuiltIn: builtIn().words()}
	for i := range list {
		out.Runs += len(list[i].points)
	}
	out.add("nothing", errors[choice{elsewhere: faded[0]}], false)
	for _, v := range variants {
		judged, chosen := v.crossed(all, errors)
		out.add(v.name, judged, v.each || v.name == allThree)
		out.Chosen = append(out.Chosen, v.name+": "+chosen)
	}
	three := variants[slices.IndexFunc(variants, func(v variant) bool { return v.name == allThree })]
	on := func(*othersError) bool { return true }
	best := three.best(all, errors, on)
	out.Worse = 100 * (badnessOf(errors[*builtIn()], on)/badnessOf(errors[best], on) - 1)
	return out, nil
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

// crossed is the errors of every fold under the widths that the others choose, and these in words.
func (v *variant) crossed(all []choice, errors map[choice][]othersError) ([]othersError, string) {
	of := func(engine string, fold int, in bool) func(*othersError) bool {
		return func(e *othersError) bool {
			return (engine == "" || e.deployment.engine == engine) && (e.deployment.fold == fold) == in
		}
	}
	engines := []string{""}
	if v.each {
		engines = nil
		for i := range errors[all[0]] {
			if e := errors[all[0]][i].deployment.engine; !slices.Contains(engines, e) {
				engines = append(engines, e)
			}
		}
		slices.Sort(engines)
	}
	var out []othersError
	var words []string
	for _, engine := range engines {
		for fold := range folds {
			w := v.best(all, errors, of(engine, fold, false))
			for _, e := range errors[w] {
				if of(engine, fold, true)(&e) {
					out = append(out, e)
				}
			}
		}
		w := v.best(all, errors, of(engine, -1, false))
		words = append(words, strings.TrimSpace(engine+" "+w.words()))
	}
	return out, strings.Join(words, "; ")
}

// builtIn is the choice of calibrate serving.
func builtIn() *choice {
	c := &choice{elsewhere: fitted.Elsewhere}
	usual := validate.UsualWidths()
	copy(c.widths[:], usual[:len(tried)])
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

// best is the widths that are least bad on some runs: errors count as where constants are chosen.
func (v *variant) best(all []choice, errors map[choice][]othersError, on func(*othersError) bool) choice {
	var best choice
	least := math.Inf(1)
	for i := range all {
		if !v.allows(all[i].widths) {
			continue
		}
		if sum := badnessOf(errors[all[i]], on); sum < least {
			best, least = all[i], sum
		}
	}
	return best
}

// mediansOf are the errors of some runs.
func mediansOf(list []othersError, on func(*othersError) bool) (tpot, ttft float64, rows int) {
	var tokens, firsts []float64
	for i := range list {
		if e := &list[i]; on(e) {
			if tokens = append(tokens, e.tpot); e.ttft >= 0 {
				firsts = append(firsts, e.ttft)
			}
		}
	}
	if len(tokens) == 0 || len(firsts) == 0 {
		return 0, 0, 0
	}
	return validate.Median(tokens), validate.Median(firsts), len(tokens)
}

// add sums errors up; in detail by mode and engine.
func (r *OnePointReport) add(name string, list []othersError, detail bool) {
	row := func(what string, on func(*othersError) bool) {
		if tpot, ttft, n := mediansOf(list, on); n > 0 {
			r.Rows = append(r.Rows, OnePointRow{name, what, n, tpot, ttft})
		}
	}
	row("equal lengths", func(e *othersError) bool { return e.same })
	row("other lengths", func(e *othersError) bool { return !e.same })
	row("all", func(*othersError) bool { return true })
	if !detail {
		return
	}
	for _, mode := range []string{"agg", "disagg"} {
		row("all, "+mode, func(e *othersError) bool { return e.deployment.mode == mode })
	}
	for _, engine := range []string{"sglang", "trtllm", "vllm"} {
		row("all, "+engine, func(e *othersError) bool { return e.deployment.engine == engine })
	}
}

// judge fits each deployment to its middle run and predicts the others, for all widths and shares
// left at other lengths. Requests of one length are handled in turn to reuse known steps.
func (f *onePoint) judge(list []*measuredDeployment, widths []validate.Widths) (map[choice][]othersError, error) {
	out := map[choice][]othersError{}
	for _, d := range list {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		fits, err := f.fitMiddle(d, widths)
		if err != nil {
			return nil, err
		}
		for i, p := range d.points {
			if i == d.middle {
				continue
			}
			distance := fitted.Distance(p.Lengths, d.points[d.middle].Lengths)
			for k := range widths {
				if err := f.judgeRun(d, i, distance, widths[k], &fits[k], out); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// fitMiddle fits a deployment to its middle run, less a doubtful TTFT, for each of the widths.
func (f *onePoint) fitMiddle(d *measuredDeployment, widths []validate.Widths) ([]deploy.Fit, error) {
	middle := *d.points[d.middle]
	if d.doubtful[d.middle] {
		middle.Targets = middle.Targets[1:]
	}
	out := make([]deploy.Fit, len(widths))
	for i := range widths {
		var err error
		if f.Widths = widths[i]; f.Widths != (validate.Widths{}) {
			if out[i], err = f.Fit([]*validate.FitPoint{&middle}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// judgeRun is the errors of a run under a fit to another one, so far from its lengths.
func (f *onePoint) judgeRun(d *measuredDeployment, at int, distance float64, w validate.Widths, fit *deploy.Fit, into map[choice][]othersError) error {
	p := d.points[at]
	e := othersError{deployment: d, same: distance == 0}
	for i, share := range faded {
		if i == 0 || !e.same {
			got, err := f.Predicted(p, fit.Faded(fitted.Left(distance, share)))
			if err != nil {
				return err
			}
			off := func(k int) float64 { return 100 * math.Abs(got[k]/p.Targets[k].Measured-1) }
			bad := func(k int) float64 { return badness(got[k], p.Targets[k].Measured, k) }
			e.tpot, e.ttft, e.bad = off(tpot), off(ttft), bad(tpot)+bad(ttft)
			if d.doubtful[at] {
				e.ttft, e.bad = -1, bad(tpot)
			}
		}
		c := choice{w, share}
		into[c] = append(into[c], e)
	}
	return nil
}

// deployments are those with several runs that have both times, without copies and doubtful runs.
func (f *onePoint) deployments(t *Table) ([]*measuredDeployment, error) {
	points, err := f.Rows(t.Name, bytes.NewReader(t.text))
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	found := map[string]*measuredDeployment{}
	groups := map[*measuredDeployment]string{}
	var out []*measuredDeployment
	for i, p := range points {
		if p == nil {
			continue
		}
		r := t.rows[i]
		at := slices.IndexFunc(doubts, func(d doubt) bool { return d.matches(r.named) })
		model := r.named("model")
		if same, ok := sameModel[model]; ok {
			model = same
		}
		group := fmt.Sprint(model, r.Get("system"), r.Get("backend"))
		copied := fmt.Sprint(group, r.Get("mode"), p.Targets[0].Measured, p.Targets[1].Measured)
		if listed[copied] || at >= 0 && !doubts[at].ttft {
			continue
		}
		listed[copied] = true
		d := p.Deployment()
		key := fmt.Sprint(model, validate.Identity(d), d.Of(op.Prefill).Count, d.Of(op.Decode).Count, r.Cell("backend_version"))
		if found[key] == nil {
			found[key] = &measuredDeployment{engine: d.Engine.Name, mode: r.Get("mode")}
			groups[found[key]] = group
			out = append(out, found[key])
		}
		one := found[key]
		one.points, one.doubtful = append(one.points, p), append(one.doubtful, at >= 0)
	}
	out = slices.DeleteFunc(out, func(d *measuredDeployment) bool { return len(d.points) < 2 })
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no deployment has two runs with TTFT and TPOT", t.Name)
	}
	var names []string
	for _, d := range out {
		names = append(names, groups[d])
		d.middle = d.mid()
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, d := range out {
		d.fold = slices.Index(names, groups[d]) % folds
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
