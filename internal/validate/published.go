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
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/names"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// publishedColumns must be there. Others say more of the deployment: parallelism, as plans are
// written, concurrency_or_batch, and every setting of runs.
var publishedColumns = []string{"model", "hardware", "metric", "value"}

// Published predicts figures that others have printed, one in each row, and sums them up by source.
func Published(ctx context.Context, name string, src io.Reader, base question.Question) (*Report, error) {
	if err := base.Check(question.Published); err != nil {
		return nil, err
	}
	e := point.NewEstimator()
	base.Beside = filepath.Dir(name)
	r, err := predictTable(ctx, name, src, publishedColumns, func(get func(string) string) Row {
		f := Figure{Reason: get("unpredictable")}
		if f.Measured, _ = strconv.ParseFloat(get("value"), 64); f.Reason == "" && !(f.Measured > 0 && f.Measured <= math.MaxFloat64) {
			f.Misread, f.Reason = true, fmt.Sprintf("value %q is not a positive number", get("value"))
		}
		m, err := FindMetric(get("metric"))
		if f.Reason == "" && err == nil {
			f.Predicted, err = m.row(e, base, get)
		}
		if f.Reason == "" && err != nil {
			f.Reason = reasonIn(err)
		}
		row := Row{Group: strings.Trim(get("source")+", "+m.of, ", "), Class: "all", Label: publishedLabel(get), Figures: []Figure{f}, More: []float64{math.NaN()}}
		if f.Reason == "" {
			row.More[0] = 100 * f.Error()
		}
		return row
	})
	if err == nil {
		r.Header, r.Summed = append(r.Header, "predicted", "error_percent", "reason"), true
	}
	return r, err
}

// publishedLabel names a row within its source.
func publishedLabel(get func(string) string) string {
	parts := []string{get("model"), get("hardware"), get("parallelism")}
	if n := get("isl"); n != "" {
		parts = append(parts, strings.TrimSuffix(n+" + "+get("osl"), " + ")+" tokens")
	}
	if share := get("memory_share"); share != "" {
		parts = append(parts, "memory share "+share)
	}
	parts = append(parts, get("concurrency_or_batch"), get("metric"))
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// Metric is a kind of figure that pages and logs print of deployments.
type Metric struct {
	name  string
	of    string         // what it is summed up with
	phase question.Phase // of bare steps; empty: what clients see, or what a server holds
	holds bool           // once it has started, whoever comes
	units []metricUnit   // the first where a row has none
	value func(*point.Answer) (float64, error)
}

// metricUnit is a unit, and how many of it the first of a metric's units is for a deployment.
type metricUnit struct {
	name string
	per  func(*deploy.Deployment) float64
}

func always(x float64) func(*deploy.Deployment) float64 {
	return func(*deploy.Deployment) float64 { return x }
}

var (
	tokenRates = []metricUnit{
		{"tok/s", always(1)},
		{"tok/s/GPU", func(d *deploy.Deployment) float64 { return 1 / float64(d.Procs()) }},
		{"tok/s/node", func(d *deploy.Deployment) float64 {
			return float64(cmp.Or(d.GPUsPerNode, hardware.NodeSize)) / float64(d.Procs())
		}},
	}
	gibibytes = []metricUnit{{"GiB", always(1.0 / estimate.GiB)}}
	seconds   = []metricUnit{{"s", always(1)}, {"ms", always(1e3)}, {"us", always(1e6)}}
)

var metrics = []Metric{
	{"prefill_throughput", "prefill", question.Prefill, false, tokenRates, stepRate},
	{"decode_throughput", "decode", question.Decode, false, tokenRates, stepRate},
	{"output_throughput", "output", "", false, tokenRates, seenBy(func(a *point.Answer) float64 { return a.Seen.Requests * float64(a.Load.Lengths.Output) })},
	{"per_user_output_throughput", "output of a client", "", false, tokenRates[:1], seenBy(func(a *point.Answer) float64 { return float64(a.Load.Lengths.Output) / a.Seen.Latency })},
	{"request_throughput", "requests", "", false, []metricUnit{{"requests/s", always(1)}}, seenBy(func(a *point.Answer) float64 { return a.Seen.Requests })},
	{"request_latency", "latency", "", false, seconds, seenBy(func(a *point.Answer) float64 { return a.Seen.Latency })},
	{"ttft", "TTFT", "", false, seconds, seenBy(func(a *point.Answer) float64 { return a.Seen.TTFT })},
	{"tpot", "TPOT", "", false, seconds, seenBy(func(a *point.Answer) float64 { return a.Seen.TPOT })},
	{"kv_cache_tokens", "KV cache", "", true, []metricUnit{{"tokens", always(1)}}, heldBy((*serving.Predictor).CacheTokens)},
	{"kv_cache_memory", "KV cache", "", true, gibibytes, heldBy(func(p *serving.Predictor, d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths) (float64, error) {
		m := p.Memory(d, pool, n)
		return d.CacheBytes(pool, &m), nil
	})},
	{"weights_memory", "weights", "", true, gibibytes, heldBy(func(p *serving.Predictor, d *deploy.Deployment, pool *deploy.Pool, n workload.Lengths) (float64, error) {
		m := p.Memory(d, pool, n)
		return m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock], nil
	})},
}

// stepRate is the tokens per second of bare steps, with the time of their host, as servers log it.
func stepRate(a *point.Answer) (float64, error) {
	return StepRate(a, a.Deployment.Of(op.Decode).Plan.Drafts), nil
}

