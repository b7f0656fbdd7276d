package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/deploy"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/serving/simulate"
	"throughline/workload"
)

// simulateOptions are the flags of the simulate command.
type simulateOptions struct {
	point question.Question
	flags *settings
	from  string

	requests                            int
	rate, arrival, trace                string
	ratio, swap                         float64
	groups, prefix, turns               int
	policy, routing, stepTimes          string
	stepTokens, running, cache, block   int
	ahead, polls, waits, replicas, most int
	prefixCache, maxRate, json          bool
	ttft, tpot                          string
	think, every                        seconds
	seed                                uint64
	requestsOut, timelineOut, stepsOut  output
	traceOut                            output
}

// ownSetting is one of the command's own: a flag.
type ownSetting struct {
	name, doc string
	ref       func(o *simulateOptions) any
}

// simulateSettings are those besides the settings of a point.
var simulateSettings = []ownSetting{
	{"num-prompts", "requests; conversations where these have several turns", func(o *simulateOptions) any { return &o.requests }},
	{"rate", "requests per second, or inf for all at once (alias --request-rate); of a trace, the mean rate it is played at", func(o *simulateOptions) any { return &o.rate }},
	{"arrival", "how requests come: poisson, gamma:CV, constant or bursts:N", func(o *simulateOptions) any { return &o.arrival }},
	{"random-range-ratio", "lengths are spread evenly from this share of --isl and --osl to all of them, as in sglang.bench_serving; 1: fixed", func(o *simulateOptions) any { return &o.ratio }},
	{"gsp-num-groups", "groups of requests that share a prefix", func(o *simulateOptions) any { return &o.groups }},
	{"gsp-system-prompt-len", "tokens of the prefix that a group shares, besides --isl", func(o *simulateOptions) any { return &o.prefix }},
	{"turns", "turns of a conversation, each prompt being all that was said before and --isl tokens more", func(o *simulateOptions) any { return &o.turns }},
	{"think-time", "time from an answer to the next turn, like 2s; a bare number is seconds", func(o *simulateOptions) any { return &o.think }},
	{"trace", "file of requests in place of drawn ones: Mooncake (JSON lines), Azure or Vidur (CSV); plain or .gz", func(o *simulateOptions) any { return &o.trace }},
	{"replicas", "copies of the deployment", func(o *simulateOptions) any { return &o.replicas }},
	{"routing", "which replica gets a request: round-robin, least-loaded or prefix-aware", func(o *simulateOptions) any { return &o.routing }},
	{"policy", "prompts and decodes in steps: prefill-first, chunked or whole-prompts (default: the engine's)", func(o *simulateOptions) any { return &o.policy }},
	{"step-tokens", "tokens that a step may hold (default: the engine's)", func(o *simulateOptions) any { return &o.stepTokens }},
	{"max-running-requests", "requests of a rank at a time (default: the engine's)", func(o *simulateOptions) any { return &o.running }},
	{"kv-tokens", "tokens that the KV cache of a rank holds (default: what memory has room for)", func(o *simulateOptions) any { return &o.cache }},
	{"block-size", "tokens of a block of the KV cache", func(o *simulateOptions) any { return &o.block }},
	{"max-context", "tokens of a prompt and its output that the model takes (default: any)", func(o *simulateOptions) any { return &o.most }},
	{"prefix-cache", "blocks of prompts are kept for others that begin alike", func(o *simulateOptions) any { return &o.prefixCache }},
	{"swap-gbps", "who has to make room in the cache is swapped out over a link of so many GB/s (default: computed again)", func(o *simulateOptions) any { return &o.swap }},
	{"steps-ahead", "steps that are scheduled before the one under way has ended; -1: the engine's", func(o *simulateOptions) any { return &o.ahead }},
	{"poll-steps", "steps between two looks for new requests (default: the engine's)", func(o *simulateOptions) any { return &o.polls }},
	{"wait-steps", "steps for which prompts wait for others to fill a step, while others decode", func(o *simulateOptions) any { return &o.waits }},
	{"step-times", "CSV table of measured steps in place of estimated ones: n_decode, sum_ctx, prefill_tokens, prefill_seqs, past_per_seq, wall_ms", func(o *simulateOptions) any { return &o.stepTimes }},
	{"ttft", "limit on the time to the first token, like p99:2s; a bare number is milliseconds, of p99", func(o *simulateOptions) any { return &o.ttft }},
	{"tpot", "limit on the time per output token, like p95:50ms", func(o *simulateOptions) any { return &o.tpot }},
	{"max-rate", "find the highest rate at which the limits hold and the queue does not grow", func(o *simulateOptions) any { return &o.maxRate }},
	{"seed", "of the random numbers", func(o *simulateOptions) any { return &o.seed }},
	{"json", "print one JSON object, with the keys of sglang's result file", func(o *simulateOptions) any { return &o.json }},
	{"timeline-every", "an interval of --timeline-out, like 500ms; a bare number is seconds", func(o *simulateOptions) any { return &o.every }},
}

