package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"throughline/assume"
	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/scenario"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// precisions are other names of number formats in tables of serving runs.
var precisions = map[string]string{
	"nvfp4": "fp4", "mxfp4": "fp4", "int4_wo": "int4", "w4a16": "int4", "fp8_block": "fp8", "w8a8": "fp8",
	"bfloat16": "bf16", "float16": "fp16", "float8": "fp8",
}

// ServingOptions change how a table of serving runs is read.
type ServingOptions struct {
	System  string // in place of what the rows say
	Lengths string // how lengths are spread, in place of what is known of the benchmark
	Assume  string // modelling assumptions
}

// servingColumns must be there. The sizes of a layout are needed by the mode of a row, and measured times where errors are
// asked for.
var servingColumns = []string{"model_path", "system", "backend", "precision", "mode", "isl", "osl", "concurrency"}

// benchmark is what is known of how runs were made.
type benchmark struct {
	lengths  string  // how they are spread
	requests float64 // of each client
	// By engine, the tokens or the prompts that a step holds; absent: the default.
	stepTokens, stepPrompts map[string]int
	polls                   []poll
	source                  string
}

// poll is the steps between two looks for new requests where an engine was told so, from a number of clients on.
type poll struct {
	engine         string
	clients, steps int
	where          func(d *deploy.Deployment, n workload.Lengths) bool
}

// onBlackwell: the scripts for B200 and B300.
func onBlackwell(d *deploy.Deployment, _ workload.Lengths) bool {
	_, fp4 := d.Of(op.Decode).System.Matrix["float4"]
	return fp4
}

// dense1k: the scripts for dense models, with fewer than 8 ranks.
func dense1k(d *deploy.Deployment, n workload.Lengths) bool {
	return !d.Model.IsMoE() && d.Of(op.Decode).Plan.Attention.TP < 8 && n.Input == 1024 && n.Output == 1024
}

// inferenceX is known by the lengths of its requests.
var inferenceX = benchmark{
	lengths: "uniform:0.8", requests: 10,
	stepTokens: map[string]int{"sglang": 16384},
	polls: []poll{
		{"sglang", 1, 10, onBlackwell}, {"sglang", 16, 30, onBlackwell},
		// Prompts wait for others for up to 20 steps: less in a crowd, so like looking at every 30th.
		{"trtllm", 1, 30, dense1k},
	},
	source: "github.com/SemiAnalysisAI/InferenceX, benchmarks/single_node: random range ratio, number of prompts; of SGLang, chunked prefill size and scheduler receive interval; of TensorRT-LLM, batch_wait_timeout_iters of Llama 70B",
}

var inferenceXLengths = []workload.Lengths{{Input: 1024, Output: 1024}, {Input: 1024, Output: 8192}, {Input: 8192, Output: 1024}}

// roundLengths are the runs with lengths in hundreds of tokens.
var roundLengths = benchmark{
	lengths: "lognormal:0.5", requests: 10,
	source: "fitted to the runs with such lengths in aiconfigurator's silicon_sample.csv: requests do not stay in step, as if outputs ended where the model ends them",
}

// others are all other runs.
var others = benchmark{
	lengths: "fixed", requests: 10,
	stepPrompts: map[string]int{"trtllm": 1},
	source:      "fitted to the runs with fixed lengths in aiconfigurator's silicon_sample.csv: requests stay in step; of TensorRT-LLM, TTFT is that of three steps of one prompt each",
}

// stated is the load that a row states: clients that have been at it for long, with requests of its lengths. It is that of
// rows which nobody has measured.
var stated = benchmark{lengths: "fixed", source: "the row itself"}

// benchmarkOf is the benchmark that is known by its lengths.
func benchmarkOf(n workload.Lengths) *benchmark {
	switch {
	case slices.Contains(inferenceXLengths, n):
		return &inferenceX
	case n.Input%100 == 0 && n.Output%100 == 0:
		return &roundLengths
	}
	return &others
}

