package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/picture"
	"throughline/internal/report"
	"throughline/internal/validate/published"
)

// publishedFolder is where the public figures lie beside the project.
const publishedFolder = "../shared/measurements/published"

func newValidatePublished(s Streams) *cobra.Command {
	var show validation
	folder := publishedFolder
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
			if show.worst < 0 {
				return fmt.Errorf("--worst must be at least 0, not %d", show.worst)
			}
			if err := document.Join(show.out.check(args...), show.planCharts(args...)); err != nil {
				return err
			}
			var t published.Table
			if len(args) == 0 {
				if err := t.BuiltIn(cmd.Context()); err != nil {
					return err
				}
				if _, err := os.Stat(folder); err == nil || cmd.Flags().Changed("folder") {
					args = []string{folder}
				} else {
					fmt.Fprintf(s.Err, "no folder %s: only the figures that are built in\n", folder)
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
	cmd.Flags().StringVar(&folder, "folder", folder, "folder of tables to read where no FILE is given")
	show.flags(cmd)
	return cmd
}

// published prints the errors by class and group, the breakdowns and the ratios, and writes the table.
func (v *validation) published(cmd *cobra.Command, s Streams, t *published.Table) error {
	v.width = s.Width
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
	section := func(w table.Writer) {
		if w.Length() > 0 {
			fmt.Fprintln(&b, v.render(w))
		}
	}
	section(publishedTable(sums))
	section(layerTable(t.Layers()))
	section(ratioTable(t.Ratios()))
	for _, r := range t.Reasons() {
		what := string(r.Class)
		if r.Class != published.NotCompared {
			what += ", not predicted"
		}
		fmt.Fprintf(&b, "- %s, %d: %s\n", what, r.Rows, r.Text)
	}
	for i, f := range t.Skipped {
		if i == 0 || f.Why != t.Skipped[i-1].Why {
			fmt.Fprintf(&b, "- skipped, %s: %s\n", f.Why, skippedFor(t.Skipped[i:]))
		}
	}
	if v.worst > 0 {
		r := t.Of(published.Target)
		if len(v.by) > 0 && len(r.Rows) > 0 {
			if err := r.Regroup(v.by); err != nil {
				return ofFlag("by", err)
			}
		}
		if w := missTable(r, v.worst); w.Length() > 0 {
			fmt.Fprint(&b, "\n", v.render(w))
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
func publishedTable(list []published.Summary) table.Writer {
	t := newTable("class", "group", "rows", "not predicted", "mean", "median", "bias", "within 10%", "within 20%", "worst", "worst row")
	for _, g := range list {
		row := table.Row{string(g.Class), g.Group, g.Rows, g.Unpredicted}
		if g.Rows > 0 {
			row = append(row, percent(g.Mean), percent(g.Median), signed(g.Bias), g.Near, g.Far, signed(g.Worst), g.WorstRow)
		}
		t.AppendRow(row)
	}
	return t
}

// layerTable is the parts of a layer, published and predicted.
func layerTable(list []published.Layer) table.Writer {
	header := []any{"ms per layer, published / predicted"}
	for _, name := range published.PartNames {
		header = append(header, name)
	}
	t := newTable(header...)
	for _, l := range list {
		row := table.Row{l.Name}
		for _, p := range l.Parts {
			text := ""
			if p.Published > 0 {
				text = fmt.Sprintf("%.3g / %.3g", p.Published, p.Predicted)
			}
			row = append(row, text)
		}
		t.AppendRow(row)
	}
	return t
}

// ratioTable is the ratios.
func ratioTable(list []published.Ratio) table.Writer {
	t := newTable("ratio", "published", "predicted", "error")
	for _, r := range list {
		row := table.Row{r.Name, fmt.Sprintf("%.3g", r.Published)}
		if r.Predicted > 0 {
			row = append(row, fmt.Sprintf("%.3g", r.Predicted), signed(100*r.Error()))
		}
		t.AppendRow(row)
	}
	return t
}