// aliases are other names of flags, of all commands that have them: those of sglang.bench_serving.
var aliases = map[string]string{
	"request-rate": "rate", "max-concurrency": "concurrency", "random-input-len": "isl", "random-output-len": "osl",
}

// unused are settings of a point that mean nothing here.
var unused = []string{"phase", "batch", "context", "prefix", "prefix-hit"}

func newSimulate(s Streams) *cobra.Command {
	o := simulateOptions{
		requests: 1000, rate: "inf", arrival: "poisson", ratio: 1, replicas: 1, routing: string(simulate.RoundRobin),
		ahead: -1, every: 1, block: 16, turns: 1,
	}
	cmd := &cobra.Command{
		Use:   "simulate --model MODEL --system SYSTEM",
		Short: "Run requests through a deployment, step by step",
		Long: `Simulate runs requests through a deployment: they arrive, wait, share steps as the
scheduler of the engine puts them together, and end. Times of steps are those of
throughline estimate, or of a table (--step-times). It prints what sglang.bench_serving
prints, and says what bounds the run. The same seed gives the same bytes.

Requests come at a rate (--rate), from clients that wait for their answers
(--max-concurrency), or from a trace (--trace). --request-rate, --max-concurrency,
--random-input-len and --random-output-len stand for --rate, --concurrency, --isl and
--osl. --from plan.json#1 takes the first row of what throughline plan --json wrote, with
its clients.

Exit codes: 0 done; 1 no rate holds the limits; 2 the input has problems; 3 the results
could not be written.`,
		Example: `  throughline simulate --model Llama-3.1-8B --system H100_SXM --dp 8 --rate 40 --isl 512 --osl 512 --num-prompts 2000
  throughline simulate --model Llama-3.1-8B --system H200 --engine sglang --max-concurrency 16 --num-prompts 64 --json
  throughline simulate --model Llama-3.1-8B --system H200 --rate 20 --num-prompts 100 --trace-out run.json
  throughline simulate --model Llama-3.1-8B --system H200 --max-rate --ttft p99:2s --tpot p95:50ms --isl 512 --osl 64 --num-prompts 500`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := o.run(cmd, s)
			if err != nil {
				return err
			}
			if o.json {
				text, err := result.JSON()
				if err != nil {
					return err
				}
				return write(s.data, string(text))
			}
			return write(s.Out, result.Block()+notes(result))
		},
	}
	o.flags = addSettings(cmd, question.Estimate)
	addFrom(cmd, &o.from)
	f := cmd.Flags()
	for _, name := range unused {
		f.MarkHidden(name)
	}
	for _, set := range simulateSettings {
		defineFlag(f, set.name, set.doc, set.ref(&o))
	}
	o.requestsOut.flags(cmd, "requests-out", "", "CSV file of all requests")
	o.timelineOut.flag = "--timeline-out"
	f.StringVar(&o.timelineOut.name, "timeline-out", "", "CSV file of running and waiting requests and of the KV cache over time")
	o.stepsOut.flag = "--steps-out"
	f.StringVar(&o.stepsOut.name, "steps-out", "", "CSV file of all steps")
	addTraceOut(cmd, &o.traceOut)
	complete(cmd, "routing", simulate.Routings, false)
	complete(cmd, "policy", policyNames(), false)
	return cmd
}

