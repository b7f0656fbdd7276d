package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"throughline/cost"
	"throughline/engine"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/measurement"
	"throughline/internal/point"
	"throughline/internal/question"
)

// powerColumns must be there; a table may have others.
var powerColumns = []string{"kind", "dtype", "params", "flops", "bytes", "time_us", "joules", "limit_w"}

// powerLoad is a load that runs over and over under a power limit.
type powerLoad struct {
	works []cost.Work // nil: the chip idles
	limit float64     // watts; 0: that of the chip
	duty  float64     // share of the time in which it works
	hot   bool        // idle with clocks up
	// seconds and joules of one call as measured; 0: not known.
	seconds, joules float64
}

// spent is what a load takes by the power of a chip. What rests, rests as long as it did, or for a
// second where that is not known.
func (l *powerLoad) spent(p *hardware.Power) cost.Spent {
	s := cost.Spent{Clock: 1, Seconds: cmp.Or(l.seconds, 1)}
	switch {
	case l.works == nil && l.hot:
		s.Joules = p.On * s.Seconds
	case l.works == nil:
		s.Joules = p.Rest * s.Seconds
	case l.duty < 1:
		s = l.work(p, math.Inf(1))
		watts := l.duty*s.Watts() + (1-l.duty)*p.On
		s.Seconds /= l.duty
		s.Joules = watts * cmp.Or(l.resting(), s.Seconds)
	default:
		s = l.work(p, l.limit)
	}
	return s
}

// resting is the seconds that a load with rests took, as far as they are known.
func (l *powerLoad) resting() float64 {
	if l.works == nil || l.duty < 1 {
		return l.seconds
	}
	return 0
}

// work is what a load takes without rests.
func (l *powerLoad) work(p *hardware.Power, limit float64) cost.Spent {
	effort := effortOf(p, l.works)
	return effort.Under(p, cmp.Or(limit, p.Limit))
}

// effortOf is that of all works, one after another.
func effortOf(p *hardware.Power, works []cost.Work) (sum cost.Effort) {
	for i := range works {
		effort := works[i].Effort(p)
		sum.Add(1, &effort)
	}
	return sum
}

// powerReader turns rows of a table of power into loads.
type powerReader struct {
	system             *hardware.System
	kernels, unlimited *calibrate.Predictor
	examiner           *point.Estimator
	base               question.Question // of forward passes
	read               map[string][]cost.Work
}

func newPowerReader(name string, s *hardware.System, base question.Question) *powerReader {
	base.Engine, base.Beside = engine.Generic.Name, filepath.Dir(name)
	return &powerReader{
		system: s, kernels: calibrate.NewPredictor(s), unlimited: calibrate.NewPredictor(s.Unlimited()),
		examiner: point.NewExaminer(), base: base, read: map[string][]cost.Work{},
	}
}

func (r *powerReader) load(get func(string) string) (l powerLoad, err error) {
	l.duty = 1
	for _, n := range []struct {
		column string
		to     *float64
		unit   float64
	}{{"time_us", &l.seconds, 1e-6}, {"joules", &l.joules, 1}, {"limit_w", &l.limit, 1}} {
		text := get(n.column)
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || v > mostMeasured {
			return l, fmt.Errorf("%s: %q is not a number above 0", n.column, text)
		}
		*n.to = n.unit * v
	}
	given := map[string]string{}
	for part := range strings.SplitSeq(get("params"), ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return l, fmt.Errorf("params: %q is not of the form name=value", part)
		}
		given[key] = value
	}
	if text, ok := given["duty"]; ok {
		if l.duty, err = strconv.ParseFloat(text, 64); err != nil || !(l.duty > 0 && l.duty <= 1) {
			return l, fmt.Errorf("params: duty must be above 0 and at most 1, not %q", text)
		}
	}
	if get("kind") == "idle" {
		l.hot = given["state"] == "after"
		return l, nil
	}
	key := get("kind") + "," + get("dtype") + "," + get("params")
	works, ok := r.read[key]
	if !ok {
		if works, err = r.works(get, given); err != nil {
			return l, err
		}
		r.read[key] = works
	}
	l.works = works
	return l, nil
}

// works are what a row does.
func (r *powerReader) works(get func(string) string, given map[string]string) ([]cost.Work, error) {
	kind := get("kind")
	if kind == string(question.Prefill) || kind == string(question.Decode) {
		return r.pass(kind, get("dtype"), given)
	}
	flops, errF := strconv.ParseFloat(get("flops"), 64)
	bytes, errB := strconv.ParseFloat(get("bytes"), 64)
	if errF != nil || errB != nil {
		return nil, errors.New("flops and bytes must be numbers")
	}
	w := cost.Work{Times: 1, Flops: flops, Bytes: bytes, Pace: r.system.Memory.GBps * 1e9, Zeros: given["data"] == "zeros"}
	switch {
	case given["where"] == "cache": // which is about as fast as memory at its peak
		w.Seconds, w.ThroughCores, w.Cached = bytes/w.Pace, true, true
		return []cost.Work{w}, nil
	case kind == "read" || kind == "silu_mul": // they pass over memory once, faster than copies do
		w.Seconds, w.ThroughCores = bytes/(w.Pace*r.system.Memory.Calibration), true
		return []cost.Work{w}, nil
	}
	switch kind {
	case "copy":
		kind, given, w.ThroughCores = "d2d_copy", bytesOf(bytes/2), true
	case "host_to_device":
		kind, given, w.Sent, w.Level = "h2d", bytesOf(bytes), bytes, cost.HostLink
	}
	row, err := r.row(kind, get("dtype"), given)
	if err != nil {
		return nil, err
	}
	seconds, ok := r.kernels.Seconds(row)
	if !ok {
		return nil, fmt.Errorf("no calibrated kernel of this kind on %s", r.system.Name)
	}
	w.Seconds = seconds
	w.Static, _ = r.unlimited.Seconds(row)
	switch {
	case w.Level == cost.HostLink:
		w.Static = w.Seconds
	case flops > 0:
		peak, _ := calibrate.PeakOf(row, r.system, 1)
		w.Rate, w.Type = peak.Rate, row.Type
	}
	if row.Kind == kernel.Decode {
		w.ThroughCores = true
		w.Filled = cost.TileFilled(row.Get("h") / row.Get("hk"))
	}
	return []cost.Work{w}, nil
}

