package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/chart"
	"throughline/internal/lab/published"
	"throughline/internal/picture"
	"throughline/internal/report"
	"throughline/internal/table"
)

func newPublished() *cobra.Command {
	var o publishedOptions
	cmd := &cobra.Command{
		Use:   "published [FILE.csv|FOLDER]...",
		Short: "Predict figures that others have printed, in words of their own",
		Long: `Published reads figures that others have printed with whatever they wrote beside them, and
predicts them: those of the project, and those of the named tables. What is done with a
row follows by rule from its columns, but for the value:

  target        predicted and compared
  relation      a ratio of two figures: both are predicted
  order         which of two is faster: both are predicted
  breakdown     a part of a layer, side by side
  not compared  with the reason

Tables in another schema are skipped and named. Figures that somebody read off a chart
(evidence chart_read) count 3 points wider in "within". --out writes the rows in the
columns that "throughline validate published" reads, with class, predicted, error_percent
and reason; what these columns cannot say is unpredictable there.`,
		Example: "  go run ./cmd/lab published ../shared/measurements/published --worst 40 --out figures.csv",
		PreRunE: inRoot,
		RunE: func(cmd *cobra.Command, args []string) error {
			var t published.Table
			if err := t.BuiltIn(cmd.Context(), "."); err != nil {
				return err
			}
			for _, name := range args {
				if err := t.ReadFile(cmd.Context(), name); err != nil {
					return err
				}
			}
			if err := t.Predict(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), o.text(&t))
			return o.files(cmd.Context(), &t)
		},
	}
	cmd.Flags().IntVar(&o.worst, "worst", 0, "list this many rows with the largest errors")
	cmd.Flags().BoolVar(&o.markdown, "markdown", false, "print Markdown tables")
	cmd.Flags().StringVarP(&o.out, "out", "o", "", "write the rows with their predictions to this file")
	cmd.Flags().StringVar(&o.picture, "picture", "", "draw the errors of the targets into this SVG file")
	return cmd
}

type publishedOptions struct {
	worst        int
	markdown     bool
	out, picture string
}

// text is errors by class and group, breakdowns and ratios, and why rows are not compared.
func (o *publishedOptions) text(t *published.Table) string {
	var b strings.Builder
	view := table.View{Markdown: o.markdown}
	for _, part := range []table.Any{t.SummaryTable(), t.LayerTable(), t.RatioTable(), t.OrderTable()} {
		if part.Len() > 0 {
			fmt.Fprint(&b, part.Render(view), "\n\n")
		}
	}
	for _, r := range t.Reasons() {
		what := string(r.Class)
		if r.Class != published.NotCompared {
			what += ", not predicted"
		}
		fmt.Fprintf(&b, "- %s, %d: %s\n", what, r.Rows, r.Text)
	}
	for i, f := range t.Skipped {
		switch {
		case i == 0 || f.Why != t.Skipped[i-1].Why:
			fmt.Fprintf(&b, "- skipped, %s: %s", f.Why, f.Name)
		default:
			b.WriteString(", " + f.Name)
		}
		if i+1 == len(t.Skipped) || t.Skipped[i+1].Why != f.Why {
			b.WriteByte('\n')
		}
	}
	if o.worst > 0 {
		fmt.Fprint(&b, "\n", t.Of(published.Target).MissTable(o.worst).Render(view), "\n")
	}
	return b.String()
}

func (o *publishedOptions) files(ctx context.Context, t *published.Table) error {
	var files []report.File
	if o.out != "" {
		files = append(files, report.File{Name: o.out, Write: t.WriteCSV})
	}
	if o.picture != "" {
		kind, _ := picture.Find(picture.MeasuredKinds, "errors")
		c, err := kind.Draw(picture.Measured{Name: "published figures", Report: t.Of(published.Target)})
		if err != nil {
			return err
		}
		files = append(files, report.File{Name: o.picture, Write: func(w io.Writer) error {
			return chart.SVG{Theme: chart.Light, Follow: true}.Write(w, c.Draw(900, 500, ""))
		}})
	}
	return report.WriteFiles(ctx, files...)
}
