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
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/validate"
)

func newValidatePower(s Streams) *cobra.Command {
	show := validation{unit: "µs, J and W", measuredOn: measuredSystem}
	var flags *settings
	cmd := &cobra.Command{
		Use:   "power FILE.csv",
		Short: "Predict measured time and energy under power limits",
		Long: `Power predicts time, joules and watts of every row of a table of loads that ran over and
over on one GPU, by the block "power" of its system. Columns:

  kind, dtype, params, flops, bytes, time_us, joules, limit_w (empty: that of the system)

Kinds are those of kernels (gemm m,n,k; attn_prefill, attn_decode b,s,hq,hk,d; copy,
read, silu_mul, host_to_device by their bytes), prefill and decode (model, b sequences of
s tokens; a model called NAME-tp8-rank is one rank of a group) and idle (state=before:
at rest; state=after: clocks still up). data=zeros multiplies zeros, where=cache moves
nothing through memory; duty=0.5 rests half of the time: its joules are those of the
row's own time. --out writes the table with predicted_time_us, predicted_joules,
predicted_watts and, for a row that cannot be predicted, its reason.`,
		Example: "  throughline validate power power.csv --system H200 --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show.predict(cmd.Context(), s, flags, args[0], func(ctx context.Context, name string, src io.Reader, q question.Question) (*validate.Report, error) {
				sys, _, err := readSystem(s, q.System)
				if err != nil {
					return nil, err
				}
				return validate.Power(ctx, name, src, sys, q)
			})
		},
	}
	flags = addSettings(cmd, question.Power)
	show.flags(cmd, "validate power")
	return cmd
}

func newValidateEnergy(s Streams) *cobra.Command {
	show := validation{unit: "J and W"}
	var flags *settings
	cmd := &cobra.Command{
		Use:   "energy FILE.csv",
		Short: "Predict measured energy of serving runs",
		Long: `Energy predicts joules per output token and watts per GPU of serving runs whose batches
were kept full, as those of ML.ENERGY. Columns:

  model, system, num_gpus, task, osl_mean, max_batch, joules_per_output_token
  and, where there are such: avg_batch, isl, precision (default bf16), framework, version,
  tp, dp, ep, pp, avg_power_w_per_gpu

Without isl, prompts have a length that is assumed for the task: chat and lm-arena-chat
100 tokens, code 150, gpqa 300, sourcegraph-fim 1000, image-chat 1300, video-chat 5000,
others 300. --out writes the table with predicted_joules_per_output_token,
predicted_watts_per_gpu and, for a row that cannot be predicted, its reason.`,
		Example: "  throughline validate energy energy.csv --out predicted.csv",
		Args:    oneArgument("a table of measurements"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show.predict(cmd.Context(), s, flags, args[0], validate.Energy)
		},
	}
	flags = addSettings(cmd, question.Joules)
	show.flags(cmd, "validate energy")
	return cmd
}

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
			f, err := csvfile.Open(args[0])
			if err != nil {
				return document.Unreadable(args[0], err)
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

// writePower writes a system file with another block.
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
