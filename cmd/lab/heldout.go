package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/lab"
	"throughline/internal/table"
	"throughline/number"
)

func newHeldOut() *cobra.Command {
	var folds int
	var onePoint, markdown bool
	cmd := &cobra.Command{
		Use:   "heldout TABLE.csv",
		Short: "Judge predictions of serving runs by what was held out",
		Long: `Heldout prints the median errors of the runs of a public table whose model, system and
engine were held out when the constants of engines were chosen, in some folds, and the
constants that all runs choose. With --from-one-point it fits every deployment to its run
at mid concurrency, and prints the errors on its other runs.`,
		Example: "  go run ./cmd/lab heldout ../shared/measurements/silicon/serving.csv --folds 5",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := lab.Import(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			view := table.View{Markdown: markdown}
			if onePoint {
				r, err := t.OnePoint(cmd.Context())
				if err == nil {
					fmt.Fprint(cmd.OutOrStdout(), table.Of(onePointColumns, r.Rows).Render(view), "\n", onePointNotes(r))
				}
				return err
			}
			kept, chosen, err := t.HeldOut(cmd.Context(), folds)
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s\n", table.Of(keptColumns, kept).Render(view), table.Of(chosenColumns, chosen).Render(view))
			}
			return err
		},
	}
	cmd.Flags().IntVar(&folds, "folds", 5, "parts that groups of runs are cut into")
	cmd.Flags().BoolVar(&onePoint, "from-one-point", false, "what one measured run of a deployment tells of the others")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown tables")
	return cmd
}

// keptColumns are how the targets are kept.
var keptColumns = func() (out []table.Column[*lab.Kept]) {
	for i, title := range lab.KeptColumns {
		out = append(out, table.Column[*lab.Kept]{Title: title, Left: true, Cell: func(k *lab.Kept) string { return k.Cells()[i] }})
	}
	return out
}()

// chosenColumns are the constants of engines, as they are and as all runs choose them.
var chosenColumns = []table.Column[*lab.Chosen]{
	{Title: "engine", Value: func(c *lab.Chosen) any { return c.Engine }},
	{Title: "constant", Value: func(c *lab.Chosen) any { return c.Name }},
	{Title: "built in", Kind: table.Number, Cell: func(c *lab.Chosen) string { return milliseconds(c.BuiltIn) }},
	{Title: "by these runs", Kind: table.Number, Cell: func(c *lab.Chosen) string { return milliseconds(c.Runs) }},
}

func milliseconds(seconds float64) string { return number.Plain(1e3*seconds, 3) + " ms" }

// onePointColumns are what one measured run of each deployment tells of its others.
var onePointColumns = []table.Column[*lab.OnePointRow]{
	{Title: "fitted to one run", Once: true, Value: func(r *lab.OnePointRow) any { return r.Fitted }},
	{Title: "other runs", Value: func(r *lab.OnePointRow) any { return r.Others }},
	{Title: "rows", Kind: table.Count, Value: func(r *lab.OnePointRow) any { return r.Rows }},
	{Title: "TPOT", Kind: table.Number, Format: "%.1f%%", Value: func(r *lab.OnePointRow) any { return r.TPOT }},
	{Title: "TTFT", Kind: table.Number, Format: "%.1f%%", Value: func(r *lab.OnePointRow) any { return r.TTFT }},
}

// onePointNotes say how that was found.
func onePointNotes(r *lab.OnePointReport) string {
	return fmt.Sprintf("\nMedians of the absolute error on the other runs of %d deployments, %d runs in all, each fitted to its run at mid concurrency. "+
		"How far a number may move was chosen on other models, systems and engines than it is judged on; on all of them that would be "+
		"(scales as logarithms, the first token in seconds; in brackets the share that is left at other lengths):\n- %s\n\n"+
		"calibrate serving takes: %s\n", r.Deployments, r.Runs, strings.Join(r.Chosen, "\n- "), r.BuiltIn)
}
