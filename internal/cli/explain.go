package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"throughline/assume"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/explain"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/op"
)

// explainOptions are the flags of the explain command.
type explainOptions struct {
	flags  *settings
	json   bool
	view   viewOptions
	files  pointFiles
	charts charts
}

func newExplain(s Streams) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain --model MODEL --system SYSTEM",
		Short: "Explain one deployment: operators, memory, sensitivities, limits",
		Long: `Explain takes one deployment, as estimate does, and shows why it is as fast as it is:

  the operators in order, with shapes, times and what bounds each
  what is in memory
  what 10% more of each hardware number would change
  which limit a growing batch meets next
  with --seek and --until: the value of a hardware number that reaches a goal

It first shows what clients see, then explains the decode step. --phase prefill, or a
goal on the time to first token, explains the prefill step.

Goals: tpot=20ms, ttft=500ms, step=20ms, throughput=5000, memory=10GiB (left free) and
batch=64 (the largest that fits). A hardware number is named by its path in the system
file: mem1.GBps, mem1.GiB, matrix.float8.tflops, networks[0].bandwidth. Values from a
thousandth to a thousand times the present one are tried.`,
		Example: `  throughline explain --model llama_3_8b --system H200 --batch 32
  throughline explain --model llama_3_8b --system H200 --batch 32 --tpot 10
  throughline explain --model llama_3_8b --system H200 --batch 32 --trace-out step.json --op-details operators.csv
  throughline explain --model qwen3_32b_flash --system H100_SXM --tp 4 --batch 64 --seek mem1.GBps --until tpot=10ms
  throughline explain --model qwen3_32b_flash --system H100_SXM --tp 4 --seek matrix.bfloat16.tflops --until ttft=20ms --json`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return explainPoint(cmd.Context(), s, o) },
	}
	o.flags = addSettings(cmd, question.Explain)
	addOutputs(cmd, "explain", o.charts.with("explain", o.files.with(map[string]any{"json": &o.json, "wide": &o.view.wide, "html": &o.charts.html})))
	addWatch(cmd, "explain", s, o.flags.watched)
	return cmd
}

func goals() []string {
	var out []string
	for _, m := range explain.Metrics() {
		out = append(out, m+"=")
	}
	return out
}

// completePaths offers the numbers of the system that is named.
func completePaths(cmd *cobra.Command) {
	must(cmd.RegisterFlagCompletionFunc("seek", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		// Without a system, the numbers of the one that most of this project was measured on: others have the same names.
		name := cmp.Or(cmd.Flags().Lookup("system").Value.String(), measuredSystem)
		f, err := hardware.Catalogue.Locate(name, catalogue.Places{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		sys, _ := hardware.Read(f.Name, f.Source)
		if sys == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return starting(begun, explain.Paths(sys)), cobra.ShellCompDirectiveNoFileComp
	}))
}

func explainPoint(ctx context.Context, s Streams, o explainOptions) error {
	q, err := ask(o.flags)
	goal, errs := readGoal(&q)
	sheet, wrong := o.charts.plan(q.Files(), nil, o.files.all()...)
	errs = append(errs, wrong)
	answer, err := answerPoint(s, o.flags, &q, err)
	if err == nil && goal != nil && q.Phase == "" && answer.Seen == nil && answer.Deployment.Assume.Engine {
		errs = append(errs, ofFlag("until", fmt.Errorf("%s: no client can be served", q.Until)))
	}
	if err == nil && q.Seek != "" {
		err = ofFlag("seek", explain.CheckPath(answer.Phases[0].Problem.System, q.Seek))
	}
	if err := document.Join(append(errs, err)...); err != nil {
		return question.Once(err)
	}
	// What clients see is explained by the decode step, unless a goal is about the first token.
	explained := op.Decode
	if goal != nil {
		if phase, about := goal.Phase(); about {
			explained = phase
		}
	}
	why := make([]*explain.Explanation, len(answer.Phases))
	for i := range answer.Phases {
		phase := answer.Phases[i].Phase
		if q.Clients() && phase != explained {
			continue
		}
		if why[i], err = explain.Of(answer, i, q.Limits()); err != nil {
			return err
		}
		if goal != nil && goal.Suits(answer, phase) {
			if why[i].Seek, err = explain.Seek(answer, i, q.Seek, goal); err != nil {
				return err
			}
		}
	}
	if err := o.write(ctx, s, sheet, answer, why); err != nil {
		return err
	}
	if o.json {
		err = report.WriteObject(s.data, report.ExplainedJSON(answer, why))
	}
	first := true
	for i := 0; i < len(why) && err == nil && !o.json; i++ {
		if why[i] == nil {
			continue
		}
		if !first {
			fmt.Fprintln(s.Out)
		}
		first = false
		err = report.WriteExplanation(s.Out, o.view.of(s), answer, i, why[i])
	}
	if err != nil {
		return systemError{err}
	}
	return nil
}

// write writes all files that are asked for: the trace and the operators, the report, and the charts of the step that is
// explained, of several the last.
func (o *explainOptions) write(ctx context.Context, s Streams, on *sheet, a *point.Answer, why []*explain.Explanation) error {
	files, err := o.files.of(a)
	if err != nil {
		return err
	}
	files = append(files, o.charts.page(func() *page.Page { return page.Explained(a, why) })...)
	for i := len(why) - 1; i >= 0; i-- {
		if why[i] != nil {
			charts, err := drawn(on, picture.StepKinds, picture.Step{Answer: a, Phase: i, Why: why[i]})
			if err != nil {
				return err
			}
			files = append(files, charts...)
			break
		}
	}
	return writeAll(ctx, s, files)
}

// readGoal reads what is to be reached. A goal that is known of one phase only asks for it.
func readGoal(q *question.Question) (*explain.Goal, []error) {
	if q.Until == "" {
		return nil, nil
	}
	goal, err := explain.ParseGoal(q.Until)
	if err != nil {
		return nil, []error{ofFlag("until", err)}
	}
	var errs []error
	if phase, times := goal.Phase(); times && !q.Clients() {
		if reference := strings.HasPrefix(q.Assume, assume.Reference.Name); !reference || !slices.Contains(q.Phases(), phase) {
			errs = append(errs, ofFlag("until", fmt.Errorf("%s: a bare step has no %s, which clients see; leave out --phase, or ask for step=", q.Until, goal.Metric())))
		}
	}
	return goal, errs
}
