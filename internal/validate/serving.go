package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	"throughline/internal/question"
	"throughline/internal/runs"
	"throughline/model"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// servingColumns must be there, or one that columnNames has for them. The sizes of a layout are needed by the mode of a row,
// and measured times where errors are asked for.
var servingColumns = []string{"model_path", "system", "isl", "osl", "concurrency"}

// Serving predicts a table of serving runs: the mean time to the first token and per output token of every row, in closed
// form unless the question asks for the simulation, and what else a row has, percentiles by the simulation. What the question
// says of the system and of the distribution of lengths takes the place of what the rows and their benchmark say.
func Serving(ctx context.Context, name string, src io.Reader, q question.Question) (*Report, error) {
	return servingRuns(ctx, name, src, q, everything, nil)
}

// depth is what a simulation is made for, which takes longer than the closed form.
type depth int

const (
	nothing    depth = iota
	rates            // runs at a request rate, which have no closed form
	everything       // and percentiles
)

// servingRuns is the same, but for what is not simulated.
func servingRuns(ctx context.Context, name string, src io.Reader, q question.Question, simulate depth, tune tuning) (*Report, error) {
	if err := checkServing(&q); err != nil {
		return nil, err
	}
	p := newServingPredictor(ctx, q, simulate)
	p.tune = tune
	var columns []string
	check := func(header []string) error {
		p.figures, columns = presentFigures(header)
		return p.checkHeader(header)
	}
	r, err := rawTable(ctx, name, src, check, func(_ []string, cell func(string) string) Row { return p.row(p.run(cell)) })
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // rows whose simulation was cut short have it as their reason
	}
	r.Figures = nil
	for i := range p.figures {
		r.Figures = append(r.Figures, p.figures[i].name)
		r.brief = append(r.brief, p.figures[i].brief)
	}
	r.Header = slices.Concat(r.Header, columns, []string{"predicted_tokens_per_s", "predicted_memory_gib", "ttft_error_band_percent", "tpot_error_band_percent", "reason"})
	return r, nil
}

// checkHeader checks the header of a table.
func (p *servingPredictor) checkHeader(header []string) error {
	said := func(column string) bool { return slices.Contains(header, column) || p.said[column] != "" }
	missing := slices.DeleteFunc(slices.Clone(servingColumns), func(c string) bool {
		return said(c) || slices.ContainsFunc(columnNames[c], said)
	})
	if len(missing) > 0 {
		return missingColumns(missing, servingColumns)
	}
	return nil
}

// run is the cells of a row, and what the question says in place of those that are empty.
func (p *servingPredictor) run(cell func(string) string) run {
	return run{func(column string) string {
		text := cell(column)
		if said := p.said[column]; text == "" && said != "" && !slices.ContainsFunc(namesOf(column), func(n string) bool { return cell(n) != "" }) {
			return said
		}
		return text
	}}
}

// SameModel refuses a run of another model than the one that is asked for. Names are those of built-in models, whatever
// organisation, training or format they are given with; a name that only a server knows says nothing.
func SameModel(asked, served string) error {
	is, known := model.Catalogue.Name(asked)
	was, named := model.Catalogue.Name(served)
	if !known || !named || is == was {
		return nil
	}
	return &document.Error{Problems: []document.Problem{{Path: "model", Message: fmt.Sprintf("%s is asked for, but the run is of %s (%s)", is, served, was)}}}
}

// checkServing finds what is wrong with the question, so that no row has to say it.
func checkServing(q *question.Question) error {
	errs := []error{q.Check(question.Serving)}
	if q.System != "" {
		_, err := question.Find("system", q.System, hardware.Catalogue, q.Beside)
		errs = append(errs, err)
	}
	if _, err := (workload.Lengths{Input: 1, Output: 1}).Spread(q.Distribution); err != nil {
		errs = append(errs, &document.Error{Problems: []document.Problem{{Path: "lengths", Message: err.Error()}}})
	}
	return document.Join(errs...)
}

