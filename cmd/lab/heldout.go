package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/lab"
	"throughline/internal/report"
	"throughline/internal/table"
	"throughline/number"
)

func newHeldOut() *cobra.Command {
	cmd := &cobra.Command{Use: "heldout", Short: "Judge predictions of serving runs by what was held out"}
	cmd.AddCommand(newHeldOutServing(), newOnePoint(), newRules())
	return cmd
}

func newHeldOutServing() *cobra.Command {
	var by, out string
	var markdown bool
	cmd := &cobra.Command{
		Use:   "serving TABLE.csv...",
		Short: "Choose again without a part of the runs, and judge by that part",
		Long: `Serving leaves out one part of the runs of public tables after the other: a model behind
an engine, a source, a system, a model or a version. What is chosen by runs is chosen
again on the others, the constants of engines and whether they are there at all, and the
part is predicted with that. Errors stand beside those of the program as built. --out
writes every run with both predictions. It takes minutes.`,
		Example: "  go run ./cmd/lab heldout serving ../shared/measurements/silicon/serving.csv --by pair --out heldout.csv",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			parting := slices.IndexFunc(lab.Partings, func(p lab.Parting) bool { return p.Name == by })
			if parting < 0 {
				return fmt.Errorf("--by: no part %q: %s", by, partingWords())
			}
			tables, err := imported(cmd.Context(), args)
			if err != nil {
				return err
			}
			h, err := lab.HeldOut(cmd.Context(), &lab.Partings[parting], tables...)
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), heldTables(h, table.View{Markdown: markdown}))
			if out == "" {
				return nil
			}
			return report.WriteFiles(cmd.Context(), report.File{Name: out, Write: h.WriteCSV})
		},
	}
	cmd.Flags().StringVar(&by, "by", "pair", "what is left out together: "+partingWords())
	cmd.Flags().StringVarP(&out, "out", "o", "", "write every run with both predictions to this file")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown tables")
	return cmd
}

// heldTables are how targets are kept, and what all runs choose.
func heldTables(h *lab.Held, view table.View) string {
	return fmt.Sprintf("%s\n\n%s\n", table.Of(keptColumns, h.Kept()).Render(view), table.Of(chosenColumns, h.Chosen).Render(view))
}

// partingWords list what can be left out.
func partingWords() string {
	var out []string
	for _, p := range lab.Partings {
		out = append(out, p.Name+" ("+p.Doc+")")
	}
	return strings.Join(out, ", ")
}

func newOnePoint() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "one-run TABLE.csv",
		Short: "What one measured run of a deployment tells of its others",
		Long: `One-run fits every deployment of a public table to its run at mid concurrency, as
"throughline calibrate serving" does, and prints the errors on its other runs.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := lab.Import(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			r, err := t.OnePoint(cmd.Context())
			if err == nil {
				fmt.Fprint(cmd.OutOrStdout(), table.Of(onePointColumns, r.Rows).Render(table.View{Markdown: markdown}), "\n", onePointNotes(r))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown tables")
	return cmd
}

func newRules() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "rules TABLE.csv...",
		Short: "What each number of engines is worth to the runs of each source",
		Long: `Rules takes one number of the engines away after the other, and prints the median error
of the figures that it moves, with and without it, by source of the runs.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tables, err := imported(cmd.Context(), args)
			if err != nil {
				return err
			}
			rows, err := lab.Rules(cmd.Context(), tables...)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), table.Of(ruleColumns, rows).Render(table.View{Markdown: markdown}))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown tables")
	return cmd
}

func imported(ctx context.Context, names []string) (out []*lab.Table, err error) {
	for _, name := range names {
		t, err := lab.Import(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

var ruleColumns = []table.Column[*lab.RuleRow]{
	{Title: "number", Once: true, Value: func(r *lab.RuleRow) any { return r.Rule }},
	{Title: "runs of", Value: func(r *lab.RuleRow) any { return r.Source }},
	{Title: "figures", Kind: table.Count, Value: func(r *lab.RuleRow) any { return r.Runs }},
	{Title: "with it", Kind: table.Number, Format: "%.1f%%", Value: func(r *lab.RuleRow) any { return r.With }},
	{Title: "without", Kind: table.Number, Format: "%.1f%%", Value: func(r *lab.RuleRow) any { return r.Without }},
}

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
	{Title: "fitted to", Once: true, Value: func(r *lab.OnePointRow) any { return r.Fitted }},
	{Title: "other runs", Value: func(r *lab.OnePointRow) any { return r.Others }},
	{Title: "rows", Kind: table.Count, Value: func(r *lab.OnePointRow) any { return r.Rows }},
	{Title: "TPOT", Kind: table.Number, Format: "%.1f%%", Value: func(r *lab.OnePointRow) any { return r.TPOT }},
	{Title: "TTFT", Kind: table.Number, Format: "%.1f%%", Value: func(r *lab.OnePointRow) any { return r.TTFT }},
}

// onePointNotes say how that was found.
func onePointNotes(r *lab.OnePointReport) string {
	return fmt.Sprintf("\nMedians of the absolute error on the other runs of %d deployments, %d runs in all, each fitted to its run at mid concurrency. "+
		"How far a number may move was chosen without the pair of model and engine that it is judged on, of %d pairs. "+
		"Inside the bands of a fitted deployment lie %.0f%% of TPOT and %.0f%% of TTFT; %d and %d runs are further off than without the fit by more than their band was.\n\n"+
		"All runs would choose %s; calibrate serving takes %s (scales as logarithms, the first token in seconds; in brackets the share that is left at other lengths).\n",
		r.Deployments, r.Runs, r.Pairs, 100*r.Inside[1], 100*r.Inside[0], r.Worse[1], r.Worse[0], r.Chosen, r.BuiltIn)
}