// defineFlag defines the flag of a setting.
func defineFlag(f *pflag.FlagSet, name, doc string, ref any) {
	switch v := ref.(type) {
	case *string:
		f.StringVar(v, name, *v, doc)
	case *int:
		f.IntVar(v, name, *v, doc)
	case *float64:
		f.Float64Var(v, name, *v, doc)
	case *bool:
		f.BoolVar(v, name, *v, doc)
	case *uint64:
		f.Uint64Var(v, name, *v, doc)
	case *seconds:
		f.Var(v, name, doc)
	}
}

// seconds is a time on the command line, with its unit or in seconds.
type seconds float64

func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64) + "s"
}
func (s *seconds) Type() string { return "time" }

func (s *seconds) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		ms, err := question.ParseTime(text)
		if err != nil {
			return err
		}
		x = ms / 1e3
	}
	*s = seconds(x)
	return nil
}

// policies by their names here.
var policies = []struct {
	name string
	is   deploy.Policy
}{{"prefill-first", deploy.First}, {"chunked", deploy.Chunks}, {"whole-prompts", deploy.Prompts}}

func policyNames() (out []string) {
	for _, p := range policies {
		out = append(out, p.name)
	}
	return out
}

func notes(r *simulate.Result) string { return strings.Join(r.Notes(), "\n") + "\n" }

// simulation is what the flags ask for.
type simulation struct {
	options simulate.Options
	traffic simulate.Traffic
	trace   *simulate.Trace
	result  simulate.Result // what was asked for
	most    int             // tokens of a request
}

// run does what the flags ask for.
func (o *simulateOptions) run(cmd *cobra.Command, s Streams) (*simulate.Result, error) {
	sim, err := o.prepare(cmd, s)
	if err != nil {
		return nil, err
	}
	if o.maxRate {
		best, err := simulate.MaxRate(func(rate float64, times int) (*simulate.Result, error) {
			return sim.at(cmd.Context(), rate, times, sim.options)
		})
		if errors.Is(err, simulate.ErrLimits) {
			fmt.Fprintln(s.Err, "throughline:", err)
			return nil, exitError{exitNoPlan}
		}
		if err != nil {
			return nil, err
		}
		sim.result.Rate = best.Rate
		sim.traffic.Requests = int(best.Requests)
	}
	return o.written(cmd.Context(), s, sim)
}

// at is a run at a rate, with so many times the requests.
func (m *simulation) at(ctx context.Context, rate float64, times int, options simulate.Options) (*simulate.Result, error) {
	var source simulate.Source
	if m.trace != nil {
		speed := 1.0
		if !math.IsInf(rate, 1) {
			speed = rate / m.trace.Rate()
		}
		var err error
		if source, err = m.trace.Source(speed, m.traffic.Requests, m.traffic.Clients); err != nil {
			return nil, err
		}
	} else {
		t := m.traffic
		t.Rate, t.Requests = rate, times*t.Requests
		source = t.Source()
	}
	record, err := simulate.Run(ctx, options, &bounded{source, m.most})
	if err != nil {
		return nil, err
	}
	result := m.result
	result.Record, result.Rate = record, rate
	return &result, nil
}

// bounded refuses requests that are longer than the model takes.
type bounded struct {
	simulate.Source
	most int // 0: any
}

func (b *bounded) Next() (simulate.Request, bool, error) {
	r, ok, err := b.Source.Next()
	if n := r.Input + r.Output; b.most > 0 && ok && n > b.most {
		return r, false, fmt.Errorf("a request of %d + %d tokens is longer than the %d that the model takes (--max-context)", r.Input, r.Output, b.most)
	}
	return r, ok, err
}

