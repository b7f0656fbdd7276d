package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/runs"
	"throughline/internal/validate"
	"throughline/number"
)

func newValidate(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate ops|forward|steps|serving|published|requests|power|energy FILE|DIR",
		Short: "Compare predictions with measurements",
		Long: `Validate predicts every row of a table of measurements. It prints the mean, median and
worst error by group and, by what predictions rest on, how often their bands hold the
truth, and writes the table with its predictions (--out). Bias is the
median error with its sign.

  ops        kernels: kind,dtype,params,flops,bytes,time_us, or any other table that
             "throughline calibrate" reads; plain or .gz
  forward    whole forward passes: kind,model,params,time_ms. kind is prefill or decode;
             params are b (sequences), s (tokens, or the context of a decode step) and tp
             (one rank of a tensor-parallel group, without its collectives)
  steps      single steps of a serving engine, timed by its host: model, chip, layout,
             precision, phase, sequences, new and cached tokens of a rank
  serving    runs of a serving engine: model, system, engine, precision, lengths,
             concurrency and parallel sizes, with the TTFT and TPOT of clients
  published  figures that others have printed: throughput, parts of a layer, exchanges
  requests   recorded runs of an engine, every request and step of them, in a folder
  power      time and energy of kernels and forward passes under power limits: kind, dtype,
             params, flops, bytes, time_us, joules, limit_w
  energy     joules per output token of serving runs whose batches were kept full`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newValidateOps(s), newValidateForward(s), newValidateSteps(s), newValidateServing(s), newValidatePublished(s), newValidateRequests(s), newValidatePower(s), newValidateEnergy(s))
	return cmd
}

func newValidateOps(s Streams) *cobra.Command {
	show := validation{unit: "µs", measuredOn: measuredSystem}
	var flags *settings
	cmd := &cobra.Command{
		Use:     "ops FILE.csv",
		Short:   "Predict measured kernels",
		Example: "  throughline validate ops ops.csv --system H200 --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show.predict(cmd.Context(), s, flags, args[0], func(ctx context.Context, name string, src io.Reader, q question.Question) (*validate.Report, error) {
				sys, _, err := readSystem(s, q.System)
				if err != nil {
					return nil, err
				}
				return validate.Ops(ctx, name, src, sys)
			})
		},
	}
	flags = addSettings(cmd, question.Ops)
	show.flags(cmd, "validate ops")
	return cmd
}

func newValidateForward(s Streams) *cobra.Command {
	show := validation{unit: "ms", measuredOn: measuredSystem}
	var flags *settings
	cmd := &cobra.Command{
		Use:     "forward FILE.csv",
		Short:   "Predict measured forward passes",
		Example: "  throughline validate forward forward.csv --system H200 --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show.predict(cmd.Context(), s, flags, args[0], validate.Forward)
		},
	}
	flags = addSettings(cmd, question.Forward)
	show.flags(cmd, "validate forward")
	return cmd
}

func newValidateSteps(s Streams) *cobra.Command {
	show := validation{unit: "ms"}
	var flags *settings
	cmd := &cobra.Command{
		Use:   "steps FILE.csv",
		Short: "Predict measured steps of serving engines",
		Long: `Steps predicts every row of a table of single steps of serving engines, as their hosts
time them: from the schedule of a step to its results, with no other step under way.
Columns:

  model, chip, gpus, engine, tp, dp, ep, precision (as weights, or with "(checkpoint)"
  behind it: as published), phase (prefill or decode), sequences_per_rank,
  new_tokens_per_rank, kv_tokens_per_rank, time_ms

Sequences and tokens are those of the busiest data-parallel rank; sequences share the
tokens of a row evenly. --out writes the table with predicted_ms, error_percent and, for
a row that cannot be predicted, its reason.`,
		Example: "  throughline validate steps steps.csv --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show.predict(cmd.Context(), s, flags, args[0], validate.Steps)
		},
	}
	flags = addSettings(cmd, question.Steps)
	show.flags(cmd, "validate steps")
	return cmd
}

