package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"throughline"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/explain"
	"throughline/internal/files"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
)

type explainOptions struct {
	flags  *settings
	json   bool
	view   viewOptions
	files  pointFiles
	charts charts
	sheet  *sheet
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
  with --seek and --until: the value of a hardware number that reaches a goal; with
  --replan by the best deployment on as many GPUs at each value

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
		RunE: func(cmd *cobra.Command, _ []string) error {
			got, err := throughline.Explain(cmd.Context(), o.flags.words(), o.flags.checked(o.refuse))
			showRemarks(s, got.Remarks)
			if err == nil {
				err = o.write(cmd.Context(), s, got.Explained)
			}
			switch {
			case err != nil:
				return err
			case o.json:
				return failed(report.WriteObject(s.data, got))
			}
			return failed(report.WriteExplained(s.Out, o.view.of(s), got.Explained))
		},
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

func completePaths(cmd *cobra.Command) {
	must(cmd.RegisterFlagCompletionFunc("seek", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		// Without a system, those of the most measured one: the others have the same names.
		name := cmp.Or(cmd.Flags().Lookup("system").Value.String(), measuredSystem)
		f, err := hardware.Catalogue.Locate(name, catalogue.Places{In: files.Machine})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		sys, _ := hardware.Read(f.Name, f.Source)
		if sys == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return withPrefix(begun, explain.Paths(sys)), cobra.ShellCompDirectiveNoFileComp
	}))
}

func (o *explainOptions) refuse(reads []string) (err error) {
	o.sheet, err = o.charts.plan(reads, nil, o.files.all()...)
	return err
}

// write writes the requested files: trace, operators, report, and charts of the last explained
// step.
func (o *explainOptions) write(ctx context.Context, s Streams, x *explain.Explained) error {
	files := append(o.files.of(x.Answer), o.charts.page(func() *page.Page { return page.Explained(x) })...)
	for i, why := range slices.Backward(x.Why) {
		if why != nil {
			charts, err := allCharts(o.sheet, picture.StepKinds, picture.Step{Answer: x.Answer, Phase: i, Why: why, Parts: x.Parts})
			if err != nil {
				return err
			}
			files = append(files, charts...)
			break
		}
	}
	return writeFiles(ctx, s, files...)
}
