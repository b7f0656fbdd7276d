package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
)

// estimateOptions are the flags of the estimate command.
type estimateOptions struct {
	flags  *settings
	output output
	json   bool
	force  bool
	files  pointFiles
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

Exit codes: 0 done; 1 no row has an estimate; 2 problems in the input; 3 the results
could not be written.`,
		Example: `  throughline estimate --model llama_3_8b --system H200 --batch 32
  throughline estimate --model qwen3_32b_flash --system H100_SXM --tp 4 --weights fp8 --phase decode --context 8192
  throughline estimate --model deepseek_v3_flash_mla_absorb --system H200 --dp 16 --batch 64 --weights fp8 --json
  throughline estimate --model llama_3_8b --system H200 --points points.csv -o results.csv`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("points") {
				return estimatePoints(cmd, s, o)
			}
			if o.output.name != "" {
				return errors.New("-o works with --points only")
			}
			q, err := ask(o.flags)
			answer, err := answerPoint(s, o.flags, &q, document.Join(err, o.files.check(q.Files())))
			if err != nil {
				return err
			}
			files, err := o.files.of(answer)
			if err == nil {
				err = writeAll(cmd.Context(), s, files)
			}
			if err != nil {
				return err
			}
			if o.json {
				err = report.WriteObject(s.data, report.PointJSON(answer))
			} else {
				err = report.WritePoint(s.Out, viewOptions{}.of(s), answer)
			}
			if err != nil {
				return systemError{err}
			}
			return nil
		},
	}
	o.flags = addSettings(cmd, question.Estimate)
	addOutputs(cmd, "estimate", o.files.with(map[string]any{"json": &o.json, "output": &o.output, "force": &o.force}))
	return cmd
}

// ask is the question of the flags, and of the row of a plan where one is given.
func ask(flags *settings) (question.Question, error) {
	q, err := flags.read()
	if q.From == "" {
		return q, err
	}
	return q, document.Join(err, q.TakeRow(q.From, flags.given))
}

// answerPoint answers a question that fixes a deployment, and warns of what does not fit.
func answerPoint(s Streams, flags *settings, q *question.Question, asked error) (*point.Answer, error) {
	if asked != nil && q.Model == "" {
		return nil, asked
	}
	estimator := point.NewEstimator()
	answer, err := estimator.Answer(q)
	warn(s, estimator.Warnings(q))
	if err := document.Join(asked, err); err != nil {
		return nil, question.Once(err)
	}
	flags.note(s, answer.Phases[0].Loaded)
	if flags.given("vector") && sameWithout(estimator, answer, q) {
		fmt.Fprintf(s.Err, "note: --vector has no effect: no operator of these steps waits for the vector unit\n")
	}
	if answer.Remark != "" {
		fmt.Fprintln(s.Err, "warning:", answer.Remark)
	}
	warnOfMemory(s, answer)
	return answer, nil
}

// sameWithout reports whether steps take as long with the usual number format of the vector unit.
func sameWithout(estimator *point.Estimator, answer *point.Answer, q *question.Question) bool {
	usual := *q
	usual.Formats.Vector = ""
	without, err := estimator.Answer(&usual)
	if err != nil || answer.Record().Precision.VectorType == without.Record().Precision.VectorType {
		return false
	}
	for i := range answer.Phases {
		if answer.Phases[i].Estimate.StepTime != without.Phases[i].Estimate.StepTime {
			return false
		}
	}
	return true
}

// warnOfMemory tells which steps do not fit.
func warnOfMemory(s Streams, answer *point.Answer) {
	for _, side := range answer.Record().Sides {
		if side != nil && side.TooMuch() != "" {
			fmt.Fprintln(s.Err, "warning:", side.TooMuch())
		}
	}
}

// estimatePoints estimates a table of points.
func estimatePoints(cmd *cobra.Command, s Streams, o estimateOptions) error {
	q, err := o.flags.read()
	errs := []error{err}
	if q.From != "" {
		errs = append(errs, q.Check(question.Estimate)) // of the other settings, rows have their own
	}
	if o.files.asked() {
		errs = append(errs, errors.New("--trace-out and --op-details are of one deployment: they do not work with --points"))
	}
	if o.json {
		errs = append(errs, errors.New("--points writes CSV; --json does not work with it"))
	}
	in, file := s.In, "/dev/stdin"
	if q.Points != "-" {
		file = q.Points
		f, err := csvfile.Open(file)
		switch info, statErr := os.Stat(file); {
		case err != nil:
			errs = append(errs, document.Unreadable(file, err))
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
	fmt.Fprintln(s.Err, tallied(tally))
	if tally.Rows > 0 && tally.Bad == tally.Rows {
		return exitError{exitNoPlan}
	}
	return nil
}

// streamTo writes the results to a file, or to standard output.
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

func tallied(t point.Tally) string {
	text := fmt.Sprintf("%d rows", t.Rows)
	if t.Rows == 1 {
		text = "1 row"
	}
	if t.Bad > 0 {
		text += fmt.Sprintf(", %d without an estimate (see the column reason)", t.Bad)
	}
	return strings.TrimSpace(text)
}