// Serving predicts a table of serving runs: the mean time to the first token and per output token of every row.
func Serving(ctx context.Context, name string, src io.Reader, o ServingOptions) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := servingPredictor{options: o, loaded: map[servingFiles]*scenario.Loaded{}, failed: map[servingFiles]error{}, prepared: map[prepared]*serving.Predictor{}}
	r, err := table(ctx, name, src, servingColumns, p.row)
	if err == nil {
		r.Figures = []string{"TTFT", "TPOT"}
		r.Header = append(r.Header, "predicted_ttft_ms", "predicted_tpot_ms", "predicted_tokens_per_s", "predicted_memory_gib", "reason")
	}
	return r, err
}

// check finds what is wrong with the options, so that no row has to say it.
func (o *ServingOptions) check() error {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if o.System != "" {
		_, _, err := scenario.Find("--system", "system", o.System, hardware.Catalogue)
		note(err)
	}
	if _, err := (workload.Lengths{Input: 1, Output: 1}).Spread(o.Lengths); err != nil {
		note(fmt.Errorf("--lengths: %w", err))
	}
	_, err := assume.Parse(cmp.Or(o.Assume, "physical"))
	note(err)
	return document.Join(errs...)
}

// servingPredictor keeps the files that rows share.
type servingPredictor struct {
	options ServingOptions
	loaded  map[servingFiles]*scenario.Loaded
	failed  map[servingFiles]error

	prepared map[prepared]*serving.Predictor
}

type servingFiles struct {
	model, system string
	formats       scenario.Formats
}

// row predicts one row.
func (p *servingPredictor) row(get func(string) string) Row {
	precision := cmp.Or(precisions[strings.ToLower(get("precision"))], strings.ToLower(get("precision")), "bf16")
	group := []string{path.Base(get("model_path")), get("system"), get("backend"), precision, get("mode")}
	row := Row{
		Group: strings.Join(group, " "), Class: get("mode"),
		Label:   fmt.Sprintf("%s + %s tokens, %s clients, num_gpus %s", get("isl"), get("osl"), cmp.Or(get("concurrency"), "?"), cmp.Or(get("num_gpus"), "?")),
		Figures: []Figure{ifMeasured(get("silicon_ttft_ms")), ifMeasured(get("silicon_tpot_ms"))},
		More:    []float64{math.NaN(), math.NaN()},
	}
	run, err := p.read(get, precision)
	var seen serving.Prediction
	var predictor *serving.Predictor
	if err == nil {
		predictor, err = p.predictor(run)
	}
	if err == nil {
		seen, err = predictor.Predict(&run.deployment, run.load)
	}
	if err != nil {
		// The words of the command line for what are columns here.
		why := strings.NewReplacer("\n", "; ", "--model: ", "model_path: ", "--system: ", "system: ").Replace(err.Error())
		for i := range row.Figures {
			row.Figures[i].Reason = cmp.Or(row.Figures[i].Reason, why)
		}
		return row
	}
	if run.guessed {
		why := "no concurrency; that of TPOT follows from the batch size"
		row.Figures[0].Reason = cmp.Or(row.Figures[0].Reason, why)
	}
	row.Figures[0].Predicted, row.Figures[1].Predicted = 1e3*seen.TTFT, 1e3*seen.TPOT
	row.More[0] = seen.Requests * float64(run.load.Lengths.Output)
	row.More[1] = predictor.Held(&run.deployment, run.load.Lengths) / estimate.GiB
	return row
}

// predictor is that of the model, system, formats and engine of a run, prepared once.
func (p *servingPredictor) predictor(r *servingRun) (*serving.Predictor, error) {
	d := &r.deployment
	key := prepared{d.Model, d.Of(op.Decode).System, d.Precision, d.Split()}
	known := p.prepared[key]
	if known == nil {
		var err error
		if known, err = serving.NewPredictor(d); err != nil {
			return nil, err
		}
		p.prepared[key] = known
	}
	return known, nil
}

