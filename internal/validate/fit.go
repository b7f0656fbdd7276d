package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/internal/document"
	"throughline/internal/fitted"
	"throughline/internal/question"
	"throughline/op"
	"throughline/serving"
)

// part is one number that measured runs may correct.
type part struct {
	name string
	// width is the standard deviation expected without measurements: of the logarithm for scales,
	// in seconds for times. The first three were chosen across deployments (OnePoint); stalls of
	// cold servers take seconds.
	width float64
	ref   func(*deploy.Fit) *float64
	scale bool
}

var parts = []part{
	{"decode", 0.1, func(f *deploy.Fit) *float64 { return &f.Decode }, true},
	{"prefill", 0.2, func(f *deploy.Fit) *float64 { return &f.Prefill }, true},
	{"first-token", 0.03, func(f *deploy.Fit) *float64 { return &f.First }, false},
	{"first-wave", 3, func(f *deploy.Fit) *float64 { return &f.Wave }, false},
}

// The places of the parts.
const decodePart, prefillPart, firstPart, wavePart = 0, 1, 2, 3

// Relative noise of a measured run, from repeats that differ in settings the tables do not give.
const (
	tokenNoise = 0.05
	firstNoise = 0.1
)

// Widths are the widths of the parts that are fitted; 0: the part is not.
type Widths [4]float64

// freely is how much wider the widths are of parts that go as far as runs say.
const freely = 20

// widthsOf are those of some parts by name.
func widthsOf(names string, free bool) Widths {
	var out Widths
	for i := range parts {
		if slices.Contains(question.Words(names), parts[i].name) {
			out[i] = parts[i].width
			if free {
				out[i] *= freely
			}
		}
	}
	return out
}

// at is the fit whose parts are x widths away from no correction, within their limits.
func (w *Widths) at(x []float64, most Widths) deploy.Fit {
	var f deploy.Fit
	for i := range parts {
		v := max(-most[i], min(most[i], w[i]*x[i]))
		if parts[i].scale {
			v = min(fitted.MostScale, max(fitted.LeastScale, math.Exp(v)))
		}
		*parts[i].ref(&f) = v
	}
	f.Wave = max(0, f.Wave)
	return f
}

// Target is one measured figure of a run.
type Target struct {
	figure   int // of the table
	Measured float64
	noise    float64
}

type FitPoint struct {
	label   string
	line    int
	Lengths [2]int // in and out, as the table has them
	fitted  [2]int // that a fit is for
	run     *servingRun
	Targets []Target
}

// with is the run as a fit corrects it.
func (p *FitPoint) with(f deploy.Fit) *servingRun {
	run, answer := *p.run, *p.run.Answer
	answer.Served.Fitted = f
	f.Apply(&answer.Served.Engine)
	run.Answer = &answer
	return &run
}

// Fitter fits what is known of a deployment to measured runs of it.
type Fitter struct {
	*servingPredictor
	Widths Widths
	exact  bool   // corrections go as far as runs say
	most   Widths // corrections of the runs that are fitted to
	all    bool   // all figures of a run are targets
}

// Predicted are the targets of a run under a fit.
func (f *Fitter) Predicted(p *FitPoint, fit deploy.Fit) ([]float64, error) {
	a, err := f.answer(p.with(fit))
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, t := range p.Targets {
		out = append(out, f.figures[t.figure].value(&a))
	}
	return out, nil
}

// residuals are the errors of the targets and the sizes of the corrections, in standard deviations.
func (f *Fitter) residuals(points []*FitPoint, x []float64) ([]float64, error) {
	var out []float64
	fit := f.Widths.at(x, f.most)
	for _, p := range points {
		got, err := f.Predicted(p, fit)
		if err != nil {
			return nil, err
		}
		for i, t := range p.Targets {
			out = append(out, math.Log(got[i]/t.Measured)/t.noise)
		}
	}
	return append(out, x...), nil
}

// limits are how far corrections may go by one run: as far as the band of its prediction. A run
// that is further off, which no other bears out, may be faulty.
func (f *Fitter) limits(points []*FitPoint) (out Widths) {
	for i := range out {
		out[i] = math.Inf(1)
	}
	run := points[0].run
	t := run.Trusted
	if f.exact || len(points) > 1 || t == nil || !t.TTFT.HasBand() || !t.TPOT.HasBand() {
		return out
	}
	out[decodePart], out[prefillPart], out[firstPart] = math.Log1p(t.TPOT.Band), math.Log1p(t.TTFT.Band), t.TTFT.Band*run.Seen.TTFT
	return out
}

