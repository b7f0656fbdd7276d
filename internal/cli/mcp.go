package cli

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"throughline/internal/files"
	"throughline/internal/mcp"
)

func newMCP(s Streams) *cobra.Command {
	var add []string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Answer the questions of assistants, as tools",
		Long: `Mcp is a server of the Model Context Protocol: an assistant that starts it can ask plan,
estimate, explain, simulate, diff, models and systems, with the settings of these commands.
Answers are the sentences of the commands and their JSON; mistakes are all told at once.

No question opens a file: models and systems of your own are named by --add when it starts,
and asked for by their names, with or without the folder. It ends with its input.`,
		Example: `  throughline mcp
  throughline mcp --add systems/my_chip.json --add models/my_model.json`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			held, err := addedFiles(add)
			if err != nil {
				return err
			}
			if err := mcp.Serve(cmd.Context(), files.Held(held), io.NopCloser(s.In), unclosed{s.data}); err != nil && !errors.Is(err, io.EOF) {
				return failed(err)
			}
			return nil
		},
	}
	addOutputs(cmd, "mcp", map[string]any{"add": &add})
	return cmd
}

// unclosed is a stream that others still write to.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// addedFiles reads the files that questions to a server may name.
func addedFiles(names []string) (map[string][]byte, error) {
	held, err := files.Read(readInput, names)
	return held, ofFlag("add", err)
}