// servingPredictor keeps the files that rows share.
type servingPredictor struct {
	ctx      context.Context
	asked    question.Question
	figures  []servingFigure // of the table
	simulate depth
	said     map[string]string // of all runs, by column

	loaded map[servingFiles]*question.Loaded
	failed map[servingFiles]error

	prepared map[prepared]*serving.Predictor
	// tune changes what is known of an engine; nil: nothing.
	tune tuning
}

type servingFiles struct {
	model, system string
	formats       question.Formats
}

// row predicts one row.
func (p *servingPredictor) row(r run) Row {
	get := r.get
	group := []string{path.Base(get("model_path")), get("system"), cmp.Or(get("backend"), engine.Any), cmp.Or(get("precision"), "as published"), get("mode")}
	row := Row{
		Group: strings.Join(group, " "), Class: get("mode"),
		Label:   fmt.Sprintf("%s + %s tokens, %s clients, num_gpus %s", get("isl"), get("osl"), cmp.Or(get("concurrency"), "?"), cmp.Or(get("num_gpus"), "?")),
		More:    []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()},
		drafted: r.drafted(),
	}
	simulate := p.asked.BySimulation
	for i := range p.figures {
		f := ifMeasured(p.figures[i].cell(r))
		f.Reason = cmp.Or(f.Reason, p.figures[i].unclear(r))
		row.Figures = append(row.Figures, f)
		simulate = simulate || p.figures[i].simulated && f.Measured > 0 && f.Reason == ""
	}
	run, err := p.read(r)
	var a answer
	if err == nil {
		a, err = p.answer(run, simulate)
	}
	if err != nil {
		why := reasonIn(err)
		for i := range row.Figures {
			if f := &row.Figures[i]; i < meanFigures || f.Measured > 0 {
				f.Reason = cmp.Or(f.Reason, why)
			}
		}
		return row
	}
	if run.guessed {
		row.Figures[0].Reason = cmp.Or(row.Figures[0].Reason, "no concurrency; that of TPOT follows from the batch size")
	}
	if run.load.Lengths.Output == 1 {
		row.Figures[1].Reason = cmp.Or(row.Figures[1].Reason, "a request of one output token has no time per output token")
	}
	fill(&row, p.figures, &a)
	row.More[0] = a.requests() * a.output
	row.More[1] = run.held
	if t := a.trusted; t != nil {
		row.Figures[0].Trusted, row.Figures[1].Trusted = &t.TTFT, &t.TPOT
		row.More[2], row.More[3] = bandPercent(&t.TTFT), bandPercent(&t.TPOT)
	}
	return row
}

// answer predicts a run: in closed form where its clients wait for their answers, and by the simulation where that is asked
// for, or nothing else answers.
func (p *servingPredictor) answer(r *servingRun, simulate bool) (answer, error) {
	a := answer{output: float64(r.load.Lengths.Output), gpus: float64(r.deployment.Procs())}
	predictor, err := p.predictor(r)
	if err != nil {
		return a, err
	}
	if r.rate == 0 && !p.asked.BySimulation {
		seen, err := predictor.Predict(&r.deployment, r.load)
		if err != nil {
			return a, err
		}
		trusted := predictor.Confidence(&r.deployment, r.load, &seen)
		a.closed, a.trusted = &seen, &trusted
	}
	if a.closed == nil && p.simulate == nothing {
		return a, errors.New(onlySimulated)
	}
	if a.closed == nil || simulate && p.simulate == everything {
		if a.record, err = simulated(p.ctx, r); err != nil {
			return a, err
		}
	}
	full := r.deployment
	full.Pools = slices.Clone(full.Pools)
	predictor.Fit(&full, r.load.Lengths) // those who find no room wait
	r.held = predictor.Held(&full, r.load.Lengths) / estimate.GiB
	return a, nil
}