// prepared is what predictions of different rows may share.
type prepared struct {
	model     *model.Model
	system    *hardware.System
	precision plan.Precision
	split     bool
}

// ifMeasured is a figure that is predicted whether or not it was measured.
func ifMeasured(text string) Figure {
	if text == "" {
		return Figure{}
	}
	return measured(text)
}

// servingRun is what a row describes.
type servingRun struct {
	deployment deploy.Deployment
	load       workload.Load
	guessed    bool // the concurrency is that of full batches
}

// read takes a row apart. The error holds all that is wrong with it.
func (p *servingPredictor) read(get func(string) string, precision string) (*servingRun, error) {
	r := reader{get: get}
	run := &servingRun{}
	e, err := engine.Find(get("backend"))
	r.note(err)
	n := workload.Lengths{Input: r.whole("isl", 0), Output: r.whole("osl", 0)}
	if n.Input < 1 || n.Output < 1 {
		r.note(fmt.Errorf("isl %q and osl %q must be positive", get("isl"), get("osl")))
	}
	l, err := p.load(servingFiles{get("model_path"), cmp.Or(p.options.System, get("system")), scenario.Formats{Weights: precision, Cache: get("kv_cache")}})
	r.note(err)
	bench := &stated
	if get("silicon_ttft_ms") != "" || get("silicon_tpot_ms") != "" {
		bench = benchmarkOf(n)
	}
	run.load = workload.Load{Clients: r.whole("concurrency", 0), Requests: bench.requests}
	run.load.Lengths, err = n.Spread(cmp.Or(p.options.Lengths, bench.lengths))
	r.note(err)
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	d := l.Deployment()
	batch := 0
	switch mode := get("mode"); mode {
	case "agg":
		pool := r.pool("", l)
		pool.Count = max(1, r.whole("num_gpus", 1)/max(1, pool.Plan.Attention.Procs()))
		d.Pools = []deploy.Pool{pool}
		batch = r.whole("batch_size", 0)
	case "disagg":
		d.Pools = []deploy.Pool{r.pool("prefill_", l), r.pool("decode_", l)}
		d.Pools[0].Role, d.Pools[0].Count = deploy.Prefill, r.positive("prefill_num_workers")
		d.Pools[1].Role, d.Pools[1].Count = deploy.Decode, r.positive("decode_num_workers")
		batch = r.whole("decode_batch_size", 0)
	default:
		return nil, errors.Join(append(r.problems, fmt.Errorf("mode %q is neither agg nor disagg", mode))...)
	}
	d = e.Apply(d)
	d.Engine.StepTokens = cmp.Or(max(bench.stepTokens[e.Name], n.Input*bench.stepPrompts[e.Name]), d.Engine.StepTokens)
	for _, p := range bench.polls {
		if p.engine == e.Name && run.load.Clients >= p.clients && p.where(&d, n) {
			d.Engine.PollSteps = p.steps
		}
	}
	decode := d.Of(op.Decode)
	if run.load.Clients < 1 {
		if run.load.Clients, run.guessed = batch*decode.Ranks(), true; run.load.Clients < 1 {
			r.note(errors.New("no concurrency"))
		}
	}
	for i := range d.Pools {
		d.Pools[i].Plan.Batch = plan.Batch{Count: 1, Size: max(1, (run.load.Clients+decode.Ranks()-1)/decode.Ranks())}
	}
	run.deployment = d
	return run, errors.Join(r.problems...)
}

