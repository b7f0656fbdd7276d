package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/runs"
	"throughline/internal/validate"
)

func newCalibrateServing(s Streams) *cobra.Command {
	var o struct {
		flags       *settings
		out         output
		force, json bool
		view        viewOptions
	}
	cmd := &cobra.Command{
		Use:   "serving RUNS.csv|RESULTS.jsonl [-o FITTED.json]",
		Short: "Fit the predictions of a deployment to measured runs of it",
		Long: `Serving reads one measured run of a deployment or several, in the columns that
"throughline validate serving" reads (model, system, engine, tp, isl, osl, concurrency,
ttft_ms, tpot_ms, ...), and writes what they correct: a scale of the time of decoding,
one of the time of prompts, and a time before the first token. All commands that predict
take the file (--fitted). Result files of throughline bench, sglang.bench_serving, vLLM's
bench serve, aiperf, genai-perf and InferenceX are read as well; --deployment says what
they are of.

One run does not tell all of them apart. Each is moved as far as the errors of
predictions usually go, and no further than the run supports: how far was chosen by
cross-validation ("go run ./cmd/lab heldout --from-one-point"). --correct names other
numbers: first-wave is what the first requests of all clients wait besides, for which
runs need a mean and a median of TTFT, both of which are simulated then; else means are
those of the closed form. --exact fits as far as the runs say. Times are in ms.`,
		Example: `  throughline calibrate serving runs.csv -o fitted.json
  throughline calibrate serving result.json --deployment model=Llama-3.1-8B,system=H200,engine=vllm
  throughline estimate --model Llama-3.1-70B --system H100_SXM --tp 8 --engine vllm --concurrency 64 --fitted fitted.json`,
		Args: oneArgument("a table of measured runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.flags.read()
			got, others, err := fitServing(cmd.Context(), args[0], q, document.Join(err, o.out.check(append(q.Files(), args[0], q.Against)...)))
			if err != nil {
				return err
			}
			content, err := got.File.Write()
			if err == nil {
				err = writeFiles(cmd.Context(), s, report.Bytes(o.out.name, content))
			}
			if err != nil {
				return err
			}
			if o.json {
				return failed(report.WriteObject(s.data, map[string]any{"fitted": got.File, "runs": got.Rows, "against": others}))
			}
			return write(s.Out, report.Fitted(o.view.of(s), got, others))
		},
	}
	o.flags = addSettings(cmd, question.CalibrateServing)
	addOutputs(cmd, "calibrate serving", map[string]any{"output": &o.out, "force": &o.force, "json": &o.json, "markdown": &o.view.markdown, "wide": &o.view.wide})
	return cmd
}

// fitServing reads the runs to fit, and others to predict with the fit.
func fitServing(ctx context.Context, name string, q question.Question, wrong error) (*validate.Fitted, []validate.FitRow, error) {
	errs := []error{wrong}
	open := func(name string) io.ReadCloser {
		f, err := runs.Open(files.Machine, name)
		if err != nil {
			errs = append(errs, err)
			return io.NopCloser(nil)
		}
		return f
	}
	measured := open(name)
	defer measured.Close()
	others := io.NopCloser(nil)
	if q.Against != "" {
		others = open(q.Against)
		defer others.Close()
	}
	if err := document.Join(errs...); err != nil {
		return nil, nil, err
	}
	got, err := validate.FitServing(ctx, name, measured, q)
	if err != nil || q.Against == "" {
		return got, nil, err
	}
	rows, err := got.Against(ctx, q.Against, others, q)
	return got, rows, err
}