// StepRate is the tokens per second of the bare steps of an answer, whose host prepares the drafts.
func StepRate(a *point.Answer, drafts int) float64 {
	r := &a.Phases[0]
	if r.Phase == op.Prefill {
		drafts = 0
	}
	e := &r.Estimate
	host := a.Deployment.Engine.Drafting(drafts).Host(float64(e.Plan.Sequences(a.Deployment.Model.IsMoE())))
	return float64(a.Deployment.Of(r.Phase).Count) * e.Throughput * e.StepTime / (e.StepTime + host)
}

// seenBy is a figure of what clients see.
func seenBy(of func(*point.Answer) float64) func(*point.Answer) (float64, error) {
	return func(a *point.Answer) (float64, error) {
		if a.Seen == nil {
			return 0, errors.New(a.Remark)
		}
		return of(a), nil
	}
}

// heldBy is a figure of what a server that decodes holds in memory once it has started.
func heldBy(of func(*serving.Predictor, *deploy.Deployment, *deploy.Pool, workload.Lengths) (float64, error)) func(*point.Answer) (float64, error) {
	return func(a *point.Answer) (float64, error) {
		p, err := serving.NewPredictor(&a.Deployment)
		if err != nil {
			return 0, err
		}
		return of(p, &a.Deployment, a.Deployment.Of(op.Decode), a.Load.Lengths)
	}
}

// FindMetric is the metric of a name, or of any usual name of a mean.
func FindMetric(name string) (*Metric, error) {
	want := name
	if f, ok := names.FigureOf(name); ok && f.Statistic == "mean" {
		want = cmp.Or(usualMetrics[names.Figure{Quantity: f.Quantity, Scope: f.Scope}], usualMetrics[names.Figure{Quantity: f.Quantity}], name)
	}
	for i := range metrics {
		if strings.EqualFold(metrics[i].name, name) || strings.EqualFold(metrics[i].name, want) {
			return &metrics[i], nil
		}
	}
	return &Metric{}, fmt.Errorf("metric: %s", document.NotOneOf(name, MetricNames()))
}

// usualMetrics are metrics by what their usual names mean; the unit says of how many GPUs.
var usualMetrics = map[names.Figure]string{
	{Quantity: "ttft"}: "ttft", {Quantity: "tpot"}: "tpot", {Quantity: "itl"}: "tpot", {Quantity: "e2e"}: "request_latency",
	{Quantity: "output_throughput"}: "output_throughput", {Quantity: "output_throughput", Scope: "user"}: "per_user_output_throughput",
	{Quantity: "prefill_throughput"}: "prefill_throughput", {Quantity: "decode_throughput"}: "decode_throughput", {Quantity: "requests"}: "request_throughput",
}

// MetricNames are the figures that can be predicted.
func MetricNames() (out []string) {
	for i := range metrics {
		out = append(out, metrics[i].name)
	}
	return out
}

// Value predicts the metric of a deployment in one of its units.
func (m *Metric) Value(e *point.Estimator, q *question.Question, unit string) (float64, error) {
	var names []string
	for _, u := range m.units {
		if names = append(names, u.name); !strings.EqualFold(cmp.Or(unit, m.units[0].name), u.name) {
			continue
		}
		a, err := e.Answer(q)
		if err != nil {
			return 0, err
		}
		v, err := m.value(a)
		return v * u.per(&a.Deployment), err
	}
	return 0, fmt.Errorf("unit: %s", document.NotOneOf(unit, names))
}

// aRequest is the tokens a cache is sized for; it matters to models with windows, which do not grow
// with it.
const aRequest = 4096

// row predicts the figure of a row.
func (m *Metric) row(e *point.Estimator, q question.Question, get func(string) string) (float64, error) {
	load, loaded := "batch", "the batch of a data-parallel rank"
	if q.Phase = m.phase; m.phase == "" {
		load, loaded = "concurrency", "how many clients wait for answers"
	}
	if m.phase == question.Prefill {
		q.Output = 1
	}
	if m.holds {
		q.Input, q.Output, q.Batch = aRequest, 1, 1
	}
	cells, err := publishedCells(get, load)
	if err != nil {
		return 0, err
	}
	q, err = question.OfRun(q, func(column string) string { return cmp.Or(get(column), cells[column]) })
	errs := []error{err}
	if get("parallelism")+get("tp")+get("dp")+get("pp") == "" && !q.Split() {
		errs = append(errs, errors.New("parallelism is missing: it reads like tp8, or dp8 ep8"))
	}
	if q.Batch == 0 && q.Concurrency == 0 {
		errs = append(errs, fmt.Errorf("concurrency_or_batch is missing: %s", loaded))
	}
	if err := document.Join(errs...); err != nil {
		return 0, err
	}
	return m.Value(e, &q, get("unit"))
}

// publishedCells are the columns of runs that others of published figures stand for.
func publishedCells(get func(string) string, load string) (map[string]string, error) {
	out := map[string]string{"system": get("hardware"), load: get("concurrency_or_batch")}
	text := get("parallelism")
	if text == "" {
		return out, nil
	}
	w, err := plan.ParseWords(text)
	if err != nil {
		return nil, fmt.Errorf("parallelism: %w", err)
	}
	out["overlap"], out["tp"] = w.Overlap.String(), strconv.Itoa(max(1, w.TP))
	for column, n := range map[string]int{
		"instances": w.Count, "dp": w.DP, "pp": w.PP, "cp": w.CP, "ep": w.EP, "moe_tp": w.MoETP, "moe_dp": w.MoEDP, "redundant": w.Redundant, "drafts": w.Drafts, "batch": w.Batch,
	} {
		if n > 0 {
			out[column] = strconv.Itoa(n)
		}
	}
	return out, nil
}
