package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/csvfile"
	"throughline/internal/difference"
	"throughline/internal/report"
	"throughline/number"
)

func newDiff(s Streams) *cobra.Command {
	var asJSON, asCSV bool
	var view viewOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two rows of plans, two systems or two files of results",
		Long: `Diff puts two answers side by side, figure by figure, and says why one is better.

  plan.json#1       a row that "throughline plan --json" wrote; #f2 is the second of its
                    frontier. It is estimated again: the plan, what clients see, the time
                    of the steps by class of operators, memory, and what of the time of a
                    GPU each class takes for an output token
  H200              a system, by its name or file
  results.json      any other results as JSON, figure by figure
  results.csv       a table, whose rows are told by their first cells
  results.csv#3     one of its rows; the same of lines in results.jsonl

The change is from A to B. A terminal shows what differs; --csv and --json have all.`,
		Example: `  throughline diff plan.json#1 plan.json#3
  throughline diff H100_SXM H200
  throughline diff plan.json#1 plan.json#f2 --csv > diff.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("diff takes two things to compare, rows of plans (plan.json#1), systems or files of results; there are %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return starting(begun, hardware.Catalogue.Names()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := difference.Of(args[0], args[1])
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				err = report.WriteObject(s.data, d)
			case asCSV:
				err = writeDifferenceCSV(s.data, d)
			default:
				err = writeDifference(s.Out, view.of(s), d)
			}
			return failed(err)
		},
	}
	addOutputs(cmd, "diff", map[string]any{"json": &asJSON, "csv": &asCSV, "wide": &view.wide})
	return cmd
}

// writeDifference writes what differs for the terminal, and why one is better.
func writeDifference(w io.Writer, v report.View, d *difference.Difference) error {
	g := report.Grid{Columns: []report.Column{{Title: "field"}, {Title: "A", Right: true}, {Title: "B", Right: true}, {Title: "change", Right: true}}}
	out := v.Wrap(fmt.Sprintf("A: %s\nB: %s", d.A, d.B)) + "\n"
	for i := range d.Rows {
		r := &d.Rows[i]
		switch {
		case !r.Differs():
		case isText(r.A) || isText(r.B): // words may be long
			out += v.WrapUnder(r.Field+": ", fmt.Sprintf("A %s, B %s", cmp.Or(figure(r.A), "none"), cmp.Or(figure(r.B), "none"))) + "\n"
		default:
			g.Row(r.Field, figure(r.A), figure(r.B), difference.Percent(r.Change))
		}
	}
	if !g.Empty() {
		out += "\n" + g.Render(v) + "\n"
	}
	for _, why := range d.Why {
		out += "\n" + v.Wrap(why)
	}
	_, err := io.WriteString(w, out+"\n")
	return err
}

func isText(v any) bool { _, ok := v.(string); return ok }

// figure is a figure for people.
func figure(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return number.Plain(v, 4)
	}
	return fmt.Sprint(v)
}

// writeDifferenceCSV writes all figures as a table.
func writeDifferenceCSV(w io.Writer, d *difference.Difference) error {
	out := csvfile.NewWriter(w)
	if err := out.Write([]string{"field", "a", "b", "change"}); err != nil {
		return err
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		line := []string{r.Field}
		for _, v := range []any{r.A, r.B, r.Change} {
			line = append(line, exact(v))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// exact is a figure for programs.
func exact(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}
