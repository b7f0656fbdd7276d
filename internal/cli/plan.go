package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

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

func newPlan(s Streams) *cobra.Command {
	var asJSON bool
	var view viewOptions
	var flags *settings
	var asked charts
	var out output
	cmd := &cobra.Command{
		Use:   "plan --model M --system S --gpus N",
		Short: "Find what to launch: the best deployments on a number of GPUs",
		Long: `Plan finds the best deployments of a model on a number of GPUs. It tries aggregated
deployments, where the same GPUs do prefill and decode, and disaggregated ones, with a
pool for each, behind the engines that can run them: SGLang, vLLM and TensorRT-LLM.

It prints the best deployments, the frontier between tokens/s per user and tokens/s per
GPU, and the launch arguments of the first. TTFT, TPOT and throughput are what clients
see when there are enough of them to fill the batches.

Times are in ms, or have a unit: --ttft 2s --tpot 50ms.`,
		Example: `  throughline plan --model DeepSeek-V3 --system H200 --gpus 32 --isl 4000 --osl 1000 --tpot 50ms --weights fp8
  throughline plan --model qwen3_32b_flash --system H100_SXM --gpus 8 --mode agg --engine vllm
  throughline plan --model llama_3_70b --system H100_SXM --gpus 16 --objective min-gpus --rate 5 --ttft 2s
  throughline plan --model llama_3_8b --system H200 --gpus 4 --out plans.xlsx
  throughline plan --model llama_3_8b --system L40S --gpus 4 --price 1.2 --power 350 --json
  throughline plan --model Qwen3-30B-A3B --pool H20_141G:4 --pool H200:4 --price H200=3.5,H20_141G=1.2 --objective cost`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if view.help() {
				return view.listFields(s)
			}
			l, o, sheet, err := askPlan(s, flags, &view, &asked, &out)
			if err != nil {
				return err
			}
			got, err := advice.Give(cmd.Context(), l, o)
			if err != nil {
				return err
			}
			files, err := planFile(cmd.Context(), out.name, l, got)
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
			if asJSON {
				return showPlan(s, got, report.AdviceJSON(s.data, l, &o, got))
			}
			return showPlan(s, got, report.Advice(s.Out, view.of(s), l, &o, got))
		},
	}
	flags = addSettings(cmd, question.Plan)
	addOutputs(cmd, "plan", asked.with("plan", map[string]any{"json": &asJSON, "wide": &view.wide, "columns": &view.columns, "html": &asked.html, "out": &out}))
	addWatch(cmd, "plan", s, flags.watched)
	return cmd
}

// workers is the processors of this machine to use.
func workers(q *question.Question) int { return cmp.Or(q.Jobs, runtime.GOMAXPROCS(0)) }

// askPlan is the question of the flags with its files, and the options of its search; all problems at once.
func askPlan(s Streams, flags *settings, view *viewOptions, asked *charts, out *output) (*question.Loaded, advice.Options, *sheet, error) {
	q, err := flags.read()
	sheet, wrong := asked.plan(q.Files(), nil, out)
	errs := []error{err, report.CheckColumns(view.columns), wrong, checkPlanForm(out)}
	l, err := q.Load()
	if err := document.Join(append(errs, err)...); err != nil {
		return nil, advice.Options{}, nil, question.Once(err)
	}
	warn(s, l.Warnings)
	flags.note(s, l)
	engines, err := engine.Choices(q.Engine)
	return l, advice.Options{
		GPUs: q.GPUs, GPUsPerNode: q.GPUsPerNode, Mode: q.Mode, Objective: q.Objective, Rate: q.Rate, Engines: engines,
		Redundant: search.Range{High: q.Redundant}, Drafts: search.Range{High: q.Drafts}, Top: q.Top, PerHour: l.PerHour, Watts: l.Watts,
		Overlaps: overlaps(q.Overlap), Workers: workers(&q), Prefill: q.PrefillGPUs, Pools: q.Pools,
	}, sheet, err
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
