// Lab fits what is built in to measurements beside the project, and writes the pages that say how
// well it fits. Run it from the root of the project:
//
//	go run ./cmd/lab --help
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"throughline/internal/lab"
	"throughline/internal/lab/kernels"
	"throughline/internal/report"
	"throughline/internal/table"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Choose what is built in by measurements, and judge predictions by what was held out",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(newImport(), newHeldOut(), newBands(), newKernels(), newPublished())
	if err := root.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(errs, "lab:", err)
		return 2
	}
	return 0
}

// inRoot refuses to run elsewhere than in the root of the project, whose files are written.
func inRoot(*cobra.Command, []string) error {
	if _, err := os.Stat(kernels.RecordName); err != nil {
		return fmt.Errorf("run it from the root of the project: %w", err)
	}
	return nil
}

func newKernels() *cobra.Command {
	var shapes bool
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Fit the built-in kernels to the tables of measured kernels",
		Long: `Kernels fits the built-in kernels (hardware/kernels) to the public tables beside the
project, and writes them, docs/calibration.md and a record by which a test tells whether
they are current. It takes minutes. With --shapes it writes instead which shapes of
kernels were measured (hardware/shape/measured), which takes a minute.`,
		Args:    cobra.NoArgs,
		PreRunE: inRoot,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := func(title string) { fmt.Fprintln(cmd.ErrOrStderr(), title) }
			write := kernels.Write
			if shapes {
				write = kernels.Shapes
			}
			outputs, err := write(".", log)
			if err != nil {
				return err
			}
			return writeAll(cmd.Context(), outputs)
		},
	}
	cmd.Flags().BoolVar(&shapes, "shapes", false, "write the measured shapes instead")
	return cmd
}

func writeAll(ctx context.Context, outputs []kernels.Output) error {
	var files []report.File
	for _, o := range outputs {
		files = append(files, report.Bytes(o.Name, o.Content))
	}
	return report.WriteFiles(ctx, files...)
}

func newBands() *cobra.Command {
	return &cobra.Command{
		Use:   "bands",
		Short: "Find how wide the bands of predictions are, and how often they hold",
		Long: `Bands finds how wide the bands of predictions must be, and writes the widths
(estimate/bands.json) and how often they hold the truth (docs/validation/bands.md). It
leaves out one pair of model and engine after the other, as "heldout serving" does, and
prints what that prints. It takes minutes, and is run after whatever changes predictions.`,
		Args:    cobra.NoArgs,
		PreRunE: inRoot,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := lab.Evidence(cmd.Context(), ".")
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), heldTables(found.Held, table.View{Markdown: true}))
			widths, err := lab.BandsOf(found)
			if err != nil {
				return err
			}
			page := filepath.Join("docs", "validation", "bands.md")
			doc, err := os.ReadFile(page)
			if err != nil {
				return err
			}
			if doc, err = lab.BandsPage(doc, found.Samples); err != nil {
				return err
			}
			return writeAll(cmd.Context(), []kernels.Output{{Name: filepath.Join("estimate", "bands.json"), Content: widths}, {Name: page, Content: doc}})
		},
	}
}

func newImport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "import TABLE.csv --out RUNS.csv",
		Short: "Turn a public table of serving runs into the columns that validate serving reads",
		Long: `Import reads a public table of serving runs with whatever its authors wrote into it:
names with notes, lengths, arrivals, drafts and options in words. What a row does not say
of its servers and its benchmark is what the scripts and recipes of that benchmark say.
It writes the same rows in the columns that "throughline validate serving" reads.`,
		Example: "  go run ./cmd/lab import ../shared/measurements/silicon/labelled.csv --out runs.csv",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := lab.Import(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if out == "" {
				return t.Write(cmd.OutOrStdout())
			}
			return report.WriteFiles(cmd.Context(), report.File{Name: out, Write: t.Write})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (default: standard output)")
	return cmd
}
