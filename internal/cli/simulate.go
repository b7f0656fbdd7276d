package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"throughline"
	"throughline/internal/document"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/internal/table"
	"throughline/serving/simulate"
)

type simulateOptions struct {
	flags                              *settings
	json                               bool
	requestsOut, timelineOut, stepsOut output
	traceOut, out                      output
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

` + exitHelp(),
		Example: `  throughline simulate --model Llama-3.1-8B --system H100_SXM --dp 8 --rate 40 --isl 512 --osl 512 --num-prompts 2000
  throughline simulate --model Llama-3.1-8B --system H200 --engine sglang --max-concurrency 16 --num-prompts 64 --json
  throughline simulate --model Llama-3.1-8B --system H200 --rate 20 --num-prompts 100 --trace-out run.json
  throughline simulate --model Llama-3.1-8B --system H200 --max-rate --ttft p99:2s --tpot p95:50ms --isl 512 --osl 64 --num-prompts 500`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if several, err := o.curve().several(cmd, s); several {
				return err
			}
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
				return cmp.Or(write(s.data, string(text)), limitsError(result.Seen()))
			}
			v := viewOptions{}.of(s)
			return cmp.Or(write(s.Out, simulationHead(sentenceInput(sim.Simulation, result), v)+result.Block()+v.Wrap(strings.Join(result.Notes(), "\n")+"\n")+sparks(result, s.Bars, s.Width)), limitsError(result.Seen()))
		},
	}
	o.add(cmd)
	return cmd
}

// simulationHead is what stands above the figures of a run: sentences, the deployment, and whose
// prices they rest on.
func simulationHead(l *sentence.Loaded, v table.View) string {
	text := sentence.Text(v, sentence.Load(l)) + "\n" + v.Wrap(report.DeploymentTitle(l.Deployment, false)) + "\n"
	if _, listed := l.Cost(); len(listed) > 0 {
		text += v.Wrap("price: "+strings.Join(listed, "; ")) + "\n"
	}
	return text
}

func sentenceInput(sim *point.Simulation, r *simulate.Result) *sentence.Loaded {
	return &sentence.Loaded{Deployment: &sim.Deployment, Trusted: sim.Trusted, Seen: r.Seen(), Run: r, Price: sim.Price}
}

// limitsError sets the exit code where limits were asked for and do not hold.
func limitsError(seen *simulate.Seen) error {
	if seen.Limited() && !seen.Holds() {
		return exitError{exitLimits}
	}
	return nil
}

func (o *simulateOptions) curve() *curve {
	return &curve{flags: o.flags, json: o.json, out: &o.out, charts: &o.charts, single: []string{"requests-out", "timeline-out", "steps-out", "trace-out"}}
}

func (o *simulateOptions) add(cmd *cobra.Command) {
	o.flags = addSettings(cmd, question.Simulate)
	addOutputs(cmd, "simulate", o.charts.with("simulate", map[string]any{"json": &o.json,
		"requests-out": &o.requestsOut, "timeline-out": &o.timelineOut, "steps-out": &o.stepsOut, "trace-out": &o.traceOut, "out": &o.out, "html": &o.charts.html}))
}

// refuse finds outputs that would replace an input or another output.
func (o *simulateOptions) refuse(reads []string) (err error) {
	o.sheet, err = o.charts.plan(reads, nil, &o.requestsOut, &o.timelineOut, &o.stepsOut, &o.traceOut, &o.out)
	if o.out.name != "" {
		err = document.Join(err, ofFlag("out", errors.New("is the table of several questions: give a setting several values, like --rate 1,2,4,8")))
	}
	return err
}

func (o *simulateOptions) run(ctx context.Context, s Streams, sim *point.Simulation) (*simulate.Result, error) {
	if err := sim.Settle(ctx); err != nil {
		return nil, answerError(s, err)
	}
	got, err := o.written(ctx, s, sim)
	if err != nil {
		return nil, err
	}
	showRemarks(s, sim.After(got))
	if err := writeFiles(ctx, s, o.charts.page(func() *page.Page { return page.Simulated(sentenceInput(sim, got)) })...); err != nil {
		return nil, err
	}
	return got, writeCharts(ctx, s, o.sheet, picture.LoadKinds, picture.Load{Title: report.DeploymentTitle(&sim.Deployment, false), Result: got})
}