// columnOf is the columns of settings that have another name here.
var columnOf = map[string]string{"model": "model_path", "weights": "precision", "cache": "kv_cache"}

// reasonIn is an error as a cell: problems of settings are those of columns.
func reasonIn(err error) string {
	all := document.Join(err).(*document.Error)
	var out []string
	for _, p := range all.Problems {
		p.Path = cmp.Or(columnOf[p.Path], p.Path)
		out = append(out, strings.ReplaceAll(p.String(), "\n", "; "))
	}
	return strings.Join(out, "; ")
}

// predictor is that of the model, system, formats and engine of a run, prepared once.
func (p *servingPredictor) predictor(r *servingRun) (*serving.Predictor, error) {
	d := &r.deployment
	key := prepared{d.Model, d.Of(op.Decode).System, d.Precision, d.Split(), fmt.Sprint(d.Acceptance), *d.Assume}
	known := p.prepared[key]
	if known == nil {
		var err error
		if known, err = serving.NewPredictor(d); err != nil {
			return nil, err
		}
		p.prepared[key] = known
	}
	r.start(known)
	return known, nil
}

// start gives servers that were measured, so that they did start, all the memory there is where the table does not say their share and
// one request does not fit into what they take by themselves.
func (r *servingRun) start(p *serving.Predictor) {
	d := &r.deployment
	if !r.measured || d.Told.MemoryShare > 0 || r.started {
		return
	}
	for i := range d.Pools {
		if _, err := p.CacheTokens(d, &d.Pools[i], r.load.Lengths); err != nil {
			d.Told.MemoryShare = 1
			break
		}
	}
	r.started = true
}

// prepared is what predictions of different rows may share.
type prepared struct {
	model     *model.Model
	system    *hardware.System
	precision plan.Precision
	split     bool
	accepted  string
	assumed   assume.Assumptions
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
	guessed    bool    // the concurrency is that of full batches
	held       float64 // GiB of the fullest processor

	// How the lengths of requests are drawn, and when they come: at a rate where that is not 0.
	drawn    workload.Lengths
	stated   workload.Lengths // in the table
	fitted   workload.Lengths // by which a fit is looked up, as other commands do: the means, where the table says how they are spread
	spread   string
	requests int // of all clients; 0: not said
	seed     uint64
	rate     float64
	arrival  workload.Arrival

	loaded   *question.Loaded // its files
	facts    facts
	tune     tuning
	measured bool // so that its servers did start
	started  bool // they are known to hold a request
}

