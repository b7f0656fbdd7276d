package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"throughline"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/serving/simulate"
)

type simulateOptions struct {
	flags                              *settings
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
			sim, err := throughline.NewSimulation(o.flags.words(), o.flags.checked(o.refuse))
			showRemarks(s, sim.Remarks)
			if err != nil {
				return err
			}
			result, err := o.run(cmd.Context(), s, sim.Simulation)
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
			return write(s.Out, result.Block()+viewOptions{}.of(s).Wrap(strings.Join(result.Notes(), "\n")+"\n")+sparks(result, s.Bars, s.Width))
		},
	}
	o.add(cmd)
	return cmd
}

func (o *simulateOptions) add(cmd *cobra.Command) {
	o.flags = addSettings(cmd, question.Simulate)
	addOutputs(cmd, "simulate", o.charts.with("simulate", map[string]any{"json": &o.json,
		"requests-out": &o.requestsOut, "timeline-out": &o.timelineOut, "steps-out": &o.stepsOut, "trace-out": &o.traceOut}))
}

// refuse finds outputs that would replace an input or another output.
func (o *simulateOptions) refuse(reads []string) (err error) {
	o.sheet, err = o.charts.plan(reads, nil, &o.requestsOut, &o.timelineOut, &o.stepsOut, &o.traceOut)
	return err
}

// run sends the requests and writes all files.
func (o *simulateOptions) run(ctx context.Context, s Streams, sim *point.Simulation) (*simulate.Result, error) {
	err := sim.Settle(ctx)
	if errors.Is(err, simulate.ErrLimits) {
		fmt.Fprintln(s.Err, "throughline:", err)
		return nil, exitError{exitNoPlan}
	}
	if err != nil {
		return nil, err
	}
	got, err := o.written(ctx, s, sim)
	if err != nil {
		return nil, err
	}
	showRemarks(s, sim.After(got))
	return got, drawSome(ctx, s, o.sheet, picture.LoadKinds, picture.Load{Title: report.DeploymentTitle(&sim.Deployment, false), Result: got})
}
