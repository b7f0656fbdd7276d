package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/shell"
	"throughline/internal/table"
)

func newSystems(s Streams) *cobra.Command {
	var asJSON bool
	var view viewOptions
	cmd := &cobra.Command{
		Use:   "systems",
		Short: "List the built-in systems, show one",
		Long: `Systems lists the built-in systems. The columns:

  matrix T/s    peak matrix rate by number type
  GiB, GB/s     capacity and bandwidth of the memory of one GPU
  network 0     innermost network: GPUs in a group × bandwidth of each
  last network  outermost network
  kernels       the chip whose measured kernels are used, at the peaks of this one; empty: a
                plain roofline`,
		Example: `  throughline systems
  throughline systems show H800_IB
  throughline systems show H800_IB --json > my_chip.json`,
		Args: subcommandOf(hardware.Catalogue),
		RunE: func(*cobra.Command, []string) error { return show(s, view, asJSON, report.Systems) },
	}
	addOutputs(cmd, "systems", map[string]any{"json": &asJSON, "wide": &view.wide})
	cmd.AddCommand(newShow(cmd, hardware.Catalogue, "a built-in system or a system file", `  throughline systems show H800_IB
  throughline systems show H800_IB --json > my_chip.json`, func(ref string, asJSON bool) error { return showSystem(s, ref, asJSON) }))
	return cmd
}

func readSystem(s Streams, ref string) (sys *hardware.System, src []byte, err error) {
	f, err := question.Find("system", ref, hardware.Catalogue, catalogue.Places{In: files.Machine})
	if err != nil {
		return nil, nil, err
	}
	sys, doc := hardware.Read(f.Name, f.Source)
	warn(s, doc.Warnings())
	return sys, f.Source, doc.Err()
}

func showSystem(s Streams, ref string, asJSON bool) error {
	file, err := findFile(ref, hardware.Catalogue)
	if err != nil {
		return err
	}
	sys, doc := hardware.Read(file.Name, file.Source)
	warn(s, doc.Warnings())
	if err := doc.Err(); err != nil {
		return err
	}
	if asJSON {
		return write(s.data, string(file.Source))
	}
	var f hardware.File
	document.Parse(file.Name, file.Source).Decode(&f)
	return write(s.Out, report.System(table.View{Width: s.Width}, sys, f.Sources)+fmt.Sprintf("To change it: throughline systems show %s --json > my_chip.json\n", shell.Quote(ref)))
}