func newValidateServing(s Streams) *cobra.Command {
	show := validation{unit: "ms", runs: true}
	var flags *settings
	cmd := &cobra.Command{
		Use:   "serving FILE.csv|RESULTS.jsonl",
		Short: "Predict measured serving runs",
		Long: `Serving predicts the mean time to first token (TTFT) and time per output token (TPOT) of
every row of a table of serving runs: aggregated (mode agg), or with separate prefill and
decode servers (disagg). Percentiles (ttft_p99_ms, ...), times of whole requests and
rates are predicted where a row has them. Means are those of the closed form, with
--by-simulation those of a simulation of all requests; percentiles, and runs at a request
rate, always are simulated. Columns:

  model, system, engine (vllm, sglang, trtllm; none: the best; vllm@0.9: an earlier
  version), weights (none: as published), mode, isl, osl, lengths, concurrency or rate,
  num_prompts, gpus, drafts, ttft_ms, tpot_ms and every other setting of estimate,
  agg:    tp, pp, dp, ep, moe_tp
  disagg: workers and the same sizes, with prefill_ and decode_ in front

All clients start at once. Each sends a request, waits for its end and sends the next, ten
in all where num_prompts does not say. Lengths are fixed unless the column lengths or
--lengths says how they are spread. A row or figure that cannot be predicted has a reason.

Result files of throughline bench, matrix, sglang.bench_serving, vLLM's bench serve,
aiperf, genai-perf and InferenceX are read as well; --deployment says what they are of.
Their lengths are those of the file: fixed, unless it says how they are spread.`,
		Example: `  throughline validate serving serving.csv --out predicted.csv
  throughline validate serving serving.csv --by-simulation`,
		Args: oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show.predict(cmd.Context(), s, flags, args[0], validate.Serving)
		},
	}
	flags = addSettings(cmd, question.Serving)
	show.flags(cmd, "validate serving")
	return cmd
}

// validation is how predictions against measurements are shown.
type validation struct {
	out      output
	by       []string
	worst    int
	markdown bool
	view     viewOptions
	charts   charts
	sheet    *sheet
	table    string // that is read
	unit     string // of its figures
	runs     bool   // the table may be a result file
	// measuredOn is the system of tables that name none, unless a flag does; empty: rows name it.
	measuredOn string
}

func (v *validation) flags(cmd *cobra.Command, path string) {
	addOutputs(cmd, path, v.charts.with(path, map[string]any{"out": &v.out, "markdown": &v.markdown, "wide": &v.view.wide}))
}

// read is what the flags ask, of which this shows a part.
func (v *validation) read(flags *settings) (question.Question, error) {
	q, err := flags.read()
	v.by, v.worst = question.Words(q.By), q.Worst
	return q, err
}

// measuredSystem is the system that most of this project was measured on.
const measuredSystem = "H200"

// predict predicts the rows of a table and reports them.
func (v *validation) predict(ctx context.Context, s Streams, flags *settings, name string, predicted func(context.Context, string, io.Reader, question.Question) (*validate.Report, error)) error {
	q, err := v.read(flags)
	if err != nil {
		return err
	}
	if q.System == "" && v.measuredOn != "" {
		q.System = v.measuredOn
		fmt.Fprintf(s.Err, "predicting for %s; --system names another system\n", q.System)
	}
	f, err := v.open(name, q.System, q.Distribution)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := predicted(ctx, name, f, q)
	if err != nil {
		return err
	}
	return v.report(ctx, s, r)
}

// open opens the table once the answer is known to be showable; others are further input files.
func (v *validation) open(name string, others ...string) (io.ReadCloser, error) {
	if err := v.planCharts(append(others, name)...); err != nil {
		return nil, err
	}
	v.table = name
	if v.runs {
		return runs.Open(name)
	}
	f, err := csvfile.Open(name)
	if err != nil {
		return nil, document.Unreadable(name, err)
	}
	return f, nil
}

// planCharts reads the flags of charts.
func (v *validation) planCharts(inputs ...string) (err error) {
	v.sheet, err = v.charts.plan(inputs, nil, &v.out)
	return err
}

// report prints the errors by group and writes the table.
func (v *validation) report(ctx context.Context, s Streams, r *validate.Report) error {
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
	text := v.render(s, summaryTable(r)) + v.gains(s, r)
	if samples := r.Samples(); len(samples) > 0 {
		text += "\n" + v.render(s, coverageTable(samples))
	}
	text += v.wrap(s, reasons(r))
	if v.worst > 0 {
		text += "\n" + v.render(s, missTable(r, v.worst))
	}
	if err := write(s.Out, text); err != nil {
		return err
	}
	if r.Predicted() == 0 {
		return exitError{exitNoPlan}
	}
	return nil
}