// Trusted is how far the run is trusted without a fit; nil: not known.
func (p *FitPoint) Trusted() *serving.Confidence { return p.run.Trusted }

// Fit finds the most likely correction: damped Gauss-Newton steps minimize the squared errors of
// the measurements plus the squared sizes of the corrections.
func (f *Fitter) Fit(points []*FitPoint) (deploy.Fit, error) {
	f.most = f.limits(points)
	starts := [][]float64{make([]float64, len(parts))}
	// Latencies jump once a request arrives too late for a step, and medians jump once the first
	// requests pass them, so the search also starts beyond those jumps.
	for _, k := range []int{firstPart, wavePart} {
		if f.Widths[k] > 0 {
			late := make([]float64, len(parts))
			late[k] = parts[k].width / f.Widths[k]
			starts = append(starts, late)
		}
	}
	if f.Widths[prefillPart] > 0 && len(points) > 1 { // of several runs the way there has kinks
		for _, way := range []float64{-1, 1} {
			side := make([]float64, len(parts))
			side[prefillPart] = way * parts[prefillPart].width / f.Widths[prefillPart]
			starts = append(starts, side)
		}
	}
	var best deploy.Fit
	least := math.Inf(1)
	for _, x := range starts {
		fit, off, err := f.descend(points, x)
		if err != nil {
			return best, err
		}
		if off < least {
			best, least = fit, off
		}
	}
	return best, nil
}

// descend is that from a start, and the sum that is left.
func (f *Fitter) descend(points []*FitPoint, x []float64) (deploy.Fit, float64, error) {
	const rounds, enough = 12, 1e-4
	r, err := f.residuals(points, x)
	for round := 0; err == nil && round < rounds; round++ {
		var better bool
		before := squares(r)
		if x, r, better, err = f.damped(points, x, r); err != nil {
			return deploy.Fit{}, 0, err
		}
		if !better || before-squares(r) < enough*before {
			if len(points) > 1 {
				x, r, better, err = f.nudged(points, x, r)
			}
			if len(points) == 1 || !better {
				break
			}
		}
	}
	return f.Widths.at(x, f.most), squares(r), err
}

// slopes are how the residuals change with each part; of a part without width there are none.
func (f *Fitter) slopes(points []*FitPoint, x, r []float64) ([][]float64, error) {
	const nudge = 0.05
	slopes := make([][]float64, len(parts))
	for k := range parts {
		if f.Widths[k] == 0 {
			continue
		}
		y := slices.Clone(x)
		nudge := nudge * parts[k].width / f.Widths[k]
		y[k] += nudge
		var err error
		if slopes[k], err = f.residuals(points, y); err != nil {
			return nil, err
		}
		for i := range r {
			slopes[k][i] = (slopes[k][i] - r[i]) / nudge
		}
	}
	return slopes, nil
}

// damped goes a Gauss-Newton step, halved until the squares are less. If they never are, it stays.
func (f *Fitter) damped(points []*FitPoint, x, r []float64) (at, off []float64, better bool, err error) {
	slopes, err := f.slopes(points, x, r)
	if err != nil {
		return x, r, false, err
	}
	way, before := newton(slopes, r), squares(r)
	for step := 1.0; step > 0.02; step /= 2 {
		y := slices.Clone(x)
		for k := range y {
			y[k] += step * way[k]
		}
		after, err := f.residuals(points, y)
		if err != nil {
			return x, r, false, err
		}
		if squares(after) < before {
			return y, after, true, nil
		}
	}
	return x, r, false, nil
}

// nudged moves one part at a time where slopes no longer help: predictions have kinks where one
// more prompt fits into a step.
func (f *Fitter) nudged(points []*FitPoint, x, r []float64) (at, off []float64, better bool, err error) {
	for _, size := range []float64{0.1, 0.03, 0.01} {
		for k := range parts {
			if f.Widths[k] == 0 {
				continue
			}
			for _, way := range []float64{-size, size} {
				y := slices.Clone(x)
				y[k] += way * parts[k].width / f.Widths[k]
				after, err := f.residuals(points, y)
				if err != nil {
					return x, r, better, err
				}
				if squares(after) < squares(r) {
					x, r, better = y, after, true
				}
			}
		}
	}
	return x, r, better, nil
}

func squares(list []float64) (sum float64) {
	for _, v := range list {
		sum += v * v
	}
	return sum
}

