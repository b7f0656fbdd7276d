package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/serving/simulate"
	"throughline/workload"
)

// simulateOptions are the flags of the simulate command.
type simulateOptions struct {
	flags                              *settings
	asked                              question.Question
	json                               bool
	requestsOut, timelineOut, stepsOut output
	traceOut                           output
	charts                             charts
	sheet                              *sheet
}

func newSimulate(s Streams) *cobra.Command {
	var o simulateOptions
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
			return write(s.Out, result.Block()+viewOptions{}.of(s).Wrap(notes(result))+sparks(result, s.Bars, s.Width))
		},
	}
	o.add(cmd)
	return cmd
}

// add defines the flags of a command.
func (o *simulateOptions) add(cmd *cobra.Command) {
	o.flags = addSettings(cmd, question.Simulate)
	addOutputs(cmd, "simulate", o.charts.with("simulate", map[string]any{"json": &o.json,
		"requests-out": &o.requestsOut, "timeline-out": &o.timelineOut, "steps-out": &o.stepsOut, "trace-out": &o.traceOut}))
}

func notes(r *simulate.Result) string { return strings.Join(r.Notes(), "\n") + "\n" }

// simulation is what the flags ask for.
type simulation struct {
	options simulate.Options
	traffic simulate.Traffic
	trace   *simulate.Trace
	result  simulate.Result // what was asked for
	title   string          // of the deployment
}

// run does what the flags ask for.
func (o *simulateOptions) run(cmd *cobra.Command, s Streams) (*simulate.Result, error) {
	sim, err := o.prepare(s)
	if err != nil {
		return nil, err
	}
	if o.asked.Traffic.MaxRate {
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
	got, err := o.written(cmd.Context(), s, sim)
	if err == nil {
		if o.asked.Traffic.SwapGBps > 0 && got.Preemptions == 0 {
			fmt.Fprintln(s.Err, "note: --swap-gbps has no effect: there was room in the cache for all, and nobody was swapped out")
		}
		err = drawSome(cmd.Context(), s, o.sheet, picture.LoadKinds, picture.Load{Title: sim.title, Result: got})
	}
	return got, err
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
	record, err := simulate.Run(ctx, options, source)
	if errors.Is(err, simulate.ErrTooLong) {
		err = fmt.Errorf("%w (--max-context)", err)
	}
	if err != nil {
		return nil, err
	}
	result := m.result
	result.Record, result.Rate = record, rate
	return &result, nil
}

// prepare reads all flags and files. The error holds all that is wrong.
func (o *simulateOptions) prepare(s Streams) (*simulation, error) {
	var err error
	o.asked, err = ask(o.flags)
	q := &o.asked
	if q.From != "" && !o.flags.given("concurrency") && (o.flags.given("rate") || q.Traffic.Trace != "" || q.Traffic.MaxRate) {
		q.Concurrency = 0 // the clients of the plan are not those who come
	}
	errs := []error{err, q.Check(question.Simulate)}
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	sim := &simulation{}
	o.load(sim, note)
	set := scheduling(q, note)
	o.files(note)
	input, output := sim.lengths()
	got, err := serve(s, o.flags, q, workload.Lengths{Input: input, Output: output}, set, document.Join(errs...), sim.fits)
	if err != nil {
		return nil, err
	}
	sim.options = got.options
	sim.options.Limits = simulate.Limits{TTFT: sim.result.TTFT.Seconds, TPOT: sim.result.TPOT.Seconds}
	sim.result.Backend, sim.title = got.deployment.Engine.Name, report.DeploymentTitle(&got.deployment, false)
	return sim, nil
}

// fits refuses a trace with requests that are longer than the model takes.
func (m *simulation) fits(longest int) error {
	if t := m.trace; t != nil && longest > 0 && t.Longest > longest {
		return fmt.Errorf("%s: line %d: a request of %d tokens is longer than the %d that the model takes (--max-context)", t.Name, t.LongestLine, t.Longest, longest)
	}
	return nil
}

// lengths are the mean ones of requests.
func (m *simulation) lengths() (input, output int) {
	input, output = m.traffic.Lengths()
	if m.trace != nil {
		input, output = int(math.Round(m.trace.MeanInput)), int(math.Round(m.trace.MeanOutput))
	}
	return max(1, input), max(1, output)
}

// files checks that no output replaces an input or another output.
func (o *simulateOptions) files(note func(error)) {
	var err error
	o.sheet, err = o.charts.plan(o.asked.Files(), nil, &o.requestsOut, &o.timelineOut, &o.stepsOut, &o.traceOut)
	note(err)
}

// load reads what is asked of the deployment. What is wrong with the words of settings has been told.
func (o *simulateOptions) load(sim *simulation, note func(error)) {
	q, from := &o.asked, &o.asked.Traffic
	t := &sim.traffic
	var err error
	*t, err = point.Drawn(q)
	note(err)
	t.Requests, t.Clients, t.Rate = from.Requests, q.Concurrency, from.Rate
	sim.result.TTFT, _ = workload.ParseLimit(from.TTFT)
	sim.result.TPOT, _ = workload.ParseLimit(from.TPOT)
	sim.result.Asked = simulate.Asked{Dataset: "random", Input: q.Lengths().Input, Output: q.Lengths().Output, Ratio: from.Ratio}
	if len(t.Recorded) > 0 {
		sim.result.Asked = simulate.Asked{Dataset: strings.TrimPrefix(q.Distribution, "trace:")}
	} else if t.Input.Kind == "uniform" {
		sim.result.Asked.Ratio = t.Input.By
	}
	sim.result.Concurrency, sim.result.Seed, sim.result.Rate = t.Clients, t.Seed, t.Rate
	if from.Groups > 0 {
		sim.result.Asked.Dataset = "generated-shared-prefix"
	}
	if from.Trace == "" {
		return
	}
	if sim.trace, err = simulate.OpenTrace(from.Trace); err != nil {
		note(err)
		sim.trace = nil
		return
	}
	sim.result.Asked = simulate.Asked{Dataset: from.Trace}
	if !o.flags.given("num-prompts") {
		t.Requests = 0 // all
	}
	if math.IsInf(t.Rate, 1) {
		t.Rate = sim.trace.Rate()
		sim.result.Rate = t.Rate
	}
	if !sim.trace.Timed {
		note(fmt.Errorf("%s: has no arrivals; --lengths trace:%s takes its lengths", from.Trace, from.Trace))
	}
}
