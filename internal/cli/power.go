package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/validate"
)

func newCalibratePower(s Streams) *cobra.Command {
	var o struct {
		flags *settings
		out   output
		force bool
		view  viewOptions
	}
	cmd := &cobra.Command{
		Use:   "power FILE.csv --system SYSTEM [-o OUT]",
		Short: "Fit the power of a system to measured time and energy",
		Long: `Power fits the block "power" of a system to a table of loads in the columns that
"throughline validate power" reads, and sm_mhz, the mean clock, where it is known. It
reports how far time and joules are off: on the rows that were fitted, and on shapes,
limits and kinds of loads that a fit has not seen. -o writes the system with the block.`,
		Example: "  throughline calibrate power power.csv --system H200 -o my_h200.json",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.flags.read()
			if q.System == "" {
				err = document.Join(err, errors.New("--system is missing"))
			}
			if err := document.Join(err, o.out.check(args[0], q.System)); err != nil {
				return err
			}
			fit, err := fitPower(cmd.Context(), s, args[0], q, o.out.name)
			if err != nil {
				return err
			}
			return write(s.Out, report.Power(o.view.of(s), fit))
		},
	}
	o.flags = addSettings(cmd, question.CalibratePower)
	addOutputs(cmd, "calibrate power", map[string]any{"output": &o.out, "force": &o.force, "markdown": &o.view.markdown, "wide": &o.view.wide})
	return cmd
}

// fitPower fits, writes the system into the file that is named, and tells which rows are left out.
func fitPower(ctx context.Context, s Streams, table string, q question.Question, out string) (*validate.PowerFit, error) {
	sys, src, err := readSystem(s, q.System)
	if err != nil {
		return nil, err
	}
	f, err := openTable(table)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fit, err := validate.FitPower(ctx, table, f, sys, q)
	if err != nil {
		return nil, err
	}
	for _, row := range fit.Left {
		fmt.Fprintln(s.Err, "left out:", row)
	}
	if out == "" {
		return fit, nil
	}
	content, err := hardware.WithPower(src, &fit.Power)
	if err != nil {
		return nil, err
	}
	return fit, writeFiles(ctx, s, report.Bytes(out, content))
}
