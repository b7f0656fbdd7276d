package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/validate/published"
	"throughline/number"
)

func newValidatePublished(s Streams) *cobra.Command {
	var show validation
	var flags *settings
	cmd := &cobra.Command{
		Use:   "published [FILE.csv|FOLDER]...",
		Short: "Predict figures that others have published",
		Long: `Published predicts figures that others have printed. Columns:

  source, url, model, hardware, num_gpus, parallelism, precision, isl, osl,
  concurrency_or_batch, metric, value, unit, evidence, notes

What is done with a row follows by rule from these columns, but for the value:

  target        predicted and compared
  relation      a ratio of two figures: both are predicted
  breakdown     a part of a layer, side by side
  not compared  with the reason

Without FILE, the figures that are built in and those of --folder are read. Files in
another schema are skipped and named. --out writes the columns of the input with class,
predicted, error_percent and reason. Figures that somebody read off a chart (evidence
chart_read) count 3 points wider in "within".`,
		Example: "  throughline validate published --worst 10 --out predicted.csv",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := show.read(flags)
			if err := document.Join(err, show.planCharts(args...)); err != nil {
				return err
			}
			if len(args) > 0 && flags.given("folder") {
				fmt.Fprintln(s.Err, "note: --folder has no effect: files are named")
			}
			folder := q.Folder
			var t published.Table
			if len(args) == 0 {
				if err := t.BuiltIn(cmd.Context()); err != nil {
					return err
				}
				if folder != "" {
					args = []string{folder}
				}
			}
			for _, name := range args {
				if err := t.ReadFile(cmd.Context(), name); err != nil {
					return err
				}
			}
			if err := t.Predict(cmd.Context()); err != nil {
				return err
			}
			return show.published(cmd, s, &t)
		},
	}
	flags = addSettings(cmd, question.Published)
	show.flags(cmd, "validate published")
	return cmd
}

// published prints errors by class and group, breakdowns and ratios, and writes the table.
func (v *validation) published(cmd *cobra.Command, s Streams, t *published.Table) error {
	sums, err := t.Summaries(v.by)
	if err != nil {
		return ofFlag("by", err)
	}
	if v.out.name != "" {
		if err := report.WriteFiles(cmd.Context(), report.File{Name: v.out.name, Write: t.WriteCSV}); err != nil {
			return systemError{err}
		}
		fmt.Fprintln(s.Err, "wrote", v.out.name)
	}
	if err := drawSome(cmd.Context(), s, v.sheet, picture.MeasuredKinds, picture.Measured{Name: "published figures", Report: t.Of(published.Target)}); err != nil {
		return err
	}
	var b strings.Builder
	section := func(g *report.Grid) {
		if !g.Empty() {
			fmt.Fprintln(&b, v.render(s, g))
		}
	}
	section(publishedTable(sums))
	section(layerTable(t.Layers()))
	section(ratioTable(t.Ratios()))
	section(orderTable(t.Orders()))
	for _, r := range t.Reasons() {
		what := string(r.Class)
		if r.Class != published.NotCompared {
			what += ", not predicted"
		}
		b.WriteString(v.wrap(s, fmt.Sprintf("- %s, %d: %s\n", what, r.Rows, r.Text)))
	}
	for i, f := range t.Skipped {
		if i == 0 || f.Why != t.Skipped[i-1].Why {
			b.WriteString(v.wrap(s, fmt.Sprintf("- skipped, %s: %s\n", f.Why, skippedFor(t.Skipped[i:]))))
		}
	}
	if v.worst > 0 {
		r := t.Of(published.Target)
		if len(v.by) > 0 && len(r.Rows) > 0 {
			if err := r.Regroup(v.by); err != nil {
				return ofFlag("by", err)
			}
		}
		if g := missTable(r, v.worst); !g.Empty() {
			fmt.Fprint(&b, "\n", v.render(s, g))
		}
	}
	return write(s.Out, b.String())
}

// skippedFor names the first files of a list that were skipped for one reason.
func skippedFor(list []published.Skipped) string {
	var names []string
	for i := range list {
		if list[i].Why != list[0].Why {
			break
		}
		names = append(names, list[i].Name)
	}
	return strings.Join(names, ", ")
}

// publishedTable is the errors by class and group.
func publishedTable(list []published.Summary) *report.Grid {
	g := &report.Grid{Columns: []report.Column{
		{Title: "class"}, {Title: "group"}, {Title: "rows", Right: true}, {Title: "not predicted", Right: true, Rank: 3}, {Title: "mean"}, {Title: "median", Rank: 1},
		{Title: "bias", Rank: 2}, {Title: "within 10%", Right: true, Rank: 2}, {Title: "within 20%", Right: true, Rank: 3}, {Title: "worst", Rank: 3}, {Title: "worst row", Rank: 4},
	}}
	for _, sum := range list {
		row := []string{string(sum.Class), sum.Group, strconv.Itoa(sum.Rows), strconv.Itoa(sum.Unpredicted)}
		if sum.Rows > 0 {
			row = append(row, percent(sum.Mean), percent(sum.Median), signed(sum.Bias), fmt.Sprint(sum.Near), fmt.Sprint(sum.Far), signed(sum.Worst), sum.WorstRow)
		}
		g.Row(row...)
	}
	return g
}

// layerTable is the parts of a layer, published and predicted.
func layerTable(list []published.Layer) *report.Grid {
	g := &report.Grid{Columns: []report.Column{{Title: "ms per layer, published / predicted"}}}
	for i, name := range published.PartNames {
		g.Columns = append(g.Columns, report.Column{Title: name, Rank: i})
	}
	for _, l := range list {
		row := []string{l.Name}
		for _, p := range l.Parts {
			text := ""
			if p.Published > 0 {
				text = number.Plain(p.Published, 3) + " / " + number.Plain(p.Predicted, 3)
			}
			row = append(row, text)
		}
		g.Row(row...)
	}
	return g
}

// ratioTable is the ratios.
func ratioTable(list []published.Ratio) *report.Grid {
	g := &report.Grid{Columns: []report.Column{{Title: "ratio"}, {Title: "published"}, {Title: "predicted"}, {Title: "error"}}}
	for _, r := range list {
		row := []string{r.Name, number.Plain(r.Published, 3)}
		if r.Predicted > 0 {
			row = append(row, number.Plain(r.Predicted, 3), signed(100*r.Error()))
		}
		g.Row(row...)
	}
	return g
}

// orderTable is what is said to be faster than what, and the ratio as predicted.
func orderTable(list []published.AsPublished) *report.Grid {
	g := &report.Grid{Columns: []report.Column{{Title: "faster than"}, {Title: "predicted"}, {Title: ""}}}
	for _, a := range list {
		row := []string{a.Name}
		if a.Ratio > 0 {
			row = append(row, number.Plain(a.Ratio, 3), map[bool]string{true: "as published", false: "the other way"}[a.Holds()])
		}
		g.Row(row...)
	}
	return g
}
