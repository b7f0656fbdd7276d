package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/assume"
	"throughline/engine"
	"throughline/hardware"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/report"
	"throughline/internal/scenario"
	"throughline/model"
	"throughline/plan"
)

// estimateOptions are the flags of the estimate command.
type estimateOptions struct {
	point  point.Point
	from   string
	points string
	output output
	json   bool
}

func newEstimate(s Streams) *cobra.Command {
	o := estimateOptions{point: point.Default()}
	cmd := &cobra.Command{
		Use:   "estimate --model MODEL --system SYSTEM",
		Short: "Estimate one deployment that the flags fix, or a table of them",
		Long: `Estimate tells how one deployment does: nothing is searched, the flags fix
everything. It shows what clients see in a closed loop that fills the batches (time to
the first token, time per output token, throughput), and the steps behind it: what the
memory holds and where the time goes. A deployment that does not fit is estimated all
the same, with a warning. --phase shows bare steps alone. --prefill-plan, --decode-plan
or --decode-system make two pools; --from plan.json#1 takes the first row of what
throughline plan --json wrote, #f2 the second of its frontier.

With --points it reads a CSV table, a deployment in each row. Columns are named like
the flags; those that are absent, and empty cells, are as the flags say. Every row
comes back with its results as soon as it is read, to standard output or to the file
after -o, which appears when it is complete:

  served_by, clients, ttft_ms, tpot_ms, step_ms, tokens_per_s, requests_per_s,
  memory_gib, fits, bound, confidence, error_band_percent, reason

A row that makes no sense has only a reason. A row with a phase is a bare step. A column
whose name starts with # is carried along.

Exit codes: 0 done; 1 no row has an estimate; 2 the input has problems; 3 the results
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
				return errors.New("-o is for the table of --points")
			}
			answer, err := estimatePoint(cmd, s, &o.point, o.from)
			if err != nil {
				return err
			}
			if o.json {
				err = report.WriteObject(s.data, report.PointJSON(answer))
			} else {
				err = report.WritePoint(s.Out, answer)
			}
			if err != nil {
				return systemError{err}
			}
			return nil
		},
	}
	pointFlags(cmd, &o.point)
	f := cmd.Flags()
	addFrom(cmd, &o.from)
	f.StringVar(&o.points, "points", "", "CSV table of points; - reads standard input")
	o.output.flags(cmd, "output", "o", "file of the results of --points, instead of standard output")
	f.BoolVar(&o.json, "json", false, "print one JSON object instead of a table")
	return cmd
}

// pointFlags defines a flag for each setting of a point.
func pointFlags(cmd *cobra.Command, p *point.Point) {
	f := cmd.Flags()
	f.SortFlags = false
	for _, field := range point.Fields() {
		switch ref := field.Ref(p).(type) {
		case *string:
			f.StringVar(ref, field.Name, *ref, field.Doc)
		case *int:
			f.IntVar(ref, field.Name, *ref, field.Doc)
		case *float64:
			f.Float64Var(ref, field.Name, *ref, field.Doc)
		case *bool:
			f.BoolVar(ref, field.Name, *ref, field.Doc)
		}
	}
	complete(cmd, "model", model.Catalogue.Names())
	complete(cmd, "system", hardware.Catalogue.Names())
	complete(cmd, "decode-system", hardware.Catalogue.Names())
	complete(cmd, "phase", point.PhaseNames())
	complete(cmd, "engine", engine.Names())
	complete(cmd, "overlap", plan.OverlapNames())
	complete(cmd, "assume", assume.Presets())
	for _, name := range []string{"weights", "activations", "cache", "comm", "attention", "vector"} {
		complete(cmd, name, scenario.FormatNames())
	}
}

// complete offers words for a flag; a file may take their place.
func complete(cmd *cobra.Command, flag string, words []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveDefault
	})
	if err != nil {
		panic(err) // the flag does not exist
	}
}

// estimatePoint estimates the point of the flags, and warns of what does not fit.
func estimatePoint(cmd *cobra.Command, s Streams, p *point.Point, from string) (*point.Answer, error) {
	errs := given(cmd, p)
	if err := takeFrom(cmd, p, from); err != nil {
		errs = append(errs, err)
		if p.Model == "" {
			return nil, document.Join(errs...)
		}
	}
	estimator := point.NewEstimator()
	answer, err := estimator.Answer(p)
	warn(s, estimator.Warnings(p))
	if err := document.Join(append(errs, err)...); err != nil {
		return nil, point.Once(err)
	}
	if answer.Remark != "" {
		fmt.Fprintln(s.Err, "warning:", answer.Remark)
	}
	for i := range answer.Phases {
		if why := answer.Phases[i].TooMuch(); why != "" {
			fmt.Fprintln(s.Err, "warning:", why)
		}
	}
	return answer, nil
}

// given checks the numbers that flags give: 0 is not one that follows from the others.
func given(cmd *cobra.Command, p *point.Point) []error {
	var errs []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if field, ok := point.Lookup(f.Name); ok {
			if err := field.Check(p); err != nil {
				errs = append(errs, err)
			}
		}
	})
	return errs
}

// estimatePoints estimates a table of points.
func estimatePoints(cmd *cobra.Command, s Streams, o estimateOptions) error {
	errs := given(cmd, &o.point)
	if o.from != "" {
		errs = append(errs, errors.New("--from is one row of a plan, --points a table of deployments: give one of them"))
	}
	if o.json {
		errs = append(errs, errors.New("--points writes CSV: --json has no place there"))
	}
	in, file := s.In, "/dev/stdin"
	if o.points != "-" {
		file = o.points
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
	if err := o.output.check(file, o.point.Model, o.point.System, o.point.Distribution); err != nil {
		errs = append(errs, err)
	}
	if err := document.Join(errs...); err != nil {
		return err
	}
	tally, err := streamTo(cmd.Context(), s, o.output.name, in, &o.point)
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
func streamTo(ctx context.Context, s Streams, output string, in io.Reader, p *point.Point) (tally point.Tally, err error) {
	if output == "" {
		return point.Stream(ctx, in, s.data, p)
	}
	var streaming error
	err = report.WriteFiles(ctx, report.File{Name: output, Write: func(w io.Writer) error {
		tally, streaming = point.Stream(ctx, in, w, p)
		return streaming
	}})
	if err != nil && streaming == nil {
		err = point.WriteError{Err: err}
	}
	return tally, err
}

func tallied(t point.Tally) string {
	text := fmt.Sprintf("%d points", t.Rows)
	if t.Rows == 1 {
		text = "1 point"
	}
	if t.Bad > 0 {
		text += fmt.Sprintf(", %d without an estimate (see the column reason)", t.Bad)
	}
	return strings.TrimSpace(text)
}
