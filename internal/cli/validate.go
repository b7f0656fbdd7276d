package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/runs"
	"throughline/internal/table"
	"throughline/internal/validate"
)

func newValidate(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate ops|forward|steps|serving|published|requests|power|energy|golden FILE|DIR",
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
  energy     joules per output token of serving runs whose batches were kept full
  golden     answers of an earlier version, and what has moved them since`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for i := range validations {
		cmd.AddCommand(newValidateTable(s, &validations[i]))
	}
	cmd.AddCommand(newValidateRequests(s), newValidateGolden(s))
	return cmd
}

// validatedTable is a kind of table of measurements.
type validatedTable struct {
	name, files string // as the command line has them
	short, long string
	example     string // behind the command
	unit        string // of its figures
	of          question.Command
	// predict is nil for kernels.
	predict  func(context.Context, string, io.Reader, question.Question) (*validate.Report, error)
	onSystem bool // all rows are of one system
	runs     bool // the table may be a result file
}

var validations = []validatedTable{
	{name: "ops", files: "FILE.csv", short: "Predict measured kernels", example: "ops.csv --system H200 --out predicted.csv",
		unit: "µs", of: question.Ops, onSystem: true},
	{name: "forward", files: "FILE.csv", short: "Predict measured forward passes", example: "forward.csv --system H200 --out predicted.csv",
		unit: "ms", of: question.Forward, predict: validate.Forward, onSystem: true},
	{name: "steps", files: "FILE.csv", short: "Predict measured steps of serving engines", example: "steps.csv --out predicted.csv",
		unit: "ms", of: question.Steps, predict: validate.Steps,
		long: `Steps predicts every row of a table of single steps of serving engines, as their hosts
time them: from the schedule of a step to its results, with no other step under way.
Columns:

  model, chip, gpus, engine, tp, dp, ep, precision (as weights, or with "(checkpoint)"
  behind it: as published), phase (prefill or decode), sequences_per_rank,
  new_tokens_per_rank, kv_tokens_per_rank, time_ms

Sequences and tokens are those of the busiest data-parallel rank; sequences share the
tokens of a row evenly. --out writes the table with predicted_ms, error_percent and, for
a row that cannot be predicted, its reason.`},
	{name: "serving", files: "FILE.csv|RESULTS.jsonl", short: "Predict measured serving runs",
		example: "serving.csv --out predicted.csv",
		unit:    "ms", of: question.Serving, predict: validate.Serving, runs: true,
		long: `Serving predicts the mean time to first token (TTFT) and time per output token (TPOT) of
every row of a table of serving runs: aggregated (mode agg), or with separate prefill and
decode servers (disagg). Percentiles (ttft_p99_ms, ...), times of whole requests and
rates are predicted where a row has them, all by a simulation of the requests. Columns:

  model, system, engine (vllm, sglang, trtllm; none: the best; vllm@0.9: an earlier
  version), weights (none: as published), mode, isl, osl, lengths, concurrency or rate,
  num_prompts, gpus, drafts, ttft_ms, tpot_ms and every other setting of estimate,
  agg:    tp, pp, dp, ep, moe_tp
  disagg: workers and the same sizes, with prefill_ and decode_ in front

All clients start at once. Each sends a request, waits for its end and sends the next, ten
in all where num_prompts does not say. Lengths are fixed unless the column lengths or
--lengths says how they are spread. TTFT is that of a benchmark on a server that has just
started (ttft_kind cold), or, of requests at a rate, of one that has been serving
(steady). A row or figure that cannot be predicted has a reason.

Result files of throughline bench, matrix, sglang.bench_serving, vLLM's bench serve,
aiperf, genai-perf and InferenceX are read as well; --deployment says what they are of.
Their lengths are those of the file: fixed, unless it says how they are spread.`},
	{name: "published", files: "FILE.csv", short: "Predict figures that others have published", example: "figures.csv --worst 10 --out predicted.csv",
		of: question.Published, predict: validate.Published,
		long: `Published predicts figures that others have printed, one in each row. Columns:

  source, url, model, hardware, num_gpus, parallelism (tp8, or dp8 ep8), precision, isl,
  osl, concurrency_or_batch, metric, value, unit, evidence, notes

and every setting of estimate: engine, cache, context, memory_share, drafts, ... A batch is
that of a data-parallel rank. A row with a text in unpredictable is not predicted, for that
reason. Rates are of all GPUs (tok/s), of each (tok/s/GPU) or of a node (tok/s/node),
times in s, ms or us. Metrics:

  ` + strings.Join(validate.MetricNames(), "\n  ") + `

Throughputs of prefill and decode are those of bare steps. --out writes the table with
predicted, error_percent and reason.`},
	{name: "power", files: "FILE.csv", short: "Predict measured time and energy under power limits", example: "power.csv --system H200 --out predicted.csv",
		unit: "µs, J and W", of: question.Power, predict: validate.Power, onSystem: true,
		long: `Power predicts time, joules and watts of every row of a table of loads that ran over and
over on one GPU, by the block "power" of its system. Columns:

  kind, dtype, params, flops, bytes, time_us, joules, limit_w (empty: that of the system)

Kinds are those of kernels (gemm m,n,k; attn_prefill, attn_decode b,s,hq,hk,d; copy,
read, silu_mul, host_to_device by their bytes), prefill and decode (model, b sequences of
s tokens; a model called NAME-tp8-rank is one rank of a group) and idle (state=before:
at rest; state=after: clocks still up). data=zeros multiplies zeros, where=cache moves
nothing through memory; duty=0.5 rests half of the time: its joules are those of the
row's own time. --out writes the table with predicted_time_us, predicted_joules,
predicted_watts and, for a row that cannot be predicted, its reason.`},
	{name: "energy", files: "FILE.csv", short: "Predict measured energy of serving runs", example: "energy.csv --out predicted.csv",
		unit: "J and W", of: question.Joules, predict: validate.Energy,
		long: `Energy predicts joules per output token and watts per GPU of serving runs whose batches
were kept full, as those of ML.ENERGY. Columns:

  model, system, num_gpus, task, osl_mean, max_batch, joules_per_output_token
  and, where there are such: avg_batch, isl, precision (default bf16), framework, version,
  tp, dp, ep, pp, avg_power_w_per_gpu

` + table.View{Width: proseWidth}.Wrap("Without isl, prompts have a length that is assumed for the task: "+validate.EnergyPrompts()+
			" tokens. --out writes the table with predicted_joules_per_output_token, predicted_watts_per_gpu and, for a row that cannot be predicted, its reason.")},
}

// proseWidth is that of the texts of help.
const proseWidth = 88

func newValidateTable(s Streams, t *validatedTable) *cobra.Command {
	show := validation{unit: t.unit, runs: t.runs}
	var flags *settings
	cmd := &cobra.Command{
		Use:     t.name + " " + t.files,
		Short:   t.short,
		Long:    t.long,
		Example: "  throughline validate " + t.name + " " + t.example,
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := show.read(flags)
			if err != nil {
				return err
			}
			if t.onSystem {
				q.System = show.system(s, q.System)
			}
			f, err := show.open(args[0], q.System, q.Distribution)
			if err != nil {
				return err
			}
			defer f.Close()
			r, err := t.report(cmd.Context(), s, args[0], f, q)
			if err != nil {
				return err
			}
			return show.report(cmd.Context(), s, r)
		},
	}
	flags = addSettings(cmd, t.of)
	show.flags(cmd, "validate "+t.name)
	return cmd
}

// report predicts a table. Kernels alone are priced on a system without a model.
func (t *validatedTable) report(ctx context.Context, s Streams, name string, f io.Reader, q question.Question) (*validate.Report, error) {
	if t.predict != nil {
		return t.predict(ctx, name, f, q)
	}
	sys, _, err := readSystem(s, q.System)
	if err != nil {
		return nil, err
	}
	return validate.Ops(ctx, name, f, sys)
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

// system is the one that a flag names or, without, the one that was measured most.
func (v *validation) system(s Streams, name string) string {
	if name != "" {
		return name
	}
	fmt.Fprintf(s.Err, "predicting for %s; --system names another system\n", measuredSystem)
	return measuredSystem
}

// open opens the table once the answer is known to be showable; others are further input files.
func (v *validation) open(name string, others ...string) (io.ReadCloser, error) {
	if err := v.planCharts(append(others, name)...); err != nil {
		return nil, err
	}
	v.table = name
	if v.runs {
		return runs.Open(files.Machine, name)
	}
	return openTable(name)
}

// openTable opens a CSV table, plain or compressed.
func openTable(name string) (io.ReadCloser, error) {
	f, err := csvfile.Open(files.Machine, name)
	if err != nil {
		return nil, document.Unreadable(files.Machine, name, err)
	}
	return f, nil
}

// readInput reads a file whose text fits into memory.
func readInput(name string) ([]byte, error) {
	src, err := document.ReadFile(files.Machine, name)
	if err != nil {
		return nil, document.Unreadable(files.Machine, name, err)
	}
	return src, nil
}

func (v *validation) planCharts(inputs ...string) (err error) {
	v.sheet, err = v.charts.plan(inputs, nil, &v.out)
	return err
}

func (v *validation) report(ctx context.Context, s Streams, r *validate.Report) error {
	if len(v.by) > 0 {
		if err := r.Regroup(v.by); err != nil {
			return ofFlag("by", err)
		}
	}
	if err := writeFiles(ctx, s, report.File{Name: v.out.name, Write: r.WriteCSV}); err != nil {
		return err
	}
	if err := writeCharts(ctx, s, v.sheet, picture.MeasuredKinds, picture.Measured{Name: filepath.Base(v.table), Unit: v.unit, Report: r}); err != nil {
		return err
	}
	text := v.render(s, r.SummaryTable(), r.GainTable(), r.CoverageTable()) + v.wrap(s, reasons(r))
	if v.worst > 0 {
		text += "\n" + v.render(s, r.MissTable(v.worst))
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

// render draws the tables that have rows, with a line between them.
func (v *validation) render(s Streams, tables ...table.Any) string {
	view := v.view.of(s)
	view.Markdown = v.markdown
	var parts []string
	for _, t := range tables {
		if t.Len() > 0 {
			parts = append(parts, t.Render(view)+"\n")
		}
	}
	return strings.Join(parts, "\n")
}

// wrap breaks lines that do not fit the terminal.
func (v *validation) wrap(s Streams, lines string) string {
	if v.markdown {
		return lines
	}
	return v.view.of(s).Wrap(lines)
}
