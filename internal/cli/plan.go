package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/plan"
	"throughline/search"
)

func newPlan(s Streams) *cobra.Command {
	var asJSON bool
	var jobs int
	var view viewOptions
	var flags *settings
	var out output
	cmd := &cobra.Command{
		Use:   "plan --model M --system S --gpus N",
		Short: "Find what to launch: the best deployments of a model on a number of GPUs",
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
  throughline plan --model llama_3_8b --system L40S --gpus 4 --price 1.2 --power 350 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, o, err := askPlan(s, flags, jobs, &view)
			if err := document.Join(err, checkPlanFile(&out, l)); err != nil {
				return err
			}
			got, err := advice.Give(cmd.Context(), l, o)
			if err != nil {
				return err
			}
			if err := writePlan(cmd.Context(), s, out.name, l, got); err != nil {
				return err
			}
			if asJSON {
				return showPlan(s, got, report.AdviceJSON(s.data, l, &o, got))
			}
			return showPlan(s, got, report.Advice(s.Out, view.of(s), l, &o, got))
		},
	}
	flags = addSettings(cmd, question.Plan)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	addJobs(cmd, &jobs)
	view.flags(cmd)
	cmd.Flags().StringSliceVar(&view.columns, "columns", nil, "fields to show instead of the usual ones, by their names in docs/output.md")
	out.flags(cmd, "out", "", "file of the ranked deployments and the frontier, by its name: .csv, .jsonl, .parquet or .xlsx")
	addWatch(cmd, s, func() []string { return flags.watched("") })
	return cmd
}

// maxJobs is more processors than any machine has.
const maxJobs = 4_096

// addJobs adds the flag that says how many processors of this machine to use.
func addJobs(cmd *cobra.Command, jobs *int) {
	cmd.Flags().IntVarP(jobs, "jobs", "j", runtime.GOMAXPROCS(0), "CPU cores to use")
}

func checkJobs(jobs int) error {
	if jobs < 1 || jobs > maxJobs {
		return ofFlag("jobs", fmt.Errorf("must be from 1 to %d, not %d", maxJobs, jobs))
	}
	return nil
}

// askPlan is the question of the flags with its files, and the options of its search; all problems at once.
func askPlan(s Streams, flags *settings, jobs int, view *viewOptions) (*question.Loaded, advice.Options, error) {
	q, err := flags.read()
	errs := []error{err, checkJobs(jobs), report.CheckColumns(view.columns)}
	l, err := q.Load()
	if err := document.Join(append(errs, err)...); err != nil {
		return nil, advice.Options{}, question.Once(err)
	}
	warn(s, l.Warnings)
	flags.note(s, l)
	engines, err := engine.Choices(q.Engine)
	return l, advice.Options{
		GPUs: q.GPUs, GPUsPerNode: q.GPUsPerNode, Mode: q.Mode, Objective: q.Objective, Rate: q.Rate, Engines: engines,
		Redundant: search.Range{High: q.Redundant}, Drafts: search.Range{High: q.Drafts}, Top: q.Top, PerHour: q.Price, Watts: q.Power,
		Overlaps: overlaps(q.Overlap), Workers: jobs,
	}, err
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