// newton solves (JᵀJ) step = −Jᵀr by elimination. Every part has a residual of its own, so no pivot
// is 0, and a part without slopes stays put.
func newton(slopes [][]float64, r []float64) []float64 {
	n := len(slopes)
	m := make([][]float64, n)
	for a := range m {
		m[a] = make([]float64, n+1)
		if slopes[a] == nil {
			m[a][a] = 1
			continue
		}
		for b := range n {
			for i := range slopes[b] {
				m[a][b] += slopes[a][i] * slopes[b][i]
			}
		}
		for i := range r {
			m[a][n] -= slopes[a][i] * r[i]
		}
	}
	for a := range n {
		for b := range n {
			if by := m[b][a] / m[a][a]; b != a {
				for c := a; c <= n; c++ {
					m[b][c] -= by * m[a][c]
				}
			}
		}
	}
	way := make([]float64, n)
	for a := range way {
		way[a] = m[a][n] / m[a][a]
	}
	return way
}

// FitRow is one figure of a measured run beside its predictions.
type FitRow struct {
	Run      string  `json:"run"`
	Figure   string  `json:"figure"`
	Measured float64 `json:"measured_ms"`
	Before   float64 `json:"before_ms"`
	After    float64 `json:"fitted_ms"`
	Others   float64 `json:"by_the_others_ms,omitempty"` // by a fit to the other runs; 0: there are none
}

// Fitted is what measured runs of a deployment tell.
type Fitted struct {
	File *fitted.File
	Fit  deploy.Fit
	Rows []FitRow
}

// FitServing fits some parts of what is known of a deployment to a table of its runs.
func FitServing(ctx context.Context, name string, src io.Reader, q question.Question) (*Fitted, error) {
	if err := checkServing(&q); err != nil {
		return nil, err
	}
	f := Fitter{servingPredictor: newServingPredictor(ctx, q, Trial{}), Widths: widthsOf(q.Parts, q.Exact), exact: q.Exact}
	points, err := f.points(name, src)
	if err != nil {
		return nil, err
	}
	fit, err := f.Fit(points)
	if err != nil {
		return nil, err
	}
	d := &points[0].run.Served
	var lengths [][2]int
	for _, p := range points {
		if !slices.Contains(lengths, p.fitted) {
			lengths = append(lengths, p.fitted)
		}
	}
	out := &Fitted{File: fitted.Of(d, &fit, lengths, len(points), filepath.Base(name))}
	out.Fit = out.File.Fit(lengths[0][0], lengths[0][1])
	for i, p := range points {
		before, err := f.Predicted(p, deploy.Fit{})
		if err != nil {
			return nil, err
		}
		after, err := f.Predicted(p, out.Fit)
		if err != nil {
			return nil, err
		}
		others := make([]float64, len(p.Targets))
		if len(points) > 1 {
			rest, err := f.Fit(slices.Delete(slices.Clone(points), i, i+1))
			if err != nil {
				return nil, err
			}
			if others, err = f.Predicted(p, rest); err != nil {
				return nil, err
			}
		}
		for k, t := range p.Targets {
			out.Rows = append(out.Rows, FitRow{p.label, f.figures[t.figure].name, t.Measured, before[k], after[k], others[k]})
		}
	}
	return out, nil
}

// Against predicts other runs of the deployment with the fit: all figures that a table has of them.
func (got *Fitted) Against(ctx context.Context, name string, src io.Reader, q question.Question) ([]FitRow, error) {
	f := Fitter{servingPredictor: newServingPredictor(ctx, q, Trial{}), all: true}
	points, err := f.points(name, src)
	if err != nil {
		return nil, err
	}
	var out []FitRow
	for _, p := range points {
		d := &p.run.Served
		if why := got.File.Mismatch(d.Model.Name, d.Of(op.Decode).System.Name, d.Stored.Format); why != "" {
			return nil, fmt.Errorf("%s:%d: a run of another deployment: %s", name, p.line, why)
		}
		before, err := f.Predicted(p, deploy.Fit{})
		if err != nil {
			return nil, err
		}
		after, err := f.Predicted(p, got.File.Fit(p.fitted[0], p.fitted[1]))
		if err != nil {
			return nil, err
		}
		for k, t := range p.Targets {
			out = append(out, FitRow{Run: p.label, Figure: f.figures[t.figure].name, Measured: t.Measured, Before: before[k], After: after[k]})
		}
	}
	return out, nil
}

// NewFitter is one that fits means.
func NewFitter(ctx context.Context, q question.Question) *Fitter {
	return &Fitter{servingPredictor: newServingPredictor(ctx, q, Trial{Waiting: true})}
}

