package cli

import (
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/point"
	"throughline/report"
	"throughline/validate"
)

func newValidate(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate ops|forward FILE.csv",
		Short: "Predict what was measured, and show how far off the predictions are",
		Long: `Validate predicts every row of a table of measurements, prints mean, median and worst
error by group, and writes the table with its predictions (--out).

  ops      kernels: kind,dtype,params,flops,bytes,time_us
  forward  whole forward passes: kind,model,params,time_ms; kind is prefill or decode,
           params are b (sequences), s (tokens, or the context of a decode step) and for
           one rank of a group without its collectives tp`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newValidateOps(s), newValidateForward(s))
	return cmd
}

func newValidateOps(s Streams) *cobra.Command {
	var system, out string
	cmd := &cobra.Command{
		Use:     "ops FILE.csv",
		Short:   "Predict measured kernels",
		Example: "  throughline validate ops ops.csv --system H200 --out predicted.csv",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			sys, _, err := readSystem(s, system)
			if err != nil {
				return err
			}
			f, err := os.Open(args[0])
			if err != nil {
				return document.Unreadable(args[0], err)
			}
			defer f.Close()
			r, err := validate.Ops(args[0], f, sys)
			if err != nil {
				return err
			}
			return showValidation(s, r, out)
		},
	}
	cmd.Flags().StringVarP(&system, "system", "s", "", "system: a built-in name or a file (required)")
	cmd.Flags().StringVar(&out, "out", "", "file for the table with its predictions")
	return cmd
}

func newValidateForward(s Streams) *cobra.Command {
	var out string
	p := point.Default()
	cmd := &cobra.Command{
		Use:     "forward FILE.csv",
		Short:   "Predict measured forward passes",
		Example: "  throughline validate forward forward.csv --system H200 --out predicted.csv",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if p.System == "" {
				return fmt.Errorf("--system is missing: a system file, or a built-in name (throughline systems lists them)")
			}
			f, err := os.Open(args[0])
			if err != nil {
				return document.Unreadable(args[0], err)
			}
			defer f.Close()
			r, err := validate.Forward(args[0], f, p)
			if err != nil {
				return err
			}
			return showValidation(s, r, out)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&p.System, "system", "s", "", "system: a built-in name or a file (required)")
	f.StringVar(&p.Formats.Weights, "weights", "", "number format of the weights (default bf16)")
	f.StringVar(&p.Formats.Cache, "cache", "", "of the KV cache (default bf16)")
	f.StringVar(&p.Assume, "assume", p.Assume, "modelling assumptions")
	f.StringVar(&out, "out", "", "file for the table with its predictions")
	return cmd
}

// showValidation prints the errors by group and writes the table.
func showValidation(s Streams, r *validate.Report, out string) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"group", "rows", "not predicted", "mean", "median", "worst", "worst row"})
	for _, g := range r.Summaries() {
		row := table.Row{g.Group, g.Rows, g.Unpredicted, "", "", "", ""}
		if g.Rows > 0 {
			row[3], row[4], row[5], row[6] = fmt.Sprintf("%.1f%%", g.Mean), fmt.Sprintf("%.1f%%", g.Median), fmt.Sprintf("%+.1f%%", g.Worst), g.WorstRow
		}
		t.AppendRow(row)
	}
	if out != "" {
		if err := report.WriteFile(out, r.WriteCSV); err != nil {
			return systemError{err}
		}
		fmt.Fprintln(s.Err, "wrote", out)
	}
	_, err := fmt.Fprintln(s.Out, t.Render())
	return err
}
