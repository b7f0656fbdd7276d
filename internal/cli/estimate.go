package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"throughline"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/page"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
)

type estimateOptions struct {
	flags  *settings
	output output
	json   bool
	force  bool
	files  pointFiles
	charts charts
	out    output
}

func newEstimate(s Streams) *cobra.Command {
	var o estimateOptions
	cmd := &cobra.Command{
		Use:   "estimate --model MODEL --system SYSTEM",
		Short: "Estimate one deployment, or a table of deployments",
		Long: `Estimate predicts one deployment. It searches nothing: the flags say everything.

It shows what clients see when there are enough of them to fill the batches: time to
first token (TTFT), time per output token (TPOT) and throughput. Below that it shows the
prefill and the decode step: time, memory, and where the time goes. --phase shows the
steps alone. A deployment that does not fit in memory is estimated too, with a warning.

--prefill-plan, --decode-plan and --decode-system make two pools of GPUs. --from
plan.json#1 takes the first row that "throughline plan --json" wrote, #f2 the second row
of its frontier.

--points reads a CSV table with a deployment in each row. Columns have the names of the
flags. An absent column or an empty cell means what the flag says. Each row is answered
as soon as it is read, on standard output or in the file of -o, which appears when it is
complete. These columns are added:

  served_by, clients, ttft_ms, tpot_ms, step_ms, tokens_per_s, requests_per_s,
  memory_gib, fits, bound, confidence, error_band_percent, reason

A row that cannot be estimated has only a reason. A row with a phase is a bare step. A
column whose name starts with # is copied.

` + exitHelp(),
		Example: `  throughline estimate --model llama_3_8b --system H200 --batch 32
  throughline estimate --model qwen3_32b_flash --system H100_SXM --tp 4 --weights fp8 --phase decode --context 8192
  throughline estimate --model deepseek_v3_flash_mla_absorb --system H200 --dp 16 --batch 64 --weights fp8 --json
  throughline estimate --model llama_3_8b --system H200 --points points.csv -o results.csv`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("points") {
				return estimatePoints(cmd, s, o)
			}
			if err := o.nameChart(); err != nil {
				return err
			}
			if several, err := o.curve().several(cmd, s); several {
				return err
			}
			if o.charts.given() || o.out.name != "" {
				return errors.New("--chart and --out show several questions: give a setting several values, like --batch 1:64:x2, or --vary one")
			}
			got, err := throughline.Estimate(cmd.Context(), o.flags.words(), o.flags.checked(o.refuse))
			showRemarks(s, got.Remarks)
			if err != nil {
				return err
			}
			switch err := o.write(cmd.Context(), s, got.Answer); {
			case err != nil:
				return err
			case o.json:
				return failed(report.WriteObject(s.data, got))
			}
			return failed(report.WritePoint(s.Out, viewOptions{}.of(s), got.Answer))
		},
	}
	o.flags = addSettings(cmd, question.Estimate)
	addOutputs(cmd, "estimate", o.charts.with("estimate", o.files.with(map[string]any{"json": &o.json, "output": &o.output, "force": &o.force, "out": &o.out, "html": &o.charts.html})))
	return cmd
}

// nameChart gives a chart the file of -o.
func (o *estimateOptions) nameChart() error {
	if o.output.name != "" && !o.charts.given() {
		return errors.New("-o works with --points and --chart only")
	}
	o.charts.output = o.output
	return nil
}

func (o *estimateOptions) curve() *curve {
	return &curve{flags: o.flags, json: o.json, out: &o.out, charts: &o.charts, single: []string{"trace-out", "op-details"}}
}

func (o *estimateOptions) refuse(reads []string) error {
	_, err := o.charts.plan(reads, nil, o.files.all()...)
	return err
}

// write writes the requested files: trace, operators, report.
func (o *estimateOptions) write(ctx context.Context, s Streams, a *point.Answer) error {
	files := o.files.of(a)
	if o.charts.html.name != "" {
		answer, err := page.Estimated(a)
		if err != nil {
			return err
		}
		files = append(files, o.charts.page(func() *page.Page { return answer })...)
	}
	return writeFiles(ctx, s, files...)
}

func estimatePoints(cmd *cobra.Command, s Streams, o estimateOptions) error {
	q, err := o.flags.read()
	errs := []error{err}
	if q.From != "" {
		errs = append(errs, q.Check(question.Estimate)) // of the other settings, rows have their own
	}
	if o.files.any() || o.charts.html.name != "" {
		errs = append(errs, errors.New("--trace-out, --op-details and --html do not work with --points"))
	}
	if o.json {
		errs = append(errs, errors.New("--points writes CSV; --json does not work with it"))
	}
	in, file := s.In, "/dev/stdin"
	if q.Points != "-" {
		file = q.Points
		f, err := csvfile.Open(files.Machine, file)
		switch info, statErr := os.Stat(file); {
		case err != nil:
			errs = append(errs, document.Unreadable(files.Machine, file, err))
		case statErr == nil && info.IsDir():
			errs = append(errs, fmt.Errorf("%s: is a folder; name a file in it", file))
		}
		if f != nil {
			defer f.Close()
		}
		in = f
	}
	if err := o.output.check(append(q.Files(), file)...); err != nil {
		errs = append(errs, err)
	}
	if err := document.Join(errs...); err != nil {
		return err
	}
	tally, err := streamTo(cmd.Context(), s, o.output.name, in, &q)
	var writing point.WriteError
	switch {
	case errors.As(err, &writing):
		return systemError{err}
	case err != nil:
		return err
	}
	fmt.Fprintln(s.Err, tallyText(tally))
	if tally.Rows > 0 && tally.Bad == tally.Rows {
		return exitError{exitNoPlan}
	}
	return nil
}

func streamTo(ctx context.Context, s Streams, output string, in io.Reader, q *question.Question) (tally point.Tally, err error) {
	if output == "" {
		return point.Stream(ctx, in, s.data, q)
	}
	var streaming error
	err = report.WriteFiles(ctx, report.File{Name: output, Write: func(w io.Writer) error {
		tally, streaming = point.Stream(ctx, in, w, q)
		return streaming
	}})
	if err != nil && streaming == nil {
		err = point.WriteError{Err: err}
	}
	return tally, err
}

func tallyText(t point.Tally) string {
	text := fmt.Sprintf("%d rows", t.Rows)
	if t.Rows == 1 {
		text = "1 row"
	}
	if t.Bad > 0 {
		text += fmt.Sprintf(", %d without an estimate (see the column reason)", t.Bad)
	}
	return strings.TrimSpace(text)
}
