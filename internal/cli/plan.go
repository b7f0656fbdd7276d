package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"throughline"
	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
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

type planOptions struct {
	flags    *settings
	json     bool
	view     viewOptions
	charts   charts
	sheet    *sheet
	out      output
	launch   launchOptions
	rejected bool
}

func newPlan(s Streams) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:     "plan --model M --system S --gpus N",
		Short:   "Find what to launch: the best deployments on a number of GPUs",
		Long:    planHelp,
		Example: planExamples,
		Args:    onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.view.help() {
				return o.view.listFields(s)
			}
			if several, err := o.curve().several(cmd, s); several {
				return err
			}
			launching, plans, err := o.prepare(s)
			if err != nil {
				return err
			}
			if err := o.search(cmd.Context(), s, plans.Plans); err != nil {
				return err
			}
			if plans.Partial { // no files are written: they would look complete
				s.linger(time.Second)
				return cmp.Or(o.show(s, plans), cmd.Context().Err())
			}
			if err := o.finish(cmd.Context(), s, plans.Plans, launching); err != nil {
				return err
			}
			if o.launch.alone() {
				return o.launch.show(s, plans.Plans)
			}
			return noPlan(s, plans.Advice, o.show(s, plans))
		},
	}
	o.flags = addSettings(cmd, question.Plan)
	addOutputs(cmd, "plan", o.charts.with("plan", map[string]any{"json": &o.json, "wide": &o.view.wide, "columns": &o.view.columns, "html": &o.charts.html, "out": &o.out,
		"launch": &o.launch.row, "launch-for": &o.launch.engine, "launch-format": &o.launch.format, "explain-rejected": &o.rejected}))
	addWatch(cmd, "plan", s, o.flags.watched)
	return cmd
}

// prepare reads the question and reports all problems.
func (o *planOptions) prepare(s Streams) (advice.Launching, *throughline.Plans, error) {
	launching, wrong := o.launch.check(o.json)
	plans, err := throughline.NewPlans(o.flags.words(), o.flags.checked(o.refuse))
	showRemarks(s, plans.Remarks)
	if err := document.Join(err, wrong); err != nil {
		return launching, nil, question.Once(err)
	}
	return launching, plans, nil
}

func (o *planOptions) curve() *curve {
	return &curve{flags: o.flags, json: o.json, view: o.view, out: &o.out, charts: &o.charts, single: []string{"launch", "launch-for", "launch-format", "explain-rejected", "watch"}}
}

func (o *planOptions) refuse(reads []string) (err error) {
	o.sheet, err = o.charts.plan(reads, nil, &o.out)
	return document.Join(report.CheckColumns(o.view.columns), err, checkPlanForm(&o.out))
}

// Tests that look at several forms of an answer put others in their place, which search once.
var (
	searchPlans = func(ctx context.Context, p *advice.Plans) error { return p.Search(ctx) }
	tryLayouts  = func(ctx context.Context, p *advice.Plans) ([]advice.Tried, error) {
		return advice.Rejected(ctx, p.Loaded, &p.Options, p.Advice)
	}
)

func (o *planOptions) search(ctx context.Context, s Streams, p *advice.Plans) error {
	bar := newProgress(s.watched, 0)
	p.Options.Progress, p.Options.Phase = bar.add, bar.enter
	err := searchPlans(ctx, p)
	bar.finish()
	if errors.Is(err, context.Canceled) {
		s.linger(time.Second)
		fmt.Fprintln(s.Err, "throughline: no deployment was found before the interruption")
	}
	return err
}

// finish adds the optional parts of a plan and writes its files.
func (o *planOptions) finish(ctx context.Context, s Streams, p *advice.Plans, l advice.Launching) error {
	err := o.launch.choose(p.Advice, l)
	if err == nil && o.rejected {
		p.Tried, err = tryLayouts(ctx, p)
	}
	if err != nil {
		return err
	}
	files, err := planFile(ctx, o.out.name, p)
	if err == nil && len(p.Ranked) > 0 { // otherwise there are reasons in place of charts
		var charts []report.File
		charts, err = allCharts(o.sheet, picture.PlanKinds, p)
		files = slices.Concat(files, charts, o.charts.page(func() *page.Page { return page.Planned(p) }))
	}
	if err != nil {
		return err
	}
	return writeFiles(ctx, s, files...)
}

func (o *planOptions) show(s Streams, p *throughline.Plans) error {
	if o.json {
		return failed(report.WriteObject(s.data, p))
	}
	return failed(report.Advice(s.Out, o.view.of(s), p.Plans))
}

// noPlan prints the reasons if nothing was found and sets the exit code.
func noPlan(s Streams, got *advice.Advice, err error) error {
	if err != nil || len(got.Ranked) > 0 {
		return err
	}
	for _, r := range got.Reasons {
		fmt.Fprintln(s.Err, "no plan:", r)
	}
	return exitError{exitNoPlan}
}