// read takes a row apart. The error holds all that is wrong with it.
func (p *servingPredictor) read(cells run) (*servingRun, error) {
	get := cells.get
	r := reader{get: get, unsized: cells.unsized(), problems: cells.refuse()}
	run := &servingRun{tune: p.tune, measured: p.measured(cells)}
	_, err := engine.Choices(get("backend"))
	r.note(err)
	n := workload.Lengths{Input: r.whole("isl", 0), Output: r.whole("osl", 0)}
	if n.Input < 1 || n.Output < 1 {
		r.note(fmt.Errorf("isl %q and osl %q must be positive", get("isl"), get("osl")))
	}
	r.note(SameModel(cmp.Or(p.said["model"], get("model_path")), cells.cell(runs.ServedModel)))
	files := servingFiles{get("model_path"), cmp.Or(p.asked.System, get("system")), question.Formats{Weights: cells.weights(), Cache: document.Spelled(get("kv_cache"), number.Words())}}
	l, err := p.load(files)
	r.note(err)
	clients := r.whole("concurrency", 0)
	bench, drawn := cells.benchmark(n, clients)
	if bench == nil && run.measured {
		bench = benchmarkOf(n)
	} else if bench == nil {
		bench = &stated
	}
	run.load = workload.Load{Clients: clients, Requests: bench.Requests, Repeated: bench.repeated(bench.Requests*float64(clients), float64(clients))}
	run.stated, run.drawn, run.spread = n, drawn, cmp.Or(p.asked.Distribution, bench.Spread)
	run.load.Lengths, err = drawn.Spread(run.spread)
	r.note(err)
	run.rate, run.arrival, err = cells.open()
	r.note(err)
	run.sent(get)
	if len(r.problems) > 0 {
		return nil, document.Join(r.problems...)
	}
	engines, err := l.Engines(get("backend"))
	if err != nil {
		return nil, err
	}
	run.facts = cells.facts(l, n, clients)
	options := bench.options(&run.facts)
	if r.told, err = run.facts.drafts(cells, options); err != nil {
		return nil, err
	}
	if cache := cmp.Or(options["kv-cache-dtype"], options["dtype"]); cache != "" && files.formats.Cache == "" {
		files.formats.Cache = cache
		if l, err = p.load(files); err != nil {
			return nil, err
		}
	}
	if err := run.draw(options, p.asked.Distribution == ""); err != nil {
		return nil, err
	}
	d := l.Deployment()
	run.loaded, run.fitted = l, run.lengthsOf(cells)
	d.Fitted = l.Fit(run.fitted)
	if known := bench.acceptance(&run.facts); known != nil {
		d.Acceptance = known
	}
	batch := r.pools(&d, l)
	d.Acceptance, err = cells.acceptance(d.Acceptance, d.Of(op.Decode).Plan.Drafts, options[acceptOption])
	r.note(err)
	if len(r.problems) > 0 {
		return nil, document.Join(r.problems...)
	}
	d.Untold = bench.worded && !bench.Recipes
	settle := func(e *engine.Engine) deploy.Deployment { return run.settled(d, e, bench, cells) }
	if r.unsized {
		if err := run.fewest(&d, settle(engines[0])); err != nil {
			return nil, err
		}
	}
	if run.load.Clients < 1 && run.rate == 0 {
		if run.load.Clients, run.guessed = batch*d.Of(op.Decode).Ranks(), true; run.load.Clients < 1 {
			return nil, errors.New("no concurrency")
		}
	}
	knows := func(e *engine.Engine) error { return cells.takenBy(e, &run.facts, d.Of(op.Decode)) }
	if run.deployment = settle(engines[0]); len(engines) > 1 {
		run.deployment, err = run.best(engines, d, settle, knows)
		return run, err
	}
	return run, knows(engines[0]) // what a run was measured with else, it could
}

// pools reads the servers of a row. It returns the sequences that decode at a time on a rank; 0: not said.
func (r *reader) pools(d *deploy.Deployment, l *question.Loaded) (batch int) {
	switch mode := question.Mode(r.get("mode")); mode {
	case question.Aggregated:
		pool := r.pool("", l)
		pool.Count = max(1, r.whole("num_gpus", 1)/max(1, pool.Plan.Attention.Procs()), r.whole("replicas", 1))
		d.Pools = []deploy.Pool{pool}
		return r.whole("batch_size", 0)
	case question.Disaggregated:
		d.Pools = []deploy.Pool{r.pool("prefill_", l), r.pool("decode_", l)}
		d.Pools[0].Role, d.Pools[0].Count = deploy.Prefill, r.positive("prefill_num_workers")
		d.Pools[1].Role, d.Pools[1].Count = deploy.Decode, r.positive("decode_num_workers")
		return r.whole("decode_batch_size", 0)
	default:
		d.Pools = []deploy.Pool{{}}
		r.note(fmt.Errorf("mode %q is neither agg nor disagg", mode))
		return 0
	}
}

// lengthsOf are those that a fit is looked up by: the means of lengths that the row says are spread, else those it states.
func (r *servingRun) lengthsOf(cells run) workload.Lengths {
	if cells.plain("length_spread") != "" {
		return r.load.Lengths
	}
	return r.stated
}