// prepare reads all flags and files. The error holds all that is wrong.
func (o *simulateOptions) prepare(cmd *cobra.Command, s Streams) (*simulation, error) {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, name := range unused {
		if cmd.Flags().Changed(name) {
			note(fmt.Errorf("--%s has no place here", name))
		}
	}
	var err error
	o.point, err = ask(o.flags, o.from)
	note(err)
	if o.from != "" && !cmd.Flags().Changed("concurrency") && (cmd.Flags().Changed("rate") || o.trace != "" || o.maxRate) {
		o.point.Concurrency = 0 // the clients of the plan are not those who come
	}
	o.point.Batch = 1
	sim := &simulation{most: o.most}
	o.load(cmd, sim, note)
	set := o.scheduling(note)
	o.files(note)
	if !(o.every > 0) || math.IsInf(float64(o.every), 0) {
		note(fmt.Errorf("timeline-every must be a time above 0, not %g s", float64(o.every)))
	}
	p := o.point
	p.Distribution = ""
	input, output := sim.traffic.Lengths()
	if sim.trace != nil {
		input, output = max(1, int(math.Round(sim.trace.MeanInput))), max(1, int(math.Round(sim.trace.MeanOutput)))
	}
	p.Input, p.Output = max(1, input), max(1, output)
	estimator := point.NewEstimator()
	answer, err := estimator.Answer(&p)
	warn(s, estimator.Warnings(&p))
	note(err)
	if len(errs) > 0 {
		return nil, question.Once(document.Join(errs...))
	}
	d := answer.Deployment
	for i := range d.Pools {
		d.Pools[i].Count *= o.replicas
	}
	sim.options, err = simulate.Of(&d, workload.Lengths{Input: p.Input, Output: p.Output}, set)
	if err != nil {
		return nil, err
	}
	sim.options.Seed = o.seed
	sim.options.Limits = simulate.Limits{TTFT: sim.result.TTFT.Seconds, TPOT: sim.result.TPOT.Seconds}
	sim.result.Backend = d.Engine.Name
	return sim, nil
}

// files checks that no output replaces an input or another output.
func (o *simulateOptions) files(note func(error)) {
	plan, _, _ := strings.Cut(o.from, "#")
	inputs := append(o.point.Files(), o.trace, o.stepTimes, plan)
	outputs := []*output{&o.requestsOut, &o.timelineOut, &o.stepsOut, &o.traceOut}
	for i, out := range outputs {
		note(out.check(inputs...))
		for _, other := range outputs[:i] {
			note(out.unlike(other))
		}
	}
}

