package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/validate"
)

func newValidate(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate ops|forward|serving|published FILE.csv, validate requests DIR",
		Short: "Compare predictions with measurements",
		Long: `Validate predicts every row of a table of measurements. It prints the mean, median and
worst error by group, and writes the table with its predictions (--out). Bias is the
median error with its sign.

  ops      kernels: kind,dtype,params,flops,bytes,time_us, or any other table that
           "throughline calibrate" reads; plain or .gz
  forward  whole forward passes: kind,model,params,time_ms. kind is prefill or decode;
           params are b (sequences), s (tokens, or the context of a decode step) and tp
           (one rank of a tensor-parallel group, without its collectives)
  serving  runs of a serving engine: model, system, engine, precision, lengths,
           concurrency and parallel sizes, with the mean TTFT and TPOT of clients
  published  figures that others have printed: throughput, parts of a layer, exchanges
  requests   recorded runs of an engine, every request and step of them, in a folder`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newValidateOps(s), newValidateForward(s), newValidateServing(s), newValidatePublished(s), newValidateRequests(s))
	return cmd
}

func newValidateOps(s Streams) *cobra.Command {
	var system string
	show := validation{unit: "µs"}
	cmd := &cobra.Command{
		Use:     "ops FILE.csv",
		Short:   "Predict measured kernels",
		Example: "  throughline validate ops ops.csv --system H200 --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sys, _, err := readSystem(s, show.system(s, system))
			if err != nil {
				return err
			}
			f, err := show.open(args[0], system)
			if err != nil {
				return err
			}
			defer f.Close()
			r, err := validate.Ops(cmd.Context(), args[0], f, sys)
			if err != nil {
				return err
			}
			return show.report(cmd.Context(), s, r)
		},
	}
	cmd.Flags().StringVarP(&system, "system", "s", "", "system: a built-in name or a system file (default H200)")
	show.flags(cmd)
	return cmd
}

func newValidateForward(s Streams) *cobra.Command {
	show := validation{unit: "ms"}
	var flags *settings
	cmd := &cobra.Command{
		Use:     "forward FILE.csv",
		Short:   "Predict measured forward passes",
		Example: "  throughline validate forward forward.csv --system H200 --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := flags.read()
			if err != nil {
				return err
			}
			q.System = show.system(s, q.System)
			f, err := show.open(args[0], q.System)
			if err != nil {
				return err
			}
			defer f.Close()
			r, err := validate.Forward(cmd.Context(), args[0], f, q)
			if err != nil {
				return err
			}
			return show.report(cmd.Context(), s, r)
		},
	}
	flags = addSettings(cmd, question.Forward)
	show.flags(cmd)
	return cmd
}

func newValidateServing(s Streams) *cobra.Command {
	show := validation{unit: "ms"}
	var flags *settings
	cmd := &cobra.Command{
		Use:   "serving FILE.csv",
		Short: "Predict measured serving runs",
		Long: `Serving predicts the mean time to first token (TTFT) and time per output token (TPOT) of
every row of a table of serving runs: aggregated (mode agg), or with separate prefill and
decode servers (disagg). Columns:

  model_path, system, backend (vllm, sglang, trtllm), precision (empty: as published), mode,
  isl, osl, concurrency, num_gpus, silicon_ttft_ms, silicon_tpot_ms,
  agg:    tp_size, pp_size, attention_dp_size, moe_tp_size, moe_ep_size
  disagg: num_workers and the same sizes, with prefill_ and decode_ in front

All clients start at once. Each sends a request, waits for its end and sends the next, ten
in all. The distribution of lengths follows from the lengths: uniform:0.8 for the three
shapes of InferenceX (1024/1024, 1024/8192, 8192/1024), lognormal:0.5 for lengths in
hundreds, else fixed. --lengths overrides it. A row or figure that cannot be predicted
has a reason.`,
		Example: "  throughline validate serving serving.csv --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := flags.read()
			if err != nil {
				return err
			}
			f, err := show.open(args[0], q.System, q.Distribution)
			if err != nil {
				return err
			}
			defer f.Close()
			r, err := validate.Serving(cmd.Context(), args[0], f, q)
			if err != nil {
				return err
			}
			return show.report(cmd.Context(), s, r)
		},
	}
	flags = addSettings(cmd, question.Serving)
	show.flags(cmd)
	return cmd
}

// validation is how predictions against measurements are shown.
type validation struct {
	out      output
	by       []string
	worst    int
	markdown bool
	width    int // of the terminal; 0: none
	charts   charts
	sheet    *sheet
	table    string // that is read
	unit     string // of its figures
}

func (v *validation) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	v.out.flags(cmd, "out", "", "write the table with its predictions to this file")
	f.StringSliceVar(&v.by, "by", nil, "group by these columns of the table")
	f.IntVar(&v.worst, "worst", 0, "list this many rows with the largest errors")
	f.BoolVar(&v.markdown, "markdown", false, "print tables as Markdown")
	v.charts.flags(cmd, picture.Names(picture.MeasuredKinds), false)
}

