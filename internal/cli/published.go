package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/question"
	"throughline/internal/validate"
)

func newValidatePublished(s Streams) *cobra.Command {
	var show validation
	var flags *settings
	var metrics []string
	for i := range validate.Metrics {
		metrics = append(metrics, validate.Metrics[i].Name)
	}
	cmd := &cobra.Command{
		Use:   "published FILE.csv",
		Short: "Predict figures that others have published",
		Long: `Published predicts figures that others have printed, one in each row. Columns:

  source, url, model, hardware, num_gpus, parallelism (tp8, or dp8 ep8), precision, isl,
  osl, concurrency_or_batch, metric, value, unit, evidence, notes

and every setting of estimate: engine, cache, context, memory_share, drafts, ... A batch is
that of a data-parallel rank. What a row cannot say in these columns is no question; why,
it may say in unpredictable. Rates are of all GPUs (tok/s), of each (tok/s/GPU) or of a
node (tok/s/node), times in s, ms or us. Metrics:

  ` + strings.Join(metrics, "\n  ") + `

Throughputs of prefill and decode are those of bare steps. --out writes the table with
predicted, error_percent and reason.`,
		Example: "  throughline validate published figures.csv --worst 10 --out predicted.csv",
		Args:    oneArgument("a table of published figures"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := show.read(flags)
			if err != nil {
				return err
			}
			f, err := show.open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			r, err := validate.Published(cmd.Context(), args[0], f, q)
			if err != nil {
				return err
			}
			return show.report(cmd.Context(), s, r)
		},
	}
	flags = addSettings(cmd, question.Published)
	show.flags(cmd, "validate published")
	return cmd
}