// bytesOf are the parameters of a copy.
func bytesOf(n float64) map[string]string {
	return map[string]string{"n": strconv.FormatFloat(n, 'f', 0, 64)}
}

// named are dimensions that tables of kernels have other names for.
var named = map[string]map[string][]string{
	"attn_prefill": {"hq": {"h"}, "d": {"dq", "dv"}}, "attn_decode": {"hq": {"h"}}, "add_rmsnorm": {"t": {"m"}},
}

// row is a row as tables of kernels have it, of any time.
func (r *powerReader) row(kind, dtype string, given map[string]string) (*measurement.Row, error) {
	parse, err := measurement.Parser("power", []string{"kind", "dtype", "params", "time_us"})
	if err != nil {
		return nil, err
	}
	var params []string
	for key, value := range given {
		if key == "data" || key == "where" || key == "duty" {
			continue
		}
		names, ok := named[kind][key]
		if !ok {
			names = []string{key}
		}
		for _, name := range names {
			params = append(params, name+"="+value)
		}
	}
	rows, err := parse([]string{kind, cmp.Or(dtype, "pinned"), strings.Join(params, ";"), "1"})
	if err != nil {
		return nil, err
	}
	return &rows[0], nil
}

// rankOf is a model of which one rank of a tensor-parallel group runs.
var rankOf = regexp.MustCompile(`^(.+)-tp([0-9]+)-rank$`)

// pass is the operators of a forward pass of one process, without collectives.
func (r *powerReader) pass(kind, dtype string, given map[string]string) ([]cost.Work, error) {
	base := r.base
	base.Formats.Weights = cmp.Or(base.Formats.Weights, dtype)
	params := "b=" + given["b"] + ";s=" + given["s"]
	model := given["model"]
	if m := rankOf.FindStringSubmatch(model); m != nil {
		model, given["tp"] = m[1], m[2]
	}
	if tp := given["tp"]; tp != "" {
		params += ";tp=" + tp
	}
	step, err := forwardStep(r.examiner, base, kind, model, params)
	if err != nil {
		return nil, err
	}
	return passWorks(step), nil
}

// passWorks are what a forward pass does, without collectives.
func passWorks(step *point.Result) (out []cost.Work) {
	for i := range step.Operators {
		if step.Operators[i].Computes() || step.Operators[i].Waits() {
			out = append(out, step.Works[i])
		}
	}
	return out
}

// Power predicts a table of loads that ran over and over on one chip under power limits: kernels,
// forward passes, rests. A system without power predicts nothing.
func Power(ctx context.Context, name string, src io.Reader, base question.Question) (*Report, error) {
	probe := base
	probe.Model = probeModel // what is wrong with the flags is wrong for every row
	l, err := probe.Read()
	if err != nil {
		return nil, err
	}
	s := l.Decode
	reader := newPowerReader(name, s, base)
	r, err := predictTable(ctx, name, src, powerColumns, func(get func(string) string) Row {
		row := Row{Group: strings.TrimSpace(get("kind") + " " + get("dtype")), Figures: make([]Figure, 3)}
		row.Class = "limit " + get("limit_w") + " W"
		row.Label = get("params") + " at " + get("limit_w") + " W"
		l, err := reader.load(get)
		if err == nil && s.Power == nil {
			err = fmt.Errorf("%s has no block \"power\"", s.Name)
		}
		if err != nil {
			for i := range row.Figures {
				row.Figures[i].Reason = reasonIn(err)
			}
			return row
		}
		spent := l.spent(s.Power)
		row.Figures[0] = Figure{Measured: 1e6 * l.seconds, Predicted: 1e6 * spent.Seconds}
		row.Figures[1] = Figure{Measured: l.joules, Predicted: spent.Joules}
		row.Figures[2] = Figure{Predicted: spent.Joules / cmp.Or(l.resting(), spent.Seconds)}
		if l.seconds > 0 {
			row.Figures[2].Measured = l.joules / l.seconds
		}
		return row
	})
	if err == nil {
		r.Figures = []string{"time", "joules", "watts"}
		r.Header = append(r.Header, "predicted_time_us", "predicted_joules", "predicted_watts", "reason")
	}
	return r, err
}
