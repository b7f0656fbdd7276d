package cli

import (
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
	"throughline/internal/report"
)

func newCalibrate(s Streams) *cobra.Command {
	var system string
	var out output
	var files []string
	var sustained float64
	cmd := &cobra.Command{
		Use:   "calibrate --system SYSTEM --measurements FILE... -o OUT",
		Short: "Fit a system to measured kernels",
		Long: `Calibrate fits models of kernels to tables of measurements (those that measure/measure.py
writes, or per-operator tables of other projects, of which some tell their shapes by
their paths, such as .../mha/decode/h20/32-8-128.csv), reports how far off they are before
and after, on the rows they were fitted to and on shapes that were held out as a whole,
and writes the system file with them. Rows that contradict each other are named and left
out.`,
		Example: "  throughline calibrate --system H200 --measurements ops.csv --sustained 0.9 -o my_h200.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var errs []error
			for _, f := range []struct {
				name    string
				missing bool
			}{{"--system", system == ""}, {"--measurements", len(files) == 0}, {"-o", out.name == ""}} {
				if f.missing {
					errs = append(errs, fmt.Errorf("%s is missing", f.name))
				}
			}
			if cmd.Flags().Changed("sustained") && !(sustained > 0 && sustained <= 1) {
				errs = append(errs, fmt.Errorf("--sustained must be greater than 0 and at most 1, not %g", sustained))
			}
			errs = append(errs, out.check(append(files, system)...))
			if err := errors.Join(errs...); err != nil {
				return err
			}
			sys, src, err := readSystem(s, system)
			if err != nil {
				return err
			}
			var rows []measurement.Row
			for _, f := range files {
				t, err := measurement.ReadFile(f)
				if err != nil {
					return document.Unreadable(f, err)
				}
				for _, p := range t.Problems {
					fmt.Fprintln(s.Err, "left out:", p)
				}
				rows = append(rows, t.Rows...)
			}
			kept, conflicts := calibrate.Clean(rows)
			for _, c := range conflicts {
				fmt.Fprintln(s.Err, "left out, contradicting:", c)
			}
			set := kernel.Set{System: sys.Name, Peaks: sys.Peaks(), Sustained: sustained, Source: fmt.Sprintf("fitted to %d rows of %s", len(kept), tableNames(files))}
			results, uncovered := calibrate.Classes(kept, sys, &set)
			if uncovered > 0 {
				fmt.Fprintf(s.Err, "%d rows are of kernels that no model covers\n", uncovered)
			}
			for _, r := range results {
				if r.Doubt != "" && r.Reason == "" {
					fmt.Fprintf(s.Err, "kept out: %s %s %s: %s\n", r.Class, r.Type, r.Kernel, r.Doubt)
				}
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
			if err := report.WriteFiles(cmd.Context(), report.Bytes(out.name, content)); err != nil {
				return systemError{err}
			}
			fmt.Fprintln(s.Err, "wrote", out.name)
			return write(s.Out, calibrationTable(results)+"\n")
		},
	}
	f := cmd.Flags()
	f.StringVarP(&system, "system", "s", "", "system to calibrate: a built-in name or a file (required)")
	f.StringSliceVar(&files, "measurements", nil, "tables of measured kernels, plain or .gz (required)")
	out.flags(cmd, "output", "o", "file of the calibrated system (required)")
	f.Float64Var(&sustained, "sustained", 0, "share of the rate of isolated kernels that a long prefill keeps up")
	return cmd
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
