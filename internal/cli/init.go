package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"throughline/internal/report"
)

// starter is a runtime file to begin with.
//
//go:embed starter.json
var starter []byte

// scenarioStarter is a scenario file to begin with.
//
//go:embed scenario.json
var scenarioStarter []byte

func newInit(s Streams) *cobra.Command {
	var force, scenario bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented runtime or scenario file to start from",
		Long: `Init writes a runtime file, or a scenario file, that explains every key and is ready to
run. It does not replace an existing file unless --force is given.`,
		Example: `  throughline init
  throughline init my_scan.json
  throughline run -c throughline.json
  throughline init --scenario`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, text, command := "throughline.json", starter, "run -c"
			if scenario {
				name, text, command = "scenario.json", scenarioStarter, "scenario"
			}
			if len(args) == 1 {
				name = args[0]
			}
			var err error
			if force {
				err = report.WriteFiles(cmd.Context(), report.Bytes(name, text))
			} else {
				err = report.CreateFile(cmd.Context(), report.Bytes(name, text))
			}
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists; choose another name, or --force to replace it", name)
			} else if err != nil {
				return systemError{err}
			}
			return write(s.Out, viewOptions{}.of(s).Wrap(fmt.Sprintf("wrote %s; run it with: throughline %s %s\n", name, command, name)))
		},
	}
	addOutputs(cmd, "init", map[string]any{"force": &force, "scenario": &scenario})
	return cmd
}
