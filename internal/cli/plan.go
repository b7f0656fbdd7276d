package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/plan"
	"throughline/search"
)

const planHelp = `Plan finds the best deployments of a model on a number of GPUs. It tries aggregated
deployments, where the same GPUs do prefill and decode, and disaggregated ones, with a
pool for each, behind the engines that can run them: SGLang, vLLM and TensorRT-LLM.

It prints the best deployments, the frontier between tokens/s per user and tokens/s per
GPU, and the launch arguments of the first. TTFT, TPOT and throughput are what clients
see when there are enough of them to fill the batches.

With a rate and limits of percentiles (--rate 50 --ttft p99:2s --tpot p95:50ms) requests
come by themselves, and what holds is simulated: the answer has the fewest GPUs or, with
--gpus, the most room for more requests. Ctrl-C shows the best so far.

Times are in ms, or have a unit: --ttft 2s --tpot 50ms.`

const planExamples = `  throughline plan --model DeepSeek-V3 --system H200 --gpus 32 --isl 4000 --osl 1000 --tpot 50ms --weights fp8
  throughline plan --model qwen3_32b_flash --system H100_SXM --gpus 8 --mode agg --engine vllm
  throughline plan --model llama_3_70b --system H100_SXM --gpus 16 --objective min-gpus --rate 5 --ttft 2s
  throughline plan --model Llama-3.1-8B --system L40S --rate 20 --isl 500 --osl 50 --ttft p99:500ms --tpot p95:60ms
  throughline plan --model llama_3_8b --system H200 --gpus 4 --out plans.xlsx
  throughline plan --model llama_3_8b --system L40S --gpus 4 --price 1.2 --power 350 --json
  throughline plan --model Qwen3-30B-A3B --pool H20_141G:4 --pool H200:4 --price H200=3.5,H20_141G=1.2 --objective cost`

func newPlan(s Streams) *cobra.Command {
	var asJSON bool
	var view viewOptions
	var flags *settings
	var asked charts
	var out output
	var start launchOptions
	var rejected bool
	cmd := &cobra.Command{
		Use:     "plan --model M --system S --gpus N",
		Short:   "Find what to launch: the best deployments on a number of GPUs",
		Long:    planHelp,
		Example: planExamples,
		Args:    onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if view.help() {
				return view.listFields(s)
			}
			launching, wrong := start.check(asJSON)
			l, o, sheet, err := askPlan(s, flags, &view, &asked, &out)
			if err := document.Join(err, wrong); err != nil {
				return question.Once(err)
			}
			bar := newProgress(s.watched, 0)
			o.Told = bar.told
			got, err := advice.Give(cmd.Context(), l, o)
			bar.finish()
			if errors.Is(err, context.Canceled) {
				s.linger(time.Second)
				fmt.Fprintln(s.Err, "throughline: no deployment was found before the interruption")
			}
			if err != nil {
				return err
			}
			if got.Partial {
				return showPartial(cmd.Context(), s, got, asJSON, view, l, &o)
			}
			if err := start.choose(got, launching); err != nil {
				return err
			}
			if rejected {
				if got.Tried, err = advice.Rejected(cmd.Context(), l, &o, got); err != nil {
					return err
				}
			}
			files, err := planFile(cmd.Context(), out.name, l, &o, got)
			if err != nil {
				return err
			}
			all := picture.Plans{Loaded: l, Options: &o, Advice: got}
			if len(got.Ranked) > 0 { // else there are reasons in the place of charts
				charts, err := drawn(sheet, picture.PlanKinds, all)
				if err != nil {
					return err
				}
				files = slices.Concat(files, charts, asked.page(func() *page.Page { return page.Planned(all) }))
			}
			if err := writeAll(cmd.Context(), s, files); err != nil {
				return err
			}
			if start.alone() {
				return start.show(s, l, &o, got)
			}
			if asJSON {
				return showPlan(s, got, report.AdviceJSON(s.data, l, &o, got))
			}
			return showPlan(s, got, report.Advice(s.Out, view.of(s), l, &o, got))
		},
	}
	flags = addSettings(cmd, question.Plan)
	addOutputs(cmd, "plan", asked.with("plan", map[string]any{"json": &asJSON, "wide": &view.wide, "columns": &view.columns, "html": &asked.html, "out": &out,
		"launch": &start.row, "launch-for": &start.engine, "launch-format": &start.format, "explain-rejected": &rejected}))
	addWatch(cmd, "plan", s, flags.watched)
	return cmd
}

