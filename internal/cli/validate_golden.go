package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"throughline/internal/gold"
	"throughline/internal/report"
	"throughline/internal/shell"
	"throughline/internal/table"
	"throughline/internal/version"
)

func newValidateGolden(s Streams) *cobra.Command {
	var out output
	force := false
	cmd := &cobra.Command{
		Use:   "golden [FILE]",
		Short: "Compare answers with those of an earlier version",
		Long: `Golden asks two hundred questions again. Their answers are those that the program comes
with, or those of a file that another version wrote (--out). Of each answer that has
moved it shows the first figure on its way that differs, and why: the files of facts that
are others (a model, a system, kernels, an engine), or, where these are the same, the
formulas. It exits with 4 where any has moved. It takes some seconds.`,
		Example: `  throughline validate golden answers.jsonl`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := gold.Kept()
			if len(args) == 1 {
				before, err = readGolden(args[0])
			}
			if err != nil {
				return err
			}
			if err := out.check(args...); err != nil {
				return err
			}
			now, moved, err := before.Compare(cmd.Context(), 1)
			if err != nil {
				return err
			}
			now.Version = version.Number
			if out.name != "" {
				if err := report.WriteFiles(cmd.Context(), report.File{Name: out.name, Write: func(w io.Writer) error { return now.Write(w) }}); err != nil {
					return systemError{err}
				}
			}
			return showGolden(s, before, moved)
		},
	}
	addOutputs(cmd, "validate golden", map[string]any{"out": &out, "force": &force})
	return cmd
}

func readGolden(name string) (*gold.Set, error) {
	src, err := readInput(name)
	if err != nil {
		return nil, err
	}
	set, err := gold.Read(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return set, nil
}

func showGolden(s Streams, before *gold.Set, moved []gold.Moved) error {
	view := table.View{Width: s.Width}
	text := fmt.Sprintf("%d of %d answers of throughline %s are as they were.\n", len(before.Answers)-len(moved), len(before.Answers), before.Version)
	why := map[string]int{}
	for _, m := range moved {
		why[m.Why]++
		words := ""
		for _, name := range slices.Sorted(maps.Keys(m.Ask)) {
			words += " --" + name + "=" + shell.Quote(m.Ask[name])
		}
		text += view.Wrap(fmt.Sprintf("\n%d. %s was %.6g and is %.6g (%+.3g%%). %s", m.Number, m.Figure, m.Before, m.After, 100*(m.After/m.Before-1), m.Why)) +
			"\n   throughline estimate" + words + "\n"
	}
	for _, of := range slices.Sorted(maps.Keys(why)) {
		text += view.Wrap(fmt.Sprintf("\n%d moved by %s", why[of], of)) + "\n"
	}
	if err := write(s.Out, text); err != nil {
		return err
	}
	if len(moved) > 0 {
		return exitError{exitLimits}
	}
	return nil
}
