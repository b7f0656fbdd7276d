package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/document"
	"throughline/internal/measurement"
	"throughline/internal/question"
	"throughline/internal/report"
)

// calibration is the flags of the calibrate command.
type calibration struct {
	system    string
	files     []string
	sustained float64
	out       output
	force     bool
}

func newCalibrate(s Streams) *cobra.Command {
	var c calibration
	var flags *settings
	cmd := &cobra.Command{
		Use:   "calibrate --system SYSTEM --measurements FILE... -o OUT",
		Short: "Fit a system to measured kernels",
		Long: `Calibrate fits kernel models to tables of measured kernels and writes a system file
with them. It reads the tables that measure/measure.py writes, and per-operator tables
of other projects. Some of those tell their shapes by their paths, such as
.../mha/decode/h20/32-8-128.csv.

It reports the errors before and after: on the rows that were fitted, and on whole
shapes that were held out. Rows that contradict each other are named and left out.`,
		Example: "  throughline calibrate --system H200 --measurements ops.csv --sustained 0.9 -o my_h200.json",
		Args:    onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := flags.read()
			c.system, c.files, c.sustained = q.System, question.Words(q.Measurements), q.Sustained
			if err := document.Join(err, c.check()); err != nil {
				return err
			}
			return c.run(cmd.Context(), s)
		},
	}
	flags = addSettings(cmd, question.Calibrate)
	addOutputs(cmd, "calibrate", map[string]any{"output": &c.out, "force": &c.force})
	return cmd
}

func (c *calibration) check() error {
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{{"--system", c.system == ""}, {"--measurements", len(c.files) == 0}, {"-o", c.out.name == ""}} {
		if f.missing {
			errs = append(errs, fmt.Errorf("%s is missing", f.name))
		}
	}
	return document.Join(append(errs, c.out.check(append(c.files, c.system)...))...)
}

// run fits the system, writes it and shows the errors.
func (c *calibration) run(ctx context.Context, s Streams) error {
	sys, src, err := readSystem(s, c.system)
	if err != nil {
		return err
	}
	rows, err := c.rows(s)
	if err != nil {
		return err
	}
	set := kernel.Set{System: sys.Name, Peaks: sys.Peaks(), Sustained: c.sustained, Source: fmt.Sprintf("fitted to %d rows of %s", len(rows), tableNames(c.files))}
	results, uncovered := calibrate.Classes(rows, sys, &set)
	if uncovered > 0 {
		fmt.Fprintf(s.Err, "%d rows are of kernels that no model covers\n", uncovered)
	}
	if len(results) == 0 {
		return errors.New("no row could be fitted")
	}
	if sys.Kernels != nil {
		set.Fill(sys.Kernels)
		if before := sys.Kernels.Source; strings.HasPrefix(before, set.Source) {
			set.Source = before // calibrated with the same tables again
		} else if before != "" {
			set.Source += "; what that lacks was there before: " + before
		}
	}
	content, err := hardware.WithKernels(src, &set)
	if err != nil {
		return err
	}
	if err := report.WriteFiles(ctx, report.Bytes(c.out.name, content)); err != nil {
		return systemError{err}
	}
	fmt.Fprintln(s.Err, "wrote", c.out.name)
	return write(s.Out, calibrationTable(results)+"\n")
}

// rows are those of all tables, without those that contradict each other.
func (c *calibration) rows(s Streams) ([]measurement.Row, error) {
	var rows []measurement.Row
	for _, f := range c.files {
		t, err := measurement.ReadFile(f)
		if err != nil {
			return nil, document.Unreadable(f, err)
		}
		for _, p := range t.Problems {
			fmt.Fprintln(s.Err, "left out:", p)
		}
		rows = append(rows, t.Rows...)
	}
	kept, conflicts := calibrate.Clean(rows)
	for _, conflict := range conflicts {
		fmt.Fprintln(s.Err, "left out, contradicting:", conflict)
	}
	return kept, nil
}

func tableNames(files []string) string {
	var out []string
	for _, f := range files {
		out = append(out, measurement.Name(f))
	}
	return strings.Join(out, ", ")
}

// calibrationTable shows the errors before and after.
func calibrationTable(results []calibrate.Result) string {
	t := newTable("kernel", "type", "rows", "left out", "before", "fitted", "held out", "median", "worst", "largest")
	percent := func(v float64) string { return fmt.Sprintf("%.1f%%", v) }
	for _, r := range results {
		name := r.Class
		if r.Kernel != "" {
			name += " (" + r.Kernel + ")"
		}
		row := table.Row{name, r.Type, r.Fitted.Rows, r.Below + r.Short, percent(r.Before.Mean), percent(r.Fitted.Mean)}
		if r.Shapes.Rows == 0 { // all rows are of one shape
			row = append(row, "–", "–", "–")
		} else {
			row = append(row, percent(r.Shapes.Mean), percent(r.Shapes.Median), percent(r.Shapes.Worst))
		}
		t.AppendRow(append(row, percent(r.Largest.Mean)))
	}
	return t.Render() + "\nmean absolute errors; before: the roofline at 0.8 of the peaks; held out: on shapes that the fit did not see; largest: on the largest sizes;\nleft out: rows faster than the peaks of the system allow, or shorter than a tile"
}
