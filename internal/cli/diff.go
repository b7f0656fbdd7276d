package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/difference"
	"throughline/internal/files"
	"throughline/internal/report"
	"throughline/internal/table"
)

func newDiff(s Streams) *cobra.Command {
	var asJSON, asCSV bool
	var view viewOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two deployments, two systems or two files of results",
		Long: `Diff puts two answers side by side, figure by figure, and says why one is better.

  plan.json#1       a row that "throughline plan --json" wrote; #f2 is the second of its
                    frontier. It is estimated again: the plan, what clients see, the time
                    of the steps by class of operators, memory, and what of the time of a
                    GPU each class takes for an output token
  'model=M&…'       a deployment, as the settings of "throughline explain" that are
                    written as parameters: model=Llama-3.1-8B&system=H200&tp=2
  H200              a system, by its name or file
  results.json      any other results as JSON, figure by figure
  results.csv       a table, whose rows are told by their first cells
  results.csv#3     one of its rows; the same of lines in results.jsonl

The change is from A to B. A terminal shows what differs; --csv and --json have all.`,
		Example: `  throughline diff plan.json#1 plan.json#3
  throughline diff H100_SXM H200
  throughline diff 'model=Llama-3.1-8B&system=H200&batch=8' 'model=Llama-3.1-8B&system=H200&batch=8&tp=2'
  throughline diff plan.json#1 plan.json#f2 --csv > diff.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("diff takes two things to compare, rows of plans (plan.json#1), deployments, systems or files of results; there are %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return withPrefix(begun, hardware.Catalogue.Names()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := difference.Of(files.Machine, args[0], args[1])
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				err = report.WriteObject(s.data, d)
			case asCSV:
				err = d.Table().Write(s.data, table.CSV)
			default:
				err = write(s.Out, d.Text(view.of(s)))
			}
			return failed(err)
		},
	}
	addOutputs(cmd, "diff", map[string]any{"json": &asJSON, "csv": &asCSV, "wide": &view.wide})
	return cmd
}
