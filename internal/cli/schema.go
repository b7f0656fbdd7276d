package cli

import (
	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/fitted"
	"throughline/internal/jobfile"
	"throughline/internal/matrix"
	"throughline/internal/result"
	"throughline/internal/scenario"
	"throughline/model"
)

func newSchema(s Streams) *cobra.Command {
	formats := map[string]func() ([]byte, error){
		"runtime": jobfile.Schema, "system": hardware.Schema, "model": model.Schema, "scenario": scenario.Schema, "fitted": fitted.Schema, "matrix": matrix.Schema, "long": result.Schema,
	}
	return &cobra.Command{
		Use:       "schema runtime|system|model|scenario|fitted|matrix|long",
		Short:     "Print the JSON Schema of a file format, or of the long table",
		Example:   "  throughline schema system > system.schema.json",
		ValidArgs: []string{"runtime", "system", "model", "scenario", "fitted", "matrix", "long"},
		Args:      oneOf,
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := formats[args[0]]()
			if err != nil {
				return err
			}
			return write(s.data, string(b))
		},
	}
}
