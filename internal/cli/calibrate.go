package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/measurement"
	"throughline/internal/question"
	"throughline/internal/report"
)

type calibration struct {
	system string
	files  []string
	out    output
	view   viewOptions
	force  bool
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

"throughline calibrate serving" starts from measured runs of a deployment instead,
"throughline calibrate power" from measured energy.`,
		Example: "  throughline calibrate --system H200 --measurements ops.csv -o my_h200.json",
		Args:    onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := flags.read()
			c.system, c.files = q.System, question.Words(q.Measurements)
			if err := document.Join(err, c.check()); err != nil {
				return err
			}
			return c.run(cmd.Context(), s)
		},
	}
	cmd.AddCommand(newCalibrateServing(s), newCalibratePower(s))
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

// run fits the system, writes it and prints the errors.
func (c *calibration) run(ctx context.Context, s Streams) error {
	sys, src, err := readSystem(s, c.system)
	if err != nil {
		return err
	}
	rows, err := c.rows(s)
	if err != nil {
		return err
	}
	set := kernel.Set{System: sys.Name, Peaks: sys.Peaks(), Source: fmt.Sprintf("fitted to %d rows of %s", len(rows), tableNames(c.files))}
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
	if err := writeFiles(ctx, s, report.Bytes(c.out.name, content)); err != nil {
		return err
	}
	return write(s.Out, report.Calibration(c.view.of(s), results)+"\n")
}

// rows reads all tables and drops rows that contradict each other.
func (c *calibration) rows(s Streams) ([]measurement.Row, error) {
	var rows []measurement.Row
	for _, f := range c.files {
		t, err := measurement.ReadFile(files.Machine, f)
		if err != nil {
			return nil, document.Unreadable(files.Machine, f, err)
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