// draw is the lengths of requests as the options of a run have them; those of a benchmark say how far they spread unless that is asked for.
func (r *servingRun) draw(options map[string]string, spread bool) (err error) {
	if options[ratioOption] == "1" && spread {
		r.spread = stated.Spread
	}
	if made, err := r.facts.sum(options[tokensOption]); err == nil {
		r.drawn.Input = made
	}
	r.load.Lengths, err = r.drawn.Spread(r.spread)
	return err
}

// sent reads how many requests there were, and the seed with which bench drew their lengths and arrivals.
func (r *servingRun) sent(get func(string) string) {
	if n, err := strconv.Atoi(get("num_prompts")); err == nil {
		r.requests = n
	}
	if n, err := strconv.ParseUint(get("seed"), 10, 64); err == nil {
		r.seed = n
	}
}

// settled is a deployment behind an engine, with what its benchmark and the row have told that engine.
func (r *servingRun) settled(d deploy.Deployment, e *engine.Engine, bench *benchmark, cells run) deploy.Deployment {
	f := r.facts
	f.engine = e.Name
	if v := bench.version(&f); v != "" {
		if then, err := e.At(v); err == nil { // a test asks that all are known
			e = then
		}
	}
	dp := d.Of(op.Decode).Plan.Attention.DP
	for _, options := range []map[string]string{bench.options(&f), cells.options()} { // what the row says comes last
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if engine.TellAttention(&d.Told, name, options[name]) {
				continue
			}
			if n, err := f.sum(options[name]); err == nil {
				engine.Tell(&d.Told, name, n, dp) // formats and drafts, which are no such options, are known already
			}
		}
		d.Told.Products = cmp.Or(options[engine.ProductsOption], d.Told.Products)
		d.Told.Exchange = cmp.Or(options[exchangeOptions[0]], d.Told.Exchange)
		d.Told.SharedApart = d.Told.SharedApart || options[sharedOption] == "1"
		d.Told.Unprepared = options[preparedOption] == "0" || d.Told.Unprepared && options[preparedOption] == ""
		d.Told.PrefillExchange = cmp.Or(options[exchangeOptions[1]], d.Told.PrefillExchange)
		for _, name := range memoryOptions {
			if share, err := strconv.ParseFloat(options[name], 64); err == nil && share > 0 && share <= 1 {
				d.Told.MemoryShare = share
			}
		}
	}
	d = e.Apply(d)
	if r.tune != nil {
		r.tune(e.Name, &d.Engine.Scheduling)
	}
	ranks := d.Of(op.Decode).Ranks()
	for i := range d.Pools {
		d.Pools[i].Plan.Batch = plan.Batch{Count: 1, Size: max(1, (r.load.Clients+ranks-1)/ranks)}
	}
	return d
}

// best is the deployment behind the engine with which clients get the most done, of those that can run it.
func (r *servingRun) best(choice []*engine.Engine, d deploy.Deployment, settle func(*engine.Engine) deploy.Deployment, knows func(*engine.Engine) error) (deploy.Deployment, error) {
	var best deploy.Deployment
	var errs []error
	most := 0.0
	load := r.load
	load.Clients = max(1, load.Clients)
	for _, e := range choice {
		_, err := serving.Runs([]*engine.Engine{e}, d)
		if err = document.Join(err, knows(e)); err != nil {
			errs = append(errs, err)
			continue
		}
		run := settle(e)
		seen, err := serving.Predict(&run, load)
		if err != nil {
			errs = append(errs, err)
		} else if seen.Requests > most {
			best, most = run, seen.Requests
		}
	}
	if most == 0 {
		return best, document.Join(errs...)
	}
	return best, nil
}

// unsized rows say neither the GPUs of an aggregated deployment nor how it is cut.
func (r run) unsized() bool {
	return r.get("mode") == "agg" && r.plain("tp_size")+r.plain("num_gpus") == ""
}

// mostUnsized is the GPUs that a server is looked for which no row says the size of: those of a node.
const mostUnsized = 8

