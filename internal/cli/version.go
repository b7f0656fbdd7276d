package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"throughline/internal/version"
)

func newVersion(s Streams) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program",
		Example: "  throughline version --json",
		Args:    onlyFlags(""),
		RunE: func(*cobra.Command, []string) error {
			if !asJSON {
				return write(s.Out, versionLine())
			}
			b, err := json.MarshalIndent(version.This(), "", "  ")
			if err != nil {
				return err
			}
			return write(s.data, string(b)+"\n")
		},
	}
	addOutputs(c, "version", map[string]any{"json": &asJSON})
	return c
}

func versionLine() string {
	b := version.This()
	if b.Revision != "" {
		b.Revision = " (" + b.Revision[:min(12, len(b.Revision))] + ")"
	}
	return fmt.Sprintf("throughline %s%s %s\n", b.Version, b.Revision, b.Go)
}