// load reads what is asked of the deployment.
func (o *simulateOptions) load(cmd *cobra.Command, sim *simulation, note func(error)) {
	t := &sim.traffic
	*t = simulate.Traffic{
		Requests: o.requests, Clients: o.point.Concurrency, Groups: o.groups, Prefix: o.prefix, Turns: o.turns, Think: float64(o.think), Seed: o.seed,
		HashTokens: o.block, Rate: math.Inf(1),
	}
	var err error
	if o.rate != "inf" {
		if t.Rate, err = strconv.ParseFloat(o.rate, 64); err != nil {
			note(fmt.Errorf("rate must be a number above 0, or inf, not %q", o.rate))
			t.Rate = math.Inf(1)
		}
	}
	t.Arrival, err = simulate.ParseArrival(o.arrival)
	if err != nil {
		note(fmt.Errorf("arrival: %w", err))
	}
	words := o.point.Distribution
	if cmd.Flags().Changed("random-range-ratio") {
		if words != "" {
			note(errors.New("random-range-ratio and lengths say the same: give one of them"))
		}
		words = fmt.Sprintf("uniform:%g", o.ratio)
	}
	const usual = 1024 // tokens
	if t.Input, err = simulate.ParseLength(words, cmp.Or(o.point.Input, usual)); err != nil {
		note(fmt.Errorf("lengths: %w", err))
	}
	t.Output, _ = simulate.ParseLength(words, cmp.Or(o.point.Output, usual))
	for _, err := range t.Check() {
		note(err)
	}
	if sim.result.TTFT, err = simulate.ParseLimit(o.ttft); err != nil {
		note(fmt.Errorf("ttft: %w", err))
	}
	if sim.result.TPOT, err = simulate.ParseLimit(o.tpot); err != nil {
		note(fmt.Errorf("tpot: %w", err))
	}
	sim.result.Concurrency, sim.result.Seed, sim.result.Rate = t.Clients, o.seed, t.Rate
	if o.maxRate && t.Clients > 0 {
		note(errors.New("max-rate asks for a rate, max-concurrency bounds it: give one of them"))
	}
	if o.trace == "" {
		return
	}
	if sim.trace, err = simulate.OpenTrace(o.trace); err != nil {
		note(err)
		sim.trace = nil
		return
	}
	if !cmd.Flags().Changed("num-prompts") {
		t.Requests = 0 // all
	}
	if math.IsInf(t.Rate, 1) {
		t.Rate = sim.trace.Rate()
		sim.result.Rate = t.Rate
	}
	if !sim.trace.Timed {
		note(fmt.Errorf("%s: has no arrivals; --lengths trace:%s takes its lengths", o.trace, o.trace))
	}
	if longest := sim.trace.Longest; o.most > 0 && longest > o.most {
		note(fmt.Errorf("%s: a request of %d tokens is longer than the %d that the model takes (--max-context)", o.trace, longest, o.most))
	}
}

// scheduling reads how the ranks schedule.
func (o *simulateOptions) scheduling(note func(error)) *simulate.Settings {
	set := &simulate.Settings{
		StepTokens: o.stepTokens, Running: o.running, CacheTokens: o.cache, BlockTokens: o.block, PrefixCache: o.prefixCache,
		SwapGBps: o.swap, WaitSteps: o.waits, PollSteps: o.polls, Routing: simulate.Routing(o.routing),
	}
	for _, n := range []struct {
		name       string
		value, low int
	}{
		{"step-tokens", o.stepTokens, 0}, {"max-running-requests", o.running, 0}, {"kv-tokens", o.cache, 0}, {"block-size", o.block, 1},
		{"max-context", o.most, 0}, {"steps-ahead", o.ahead, -1}, {"poll-steps", o.polls, 0}, {"wait-steps", o.waits, 0}, {"replicas", o.replicas, 1},
	} {
		if n.value < n.low || n.value > 1_000_000_000 {
			note(fmt.Errorf("%s must lie between %d and 1000000000, not %d", n.name, n.low, n.value))
		}
	}
	if !(o.swap >= 0) || math.IsInf(o.swap, 0) {
		note(fmt.Errorf("swap-gbps must be a number from 0 on, not %g", o.swap))
	}
	if o.ahead >= 0 {
		set.Ahead = &o.ahead
	}
	if !slices.Contains(simulate.Routings, o.routing) {
		note(fmt.Errorf("routing: %s", document.NotOneOf(o.routing, simulate.Routings)))
	}
	if o.policy != "" {
		for _, p := range policies {
			if p.name == o.policy {
				set.Prefill = p.is
			}
		}
		if set.Prefill == "" {
			note(fmt.Errorf("policy: %s", document.NotOneOf(o.policy, policyNames())))
		}
	}
	if o.stepTimes != "" {
		table, err := readStepTimes(o.stepTimes)
		note(err)
		if err == nil {
			set.Times = table
		}
	}
	return set
}

func readStepTimes(name string) (*simulate.Table, error) {
	f, err := csvfile.Open(name)
	if err != nil {
		return nil, document.Unreadable(name, err)
	}
	defer f.Close()
	rows, err := simulate.ReadTable(f, "")
	if err == nil {
		var t *simulate.Table
		if t, err = simulate.NewTable(rows, nil, nil); err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}
