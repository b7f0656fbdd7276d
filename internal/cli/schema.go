package cli

import (
	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/internal/api"
	"throughline/internal/fitted"
	"throughline/internal/jobfile"
	"throughline/internal/matrix"
	"throughline/internal/result"
	"throughline/internal/scenario"
	"throughline/model"
)

func newSchema(s Streams) *cobra.Command {
	formats := map[string]func() ([]byte, error){
		"runtime": jobfile.Schema, "system": hardware.Schema, "model": model.Schema, "scenario": scenario.Schema, "fitted": fitted.Schema, "matrix": matrix.Schema, "long": func() ([]byte, error) { return result.Schema() },
		"openapi": api.OpenAPI,
	}
	return &cobra.Command{
		Use:       "schema runtime|system|model|scenario|fitted|matrix|long|openapi",
		Short:     "Print the JSON Schema of a file format, or the OpenAPI",
		Example:   "  throughline schema system > system.schema.json",
		ValidArgs: []string{"runtime", "system", "model", "scenario", "fitted", "matrix", "long", "openapi"},
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
