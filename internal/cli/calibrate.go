package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	view      viewOptions
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
shapes that were held out. Rows that contradict each other are named and left out.

"throughline calibrate serving" starts from measured runs of a deployment instead.`,
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
	cmd.AddCommand(newCalibrateServing(s))
	flags = addSettings(cmd, question.Calibrate)
	addOutputs(cmd, "calibrate", map[string]any{"output": &c.out, "force": &c.force, "wide": &c.view.wide})
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
	return write(s.Out, calibrationTable(c.view.of(s), results)+"\n")
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

// calibrationNotes say what the columns are.
const calibrationNotes = `mean absolute errors; before: the roofline at 0.8 of the peaks; held out: on shapes that the fit did not see, with their median and worst; largest: on the largest sizes
left out: rows faster than the peaks of the system allow, or shorter than a tile`

// calibrationTable shows the errors before and after.
func calibrationTable(v report.View, results []calibrate.Result) string {
	g := report.Grid{Columns: []report.Column{
		{Title: "kernel"}, {Title: "type", Rank: 1}, {Title: "rows", Right: true}, {Title: "left out", Right: true, Rank: 3}, {Title: "before", Right: true, Rank: 1},
		{Title: "fitted", Right: true}, {Title: "held out", Right: true}, {Title: "median", Right: true, Rank: 4}, {Title: "worst", Right: true, Rank: 2},
		{Title: "largest", Right: true, Rank: 3},
	}}
	for _, r := range results {
		name := r.Class
		if r.Kernel != "" {
			name += " (" + r.Kernel + ")"
		}
		held := []string{"–", "–", "–"} // all rows are of one shape
		if r.Shapes.Rows > 0 {
			held = []string{percent(r.Shapes.Mean), percent(r.Shapes.Median), percent(r.Shapes.Worst)}
		}
		g.Row(append(append([]string{name, r.Type, strconv.Itoa(r.Fitted.Rows), strconv.Itoa(r.Below + r.Short), percent(r.Before.Mean), percent(r.Fitted.Mean)}, held...), percent(r.Largest.Mean))...)
	}
	return g.Render(v) + "\n" + v.Wrap(calibrationNotes)
}