// mostPlanned is the GPUs that a rate may take where no number is given.
const mostPlanned = 1024

// showPartial shows what was found before an interruption. No files are written: they would look complete.
func showPartial(ctx context.Context, s Streams, got *advice.Advice, asJSON bool, view viewOptions, l *question.Loaded, o *advice.Options) error {
	s.linger(time.Second)
	var err error
	if asJSON {
		err = report.AdviceJSON(s.data, l, o, got)
	} else {
		err = report.Advice(s.Out, view.of(s), l, o, got)
	}
	if err != nil {
		return systemError{err}
	}
	return ctx.Err()
}

// workers is the processors of this machine to use.
func workers(q *question.Question) int { return cmp.Or(q.Jobs, runtime.GOMAXPROCS(0)) }

// askPlan is the question of the flags with its files, and the options of its search; all problems at once.
func askPlan(s Streams, flags *settings, view *viewOptions, asked *charts, out *output) (*question.Loaded, advice.Options, *sheet, error) {
	q, err := flags.read()
	if (q.Rate > 0 || q.Simulates() && q.Traffic.Trace != "") && !flags.given("gpus") && q.Fleet == "" && (!flags.given("objective") || q.Objective == question.MinGPUs) {
		q.Objective, q.GPUs = question.MinGPUs, mostPlanned
	}
	sheet, wrong := asked.plan(q.Files(), nil, out)
	errs := []error{err, report.CheckColumns(view.columns), wrong, checkPlanForm(out)}
	l, err := q.Load()
	if err := document.Join(append(errs, err)...); err != nil {
		return nil, advice.Options{}, nil, question.Once(err)
	}
	warn(s, l.Warnings)
	flags.note(s, l)
	engines, err := l.Engines(q.Engine)
	demand, wrong := advice.NewDemand(l)
	if err = document.Join(err, wrong); err != nil {
		return nil, advice.Options{}, nil, err
	}
	return l, advice.Options{
		GPUs: q.GPUs, GPUsPerNode: q.GPUsPerNode, Mode: q.Mode, Objective: q.Objective, Rate: q.Rate, Engines: engines, EachEngine: q.Engine == engine.Each,
		Redundant: search.Range{High: q.Redundant}, Drafts: search.Range{High: q.Drafts}, Top: q.Top, PerHour: l.PerHour, Watts: l.Watts,
		Overlaps: overlaps(q.Overlap), Workers: workers(&q), Prefill: q.PrefillGPUs, Pools: q.Pools,
		Demand: demand,
	}, sheet, nil
}

// overlaps are those that a search tries; the empty name is none.
func overlaps(name string) []plan.Overlap {
	if name == question.AnyOverlap {
		return []plan.Overlap{plan.NoOverlap, plan.TwoBatch, plan.SingleBatch}
	}
	if o, ok := plan.FindOverlap(name); ok && o != plan.NoOverlap {
		return []plan.Overlap{o}
	}
	return nil
}

// showPlan ends a plan that was written, with the reasons where nothing was found.
func showPlan(s Streams, got *advice.Advice, err error) error {
	if err != nil {
		return systemError{err}
	}
	if len(got.Ranked) == 0 {
		for _, r := range got.Reasons {
			fmt.Fprintln(s.Err, "no plan:", r)
		}
		return exitError{exitNoPlan}
	}
	return nil
}
