package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
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
			sys, src, err := readSystem(s, q.System)
			if err != nil {
				return err
			}
			f, err := csvfile.Open(files.Machine, args[0])
			if err != nil {
				return document.Unreadable(files.Machine, args[0], err)
			}
			defer f.Close()
			fit, err := fitPower(cmd.Context(), s, args[0], f, sys, q)
			if err != nil {
				return err
			}
			if err := writePower(cmd.Context(), s, o.out.name, src, fit); err != nil {
				return err
			}
			return write(s.Out, report.Power(o.view.of(s), fit))
		},
	}
	o.flags = addSettings(cmd, question.CalibratePower)
	addOutputs(cmd, "calibrate power", map[string]any{"output": &o.out, "force": &o.force, "markdown": &o.view.markdown, "wide": &o.view.wide})
	return cmd
}

// fitPower fits, and names the rows that are left out.
func fitPower(ctx context.Context, s Streams, name string, src io.Reader, sys *hardware.System, q question.Question) (*validate.PowerFit, error) {
	fit, err := validate.FitPower(ctx, name, src, sys, q)
	if err != nil {
		return nil, err
	}
	for _, row := range fit.Left {
		fmt.Fprintln(s.Err, "left out:", row)
	}
	return fit, nil
}

func writePower(ctx context.Context, s Streams, name string, src []byte, fit *validate.PowerFit) error {
	if name == "" {
		return nil
	}
	content, err := hardware.WithPower(src, &fit.Power)
	if err != nil {
		return err
	}
	if err := report.WriteFiles(ctx, report.Bytes(name, content)); err != nil {
		return systemError{err}
	}
	fmt.Fprintln(s.Err, "wrote", name)
	return nil
}
