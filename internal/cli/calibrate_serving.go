package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/validate"
	"throughline/number"
)

func newCalibrateServing(s Streams) *cobra.Command {
	var o struct {
		flags       *settings
		out         output
		force, json bool
		view        viewOptions
	}
	cmd := &cobra.Command{
		Use:   "serving RUNS.csv -o FITTED.json",
		Short: "Fit the predictions of a deployment to measured runs of it",
		Long: `Serving reads one measured run of a deployment or several, in the columns that
"throughline validate serving" reads (model, system, engine, tp, isl, osl, concurrency,
ttft_ms, tpot_ms, ...), and writes what they correct: a scale of the time of decoding,
one of the time of prompts, and a time before the first token. All commands that predict
take the file (--fitted).

One run does not tell all of them apart. Each is moved as far as the errors of
predictions usually go, and no further than the run supports: how far was chosen by
cross-validation ("throughline validate serving --from-one-point"). --correct names other
numbers: first-wave is what the first requests of all clients wait besides, for which
runs need a mean and a median of TTFT.`,
		Example: `  throughline calibrate serving runs.csv -o fitted.json
  throughline estimate --model Llama-3.1-70B --system H100_SXM --tp 8 --engine vllm --concurrency 64 --fitted fitted.json`,
		Args: oneArgument("a table of measured runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.flags.read()
			errs := []error{err}
			if o.out.name == "" {
				errs = append(errs, errors.New("-o is missing: the file for what the runs correct"))
			}
			errs = append(errs, o.out.check(append(q.Files(), args[0])...))
			f, err := csvfile.Open(args[0])
			if err != nil {
				errs = append(errs, document.Unreadable(args[0], err))
			}
			if err := document.Join(errs...); err != nil {
				return err
			}
			defer f.Close()
			got, err := validate.FitServing(cmd.Context(), args[0], f, q)
			if err != nil {
				return err
			}
			if err := writeFitted(cmd.Context(), s, o.out.name, got); err != nil {
				return err
			}
			if o.json {
				err = report.WriteObject(s.data, map[string]any{"fitted": got.File, "runs": got.Rows})
			} else {
				err = write(s.Out, fittedTable(o.view.of(s), got))
			}
			if err != nil {
				return systemError{err}
			}
			return nil
		},
	}
	o.flags = addSettings(cmd, question.CalibrateServing)
	addOutputs(cmd, "calibrate serving", map[string]any{"output": &o.out, "force": &o.force, "json": &o.json, "wide": &o.view.wide})
	return cmd
}

func writeFitted(ctx context.Context, s Streams, name string, got *validate.Fitted) error {
	content, err := got.File.Write()
	if err == nil {
		err = report.WriteFiles(ctx, report.Bytes(name, content))
	}
	if err != nil {
		return systemError{err}
	}
	fmt.Fprintln(s.Err, "wrote", name)
	return nil
}

// fittedTable shows what was fitted, and the runs before and after.
func fittedTable(v report.View, got *validate.Fitted) string {
	f := got.File
	g := report.Grid{Columns: []report.Column{
		{Title: "run"}, {Title: "figure"}, {Title: "measured", Right: true}, {Title: "before", Right: true}, {Title: "fitted", Right: true},
		{Title: "by the others", Right: true, Rank: 1},
	}}
	for i := range got.Rows {
		r := &got.Rows[i]
		others := ""
		if r.Others > 0 {
			others = signed(100 * (r.Others/r.Measured - 1))
		}
		g.Row(r.Run, r.Figure, number.Plain(r.Measured, 4)+" ms", signed(100*(r.Before/r.Measured-1)), signed(100*(r.After/r.Measured-1)), others)
	}
	out := v.Wrap(fmt.Sprintf("%s (%s) on %s, %s, %s: %s", f.Model, f.Weights, f.System, f.Plan, f.Engine, got.Fit.String())) + "\n\n" + g.Render(v) + "\n"
	if f.Runs > 1 {
		out += v.Wrap("by the others: predicted by a fit to the other runs") + "\n"
	}
	return out
}