// Rows reads the runs of a table that have both times and closed-loop clients; others are nil.
func (f *Fitter) Rows(name string, src io.Reader) (out []*FitPoint, err error) {
	check := func(header []string) error {
		f.figures, _ = presentFigures(header)
		f.figures = f.figures[:meanFigures]
		return f.checkHeader(header)
	}
	_, err = predictRows(f.ctx, name, src, check, func(_ []string, cell func(string) string) Row {
		p, err := f.point(cell)
		if err == nil && len(p.Targets) == meanFigures && !p.run.guessed && p.run.rate() == 0 {
			_, err = f.Predicted(p, deploy.Fit{})
		} else {
			p = nil
		}
		if err != nil {
			p = nil
		}
		out = append(out, p)
		return Row{}
	})
	return out, err
}

func (p *FitPoint) Deployment() *deploy.Deployment { return &p.run.Served }

// Clients is how many wait for their answers.
func (p *FitPoint) Clients() int { return p.run.Load.Clients }

// UsualWidths are how far off parts are where nothing is measured.
func UsualWidths() (out Widths) {
	for i := range parts {
		out[i] = parts[i].width
	}
	return out
}

// points are the runs of a table, which must be of one deployment.
func (f *Fitter) points(name string, src io.Reader) ([]*FitPoint, error) {
	var out []*FitPoint
	var errs []error
	line := 1
	check := func(header []string) error {
		f.figures, _ = presentFigures(header)
		return f.checkHeader(header)
	}
	_, err := predictRows(f.ctx, name, src, check, func(_ []string, cell func(string) string) Row {
		line++
		p, err := f.point(cell)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, line, err))
			return Row{}
		}
		p.line = line
		out = append(out, p)
		return Row{}
	})
	if err := cmp.Or(err, f.ctx.Err(), document.Join(errs...)); err != nil {
		return nil, err
	}
	first := Identity(&out[0].run.Served)
	for _, p := range out[1:] {
		if other := Identity(&p.run.Served); other != first {
			errs = append(errs, fmt.Errorf("%s:%d: a run of another deployment, %s; that of line %d is %s", name, p.line, other, out[0].line, first))
		}
	}
	return out, document.Join(errs...)
}

// Identity is what runs of one deployment share.
func Identity(d *deploy.Deployment) string {
	f := fitted.Of(d, &deploy.Fit{}, nil, 1, "")
	words := []string{f.Model, f.System, f.Engine, f.Weights, f.Plan}
	for _, prefill := range []bool{true, false} {
		if backend := d.ServerOptions.Backend(prefill); backend != "" && !slices.Contains(words, backend) {
			words = append(words, backend)
		}
	}
	return strings.Join(words, ", ")
}

// fitFigures are the targets of a fit; in each list, later names replace missing earlier ones.
var fitFigures = [][]string{{"TTFT"}, {"TTFT p50"}, {"TPOT", "ITL"}, {"TPOT p50", "ITL p50"}}

func (f *Fitter) point(cell func(string) string) (*FitPoint, error) {
	made, err := f.read(cell)
	if err != nil {
		return nil, errors.New(reasonIn(err))
	}
	n := made.q.FittedBy(made.Load.Lengths)
	p := &FitPoint{run: made, Lengths: [2]int{made.q.Input, made.q.Output}, fitted: [2]int{n.Input, n.Output},
		label: fmt.Sprintf("%d + %d tokens, %d clients", made.q.Input, made.q.Output, made.Load.Clients)}
	if rate := made.rate(); rate > 0 {
		p.label = fmt.Sprintf("%d + %d tokens, %g requests/s", made.q.Input, made.q.Output, rate)
	}
	wanted := fitFigures
	if f.all {
		wanted = nil
		for i := range f.figures {
			wanted = append(wanted, []string{f.figures[i].name})
		}
	}
	for _, names := range wanted {
		for _, n := range names {
			i := slices.IndexFunc(f.figures, func(s servingFigure) bool { return s.name == n })
			if i < 0 {
				continue
			}
			fig := f.figures[i].measured(cell)
			if why := cmp.Or(fig.Reason, f.figures[i].unclear(cell, made.full)); why != "" {
				return nil, fmt.Errorf("%s: %s", n, why)
			}
			if fig.Measured == 0 || strings.HasPrefix(n, "TPOT") && made.Load.Lengths.Output == 1 {
				continue
			}
			noise := tokenNoise
			if strings.HasPrefix(n, "TTFT") {
				noise = firstNoise
			}
			p.Targets = append(p.Targets, Target{i, fig.Measured, noise})
			break
		}
	}
	if len(p.Targets) == 0 {
		return nil, errors.New("no measured TTFT or TPOT: a column such as ttft_ms or tpot_ms")
	}
	return p, nil
}
