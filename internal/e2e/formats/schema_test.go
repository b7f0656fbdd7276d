package formats

import (
	"bytes"
	"path/filepath"
	"testing"

	"throughline/internal/cli"
	"throughline/internal/test/golden"
)

// The schemas in the repository are what the program prints.
func TestSchemas(t *testing.T) {
	for _, format := range []string{"runtime", "system", "model", "scenario", "fitted", "matrix", "long"} {
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), []string{"schema", format}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
			t.Fatalf("schema %s: exit code %d: %s", format, code, &errs)
		}
		golden.File(t, filepath.Join(golden.Root, "schemas", format+".schema.json"), out.Bytes())
	}
}
