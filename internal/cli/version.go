package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"throughline/internal/version"
)

func newVersion(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Args:  onlyFlags(""),
		RunE: func(*cobra.Command, []string) error {
			return write(s.Out, versionLine())
		},
	}
}

func versionLine() string {
	revision := version.Revision()
	if revision != "" {
		revision = " (" + revision[:min(12, len(revision))] + ")"
	}
	return fmt.Sprintf("throughline %s%s %s\n", version.Number, revision, runtime.Version())
}