// gains are what drafts do to runs that were made with and without them.
func (v *validation) gains(s Streams, r *validate.Report) string {
	list := r.DraftGains()
	if len(list) == 0 {
		return ""
	}
	g := &report.Grid{Columns: []report.Column{{Title: "runs with and without drafts"}, {Title: "gain"}, {Title: "predicted"}, {Title: "error"}}}
	add := func(name string, measured, predicted float64) {
		g.Row(name, number.Plain(measured, 3), number.Plain(predicted, 3), signed(100*(predicted/measured-1)))
	}
	for _, pair := range list {
		add(pair.Name, pair.Measured, pair.Predicted)
	}
	g.Separator()
	measured, predicted := validate.MedianGain(list)
	add(fmt.Sprintf("median of %d", len(list)), measured, predicted)
	return "\n" + v.render(s, g)
}

// reasons are why rows have no prediction, the most frequent ones.
func reasons(r *validate.Report) string {
	const most = 5
	all := r.Reasons()
	var b strings.Builder
	if len(all) > 0 && len(r.Figures) > 1 {
		fmt.Fprintf(&b, "- answered: %d of %d rows\n", r.Answered(), len(r.Rows))
	}
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

// render draws a table.
func (v *validation) render(s Streams, g *report.Grid) string {
	if v.markdown {
		return g.Markdown() + "\n"
	}
	return g.Render(v.view.of(s)) + "\n"
}

// wrap breaks lines that do not fit the terminal.
func (v *validation) wrap(s Streams, lines string) string {
	if v.markdown {
		return lines
	}
	return v.view.of(s).Wrap(lines)
}

// summaryTable is the errors by group.
func summaryTable(r *validate.Report) *report.Grid {
	g := &report.Grid{Columns: []report.Column{
		{Title: "group"}, {Title: "figure"}, {Title: "rows", Right: true}, {Title: "not predicted", Right: true, Rank: 3}, {Title: "mean"},
		{Title: "median", Rank: 1}, {Title: "bias", Rank: 1}, {Title: "worst", Rank: 2}, {Title: "worst row", Rank: 4},
	}}
	several := len(r.Figures) > 1
	if !several {
		g.Columns = slices.Delete(g.Columns, 1, 2)
	}
	add := func(list []validate.Summary) {
		for _, sum := range list {
			row := []string{sum.Group}
			if several {
				row = append(row, sum.Figure)
			}
			row = append(row, strconv.Itoa(sum.Rows), strconv.Itoa(sum.Unpredicted))
			if sum.Rows > 0 {
				row = append(row, percent(sum.Mean), percent(sum.Median), signed(sum.Bias), signed(sum.Worst), sum.WorstRow)
			}
			g.Row(row...)
		}
	}
	add(r.Summaries())
	if several {
		g.Separator()
		add(r.Totals())
	}
	return g
}

// coverageTable is how often the truth lies in the bands of predictions.
func coverageTable(samples []validate.Sample) *report.Grid {
	g := &report.Grid{Columns: []report.Column{
		{Title: "band of"}, {Title: "confidence"}, {Title: "rows", Right: true}, {Title: "inside"},
		{Title: "narrowest third", Rank: 2}, {Title: "middle", Rank: 2}, {Title: "widest", Rank: 2}, {Title: "median band", Rank: 1},
	}}
	for _, c := range validate.Covered(samples) {
		g.Row(c.Cells()...)
	}
	return g
}

// missTable is the rows that are furthest off.
func missTable(r *validate.Report, n int) *report.Grid {
	g := &report.Grid{Columns: []report.Column{{Title: "furthest off in", Rank: 1}, {Title: "row"}, {Title: "figure"}, {Title: "measured"}, {Title: "predicted"}, {Title: "error"}}}
	several := len(r.Figures) > 1
	if !several {
		g.Columns = slices.Delete(g.Columns, 2, 3)
	}
	for _, m := range r.Misses(n) {
		row := []string{m.Group, m.Row}
		if several {
			row = append(row, m.Figure)
		}
		g.Row(append(row, number.Plain(m.Measured, 4), number.Plain(m.Predicted, 4), signed(100*m.Error()))...)
	}
	return g
}

func signed(v float64) string { return fmt.Sprintf("%+.1f%%", v) }

func percent(v float64) string { return fmt.Sprintf("%.1f%%", v) }