// system is the one that a flag names or, without, the one that most of this project was measured on.
func (v *validation) system(s Streams, name string) string {
	if name != "" {
		return name
	}
	fmt.Fprintln(s.Err, "predicting for H200; --system names another system")
	return "H200"
}

// open opens the table, once it is clear that the answer can be shown. The others are files that are read besides.
func (v *validation) open(name string, others ...string) (io.ReadCloser, error) {
	if v.worst < 0 {
		return nil, fmt.Errorf("--worst must be at least 0, not %d", v.worst)
	}
	if err := v.out.check(append(others, name)...); err != nil {
		return nil, err
	}
	if err := v.planCharts(append(others, name)...); err != nil {
		return nil, err
	}
	v.table = name
	f, err := csvfile.Open(name)
	if err != nil {
		return nil, document.Unreadable(name, err)
	}
	return f, nil
}

// planCharts reads the flags of charts.
func (v *validation) planCharts(inputs ...string) (err error) {
	v.sheet, err = v.charts.plan(inputs, nil)
	for _, d := range v.sheet.drawings {
		err = document.Join(err, (&output{flag: "--chart", name: d.file}).unlike(&v.out))
	}
	return err
}

// report prints the errors by group and writes the table.
func (v *validation) report(ctx context.Context, s Streams, r *validate.Report) error {
	v.width = s.Width
	if len(v.by) > 0 {
		if err := r.Regroup(v.by); err != nil {
			return ofFlag("by", err)
		}
	}
	if v.out.name != "" {
		if err := report.WriteFiles(ctx, report.File{Name: v.out.name, Write: r.WriteCSV}); err != nil {
			return systemError{err}
		}
		fmt.Fprintln(s.Err, "wrote", v.out.name)
	}
	if err := drawSome(ctx, s, v.sheet, picture.MeasuredKinds, picture.Measured{Name: filepath.Base(v.table), Unit: v.unit, Report: r}); err != nil {
		return err
	}
	text := v.render(summaryTable(r)) + reasons(r)
	if v.worst > 0 {
		text += "\n" + v.render(missTable(r, v.worst))
	}
	if err := write(s.Out, text); err != nil {
		return err
	}
	if r.Predicted() == 0 {
		return exitError{exitNoPlan}
	}
	return nil
}

// reasons are why rows have no prediction, the most frequent ones.
func reasons(r *validate.Report) string {
	const most = 5
	all := r.Reasons()
	var b strings.Builder
	for i, reason := range all {
		if i == most {
			fmt.Fprintf(&b, "- and %d more reasons; --out writes each row with its own\n", len(all)-most)
			break
		}
		fmt.Fprintf(&b, "- not predicted, %d: %s\n", reason.Rows, reason.Text)
	}
	if b.Len() > 0 {
		return "\n" + b.String()
	}
	return ""
}

// render draws a table; on a terminal rows that are too long are cut at their ends, which name the worst rows.
func (v *validation) render(t table.Writer) string {
	if v.markdown {
		return t.RenderMarkdown() + "\n"
	}
	t.Style().Size.WidthMax = v.width
	return t.Render() + "\n"
}

// summaryTable is the errors by group.
func summaryTable(r *validate.Report) table.Writer {
	header := []any{"group", "rows", "not predicted", "mean", "median", "bias", "worst", "worst row"}
	several := len(r.Figures) > 1
	if several {
		header = slices.Insert(header, 1, any("figure"))
	}
	t := newTable(header...)
	add := func(list []validate.Summary) {
		for _, g := range list {
			row := table.Row{g.Group}
			if several {
				row = append(row, g.Figure)
			}
			row = append(row, g.Rows, g.Unpredicted)
			if g.Rows > 0 {
				row = append(row, percent(g.Mean), percent(g.Median), signed(g.Bias), signed(g.Worst), g.WorstRow)
			}
			t.AppendRow(row)
		}
	}
	add(r.Summaries())
	if several {
		t.AppendSeparator()
		add(r.Totals())
	}
	return t
}

// missTable is the rows that are furthest off.
func missTable(r *validate.Report, n int) table.Writer {
	header := []any{"furthest off in", "row", "measured", "predicted", "error"}
	several := len(r.Figures) > 1
	if several {
		header = slices.Insert(header, 2, any("figure"))
	}
	t := newTable(header...)
	for _, m := range r.Misses(n) {
		row := table.Row{m.Group, m.Row}
		if several {
			row = append(row, m.Figure)
		}
		t.AppendRow(append(row, fmt.Sprintf("%.4g", m.Measured), fmt.Sprintf("%.4g", m.Predicted), signed(100*m.Error())))
	}
	return t
}

func signed(v float64) string { return fmt.Sprintf("%+.1f%%", v) }

func percent(v float64) string { return fmt.Sprintf("%.1f%%", v) }
