package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/gap"
	"throughline/internal/point"
	"throughline/internal/profile"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/internal/table"
)

func newCompare(s Streams) *cobra.Command {
	var o struct {
		flags *settings
		json  bool
		view  viewOptions
	}
	cmd := &cobra.Command{
		Use:   "compare --measured FIGURES|FILE | --kernels FILE --model M --system S",
		Short: "Compare a prediction with measured figures or a profile",
		Long: `Compare says what would have to be off for the prediction to be what was measured
(--measured): decode kernels, by class, overlap, prompts, the host, waiting, or how many
requests run at a time; which of these other figures of the measurement contradict; and
what to measure next. It reads figures such as tpot=31ms,ttft=400ms, the result files of
throughline bench, sglang.bench_serving, vLLM's bench serve (--save-result), aiperf
(profile_export_aiperf.json), genai-perf and InferenceX (agg_*.json), or a row of a table
of runs. What such a file says of the load, and a row of the deployment, need not be
given. It is predicted as "throughline validate serving" predicts it: with the first wave
of clients that all start at once, and by a simulation where requests come at a rate.
Figures without a file are those of clients that have been sending for a long time.
--explain chooses the figure to explain.

With --kernels, compare reads a summary of the kernels that a profiler saw, and puts the
ms of a step and the share of each class beside what the same deployment is predicted to
spend there. How many steps the profile has follows from how often attention ran. The
flags are those of throughline estimate; --phase says which step was profiled. Beside
--measured the decode step behind TPOT is compared.

The file is the CSV of nsys stats --report cuda_gpu_kern_sum --format csv, the table of
PyTorch's key_averages().table() or its trace (export_chrome_trace, also .gz), any table
separated by commas, semicolons, tabs or bars with a column of names and one of times or
shares, a JSON list of objects with these, or lines with a name and a percentage. Shares
are of the time that kernels run: what runs beside something else counts as well. Lines
without a time are named.

Kernels without an operator are named: the prediction leaves them out.`,
		Example: `  throughline compare --measured tpot=31ms,ttft=400ms --model Llama-3.1-70B --system H100_SXM --tp 8 --engine vllm --concurrency 64
  throughline compare --measured result.json --model Llama-3.1-70B --system H100_SXM --tp 8 --engine vllm
  throughline compare --kernels kernels.csv --model deepseek_v3_flash_mla_absorb --system H200 --dp 8 --batch 64 --weights fp8
  throughline compare --kernels profile.txt --model Qwen3-32B --system H100_SXM --tp 4 --phase prefill --json`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := o.flags.fixed()
			if q.Seen != "" {
				return compareMeasured(cmd.Context(), s, q, o.json, o.view.of(s))
			}
			compared, answer, remarks, err := gap.AskProfile(q)
			showRemarks(s, remarks)
			switch {
			case err != nil:
				return err
			case o.json:
				return failed(report.WriteObject(s.data, compared))
			}
			return write(s.Out, kernelText(o.view.of(s), answer, compared, 0))
		},
	}
	o.flags = addSettings(cmd, question.Compare)
	addOutputs(cmd, "compare", map[string]any{"json": &o.json, "wide": &o.view.wide})
	return cmd
}

// kernelText is a comparison for people: sentences, ms of a step by class, shares.
func kernelText(v table.View, a *point.Answer, c *gap.Profiled, tpot float64) string {
	out := sentence.Text(v, sentence.Kernels(c.Step, tpot)) + "\n" + v.Wrap(report.PointTitle(a)) + "\n"
	return out + report.KernelSteps(v, c.Step) + report.Classes(v, a.Phases[len(a.Phases)-1].StepTitle(), c.Classes) + v.Wrap(leftOutText(c.LeftOut))
}

// leftOutText names some places of the summary that were left out, if any.
func leftOutText(left []profile.LeftOut) string {
	if len(left) == 0 {
		return ""
	}
	const few = 5
	var out []string
	for _, l := range left[:min(few, len(left))] {
		out = append(out, l.String())
	}
	words := "Left out of the summary: " + strings.Join(out, ", ")
	if more := len(left) - few; more > 0 {
		words += fmt.Sprintf(" and %d more (--json has all)", more)
	}
	return words + ".\n"
}