// fewest cuts a server over the fewest GPUs, a power of two, that hold its weights and a request.
func (r *servingRun) fewest(d *deploy.Deployment, settled deploy.Deployment) error {
	p, err := serving.NewPredictor(&settled)
	if err != nil {
		return err
	}
	pool := &settled.Pools[0]
	for tp := 1; tp <= mostUnsized; tp *= 2 {
		pool.Plan.Attention.TP = tp
		misses := plan.SplitMisses(settled.Model, pool.Plan.Attention)
		if settled.Model.IsMoE() {
			pool.Plan.Experts.TP = tp
			misses = append(misses, pool.Plan.ExpertMisses(settled.Model)...)
		}
		if len(misses) > 0 {
			continue
		}
		if tokens, err := p.CacheTokens(&settled, pool, r.load.Lengths); err == nil && tokens >= float64(r.load.Lengths.Final()) {
			d.Pools[0].Plan.Attention.TP, d.Pools[0].Plan.Experts = tp, pool.Plan.Experts
			return nil
		}
	}
	return fmt.Errorf("num_gpus and tp_size are not said, and %d GPUs do not hold the weights and a request", mostUnsized)
}

// measured says whether a row has any of the figures of its table.
func (p *servingPredictor) measured(r run) bool {
	return slices.ContainsFunc(p.figures, func(f servingFigure) bool { return f.cell(r) != "" })
}

// load reads the model and the system of a row, once for all rows that name them.
func (p *servingPredictor) load(key servingFiles) (*question.Loaded, error) {
	if err := p.failed[key]; err != nil {
		return nil, err
	}
	l, ok := p.loaded[key]
	if !ok {
		q := p.asked
		q.Model, q.System, q.Formats = key.model, key.system, key.formats
		var err error
		if l, err = q.Read(); err != nil {
			p.failed[key] = err
			return nil, err
		}
		p.loaded[key] = l
	}
	return l, nil
}

// mostDrafts are those of a step that may be drafted.
const mostDrafts = 16

// reader reads the cells of a row and collects what is wrong with them.
type reader struct {
	get      func(string) string
	unsized  bool // the row says no sizes
	told     int  // drafts of a step
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

// tensor is the tensor-parallel size of a pool. Where a row has no GPUs either, the fewest are looked for later.
func (r *reader) tensor(prefix string) int {
	if r.unsized {
		return 1
	}
	return r.positive(prefix + "tp_size")
}

// pool is the plan of the columns that start with a prefix, on the system of the row.
func (r *reader) pool(prefix string, l *question.Loaded) deploy.Pool {
	size := func(column string) int { return max(1, r.whole(prefix+column, 1)) }
	m := l.Shape
	p := plan.Plan{
		Layout: plan.Layout{
			Attention: plan.Split{DP: size("attention_dp_size"), PP: size("pp_size"), TP: r.tensor(prefix), CP: 1},
			Pipelined: l.Assumptions.Pipelined, Drafts: r.told,
		},
	}
	if p.Drafts > mostDrafts {
		r.note(fmt.Errorf("drafts: at most %d, not %d", mostDrafts, p.Drafts))
		p.Drafts = mostDrafts
	}
	if prefix == "prefill_" {
		p.Drafts = 0
	}
	for _, why := range plan.Whys(plan.SplitMisses(m, p.Attention)) {
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
	p.Experts = plan.ExpertSplit{EP: size("moe_ep_size"), TP: size("moe_tp_size"), DP: 1}
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
		if p.Overlap, ok = plan.FindOverlap(document.Spelled(name, plan.OverlapNames())); !ok {
			r.note(fmt.Errorf("%soverlap: %s", prefix, document.NotOneOf(name, plan.OverlapNames())))
		}
	}
	for _, why := range plan.Whys(p.ExpertMisses(m)) {
		r.note(errors.New(why))
	}
	pool.Plan = p
	return pool
}
