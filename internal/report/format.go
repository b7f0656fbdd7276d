package report

import (
	"io"
	"slices"
	"strconv"

	"throughline/internal/result"
	"throughline/internal/table"
)

// Format is a form of the long table: a row per run, a column per field.
type Format struct {
	Name string // on the command line
	File string // after the mode
}

var Formats = []Format{{"long", "long.csv"}, {"json", "long.jsonl"}, {"parquet", "long.parquet"}}

// New starts a table; with lists optional categories to include.
func (f Format) New(w io.Writer, with ...result.Category) table.Writer[*result.Record] {
	var notes []table.Note
	if schema, err := result.Schema(slices.Clone(with)...); err == nil {
		notes = []table.Note{{Key: "throughline.long.version", Text: strconv.Itoa(result.LongVersion)}, {Key: "throughline.long.schema", Text: string(schema)}}
	}
	return table.NewWriter(w, table.FormOf(f.File), result.Columns(result.Long(with...)), notes...)
}
