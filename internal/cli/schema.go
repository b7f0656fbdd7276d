package cli

import (
	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/jobfile"
	"throughline/internal/matrix"
	"throughline/internal/result"
	"throughline/model"
)

func newSchema(s Streams) *cobra.Command {
	formats := map[string]func() ([]byte, error){
		"runtime": jobfile.Schema, "system": hardware.Schema, "model": model.Schema, "long": result.Schema, "matrix": matrix.Schema,
	}
	return &cobra.Command{
		Use:       "schema runtime|system|model|matrix|long",
		Short:     "Print the JSON Schema of a file format, or of the long table",
		Example:   "  throughline schema system > system.schema.json",
		ValidArgs: []string{"runtime", "system", "model", "matrix", "long"},
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