// load reads the model and the system of a row, once for all rows that name them.
func (p *servingPredictor) load(key servingFiles) (*scenario.Loaded, error) {
	if err := p.failed[key]; err != nil {
		return nil, err
	}
	l, ok := p.loaded[key]
	if !ok {
		s := scenario.Scenario{Model: key.model, System: key.system, Formats: key.formats,
			Assume: cmp.Or(p.options.Assume, "physical"), Lengths: workload.Lengths{Input: 1 << 30, Output: 1}}
		var err error
		if l, err = s.Load(); err != nil {
			p.failed[key] = err
			return nil, err
		}
		p.loaded[key] = l
	}
	return l, nil
}

// reader reads the cells of a row and collects what is wrong with them.
type reader struct {
	get      func(string) string
	problems []error
}

func (r *reader) note(err error) {
	if err != nil {
		r.problems = append(r.problems, err)
	}
}

// whole is a whole number, or another where the cell is empty. Some tables write it with decimals.
func (r *reader) whole(column string, otherwise int) int {
	text := r.get(column)
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != float64(int(v)) || v < 0 || v > 1e9 {
		r.note(fmt.Errorf("%s: %q is not a whole number", column, text))
		return otherwise
	}
	return int(v)
}

// positive is a number that must be there.
func (r *reader) positive(column string) int {
	n := r.whole(column, 0)
	if n < 1 && len(r.problems) == 0 {
		r.note(fmt.Errorf("%s must be at least 1, not %q", column, r.get(column)))
	}
	return max(1, n)
}

// pool is the plan of the columns that start with a prefix, on the system of the row.
func (r *reader) pool(prefix string, l *scenario.Loaded) deploy.Pool {
	size := func(column string) int { return max(1, r.whole(prefix+column, 1)) }
	m := l.Shape
	p := plan.Plan{
		Attention: plan.Layout{DP: size("attention_dp_size"), PP: size("pp_size"), TP: r.positive(prefix + "tp_size"), CP: 1},
		Pipelined: l.Assumptions.Pipelined, Drafts: r.whole("drafts", 0),
	}
	if most := len(workload.DraftAcceptance); p.Drafts > most {
		r.note(fmt.Errorf("drafts: at most %d, not %d", most, p.Drafts))
		p.Drafts = most
	}
	if prefix == "prefill_" {
		p.Drafts = 0
	}
	for _, why := range plan.Whys(plan.LayoutMisses(m, p.Attention)) {
		r.note(errors.New(why))
	}
	if procs, most := p.Attention.Procs(), l.Decode.MaxProcs(); procs > most {
		r.note(fmt.Errorf("%d processors, but the networks of %s join %d", procs, l.Decode.Name, most))
	}
	pool := deploy.Pool{System: l.Decode, Plan: p, Count: 1}
	if !m.IsMoE() {
		return pool
	}
	// Where a table says nothing of the experts, they are cut like the rest.
	stage := p.Attention.DP * p.Attention.TP
	p.Experts = plan.ExpertLayout{EP: size("moe_ep_size"), TP: size("moe_tp_size"), DP: 1}
	if p.Experts.Procs() == 1 {
		p.Experts.TP = stage
	}
	// What they do not fill once they fill several times over, each time around attention replicas of their own.
	if n := p.Experts.Procs(); stage%n == 0 {
		p.Experts.DP = stage / n
	} else {
		r.note(fmt.Errorf("%smoe_tp_size %d · moe_ep_size %d = %d do not fill the %d processors of a stage", prefix, p.Experts.TP, p.Experts.EP, n, stage))
		return pool
	}
	p.SharedPerCard, p.SharedReplicas = true, l.Settings.SharedReplicas
	p.Redundant = r.whole(prefix+"redundant_experts", 0)
	if name := r.get(prefix + "overlap"); name != "" {
		var ok bool
		if p.Overlap, ok = plan.FindOverlap(name); !ok {
			r.note(fmt.Errorf("%soverlap: %s", prefix, document.NotOneOf(name, plan.OverlapNames())))
		}
	}
	for _, why := range plan.Whys(p.ExpertMisses(m)) {
		r.note(errors.New(why))
	}
	pool.Plan = p
	return pool
}
