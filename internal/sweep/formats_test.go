package sweep_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"throughline/internal/report"
	"throughline/internal/result"
)

// TestFormatsAgree: all forms of the long table have the same columns and values.
func TestFormatsAgree(t *testing.T) {
	all := records(t, "reference")
	files := map[string]*bytes.Buffer{}
	for _, f := range report.Formats {
		files[f.Name] = &bytes.Buffer{}
		sink := f.New(files[f.Name], result.OpDetails)
		for _, r := range all {
			if err := sink.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := csv.NewReader(files["long"]).ReadAll()
	if err != nil || len(rows) != len(all)+1 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	lines := json.NewDecoder(files["json"])
	table := files["parquet"].Bytes()
	file, err := parquet.OpenFile(bytes.NewReader(table), int64(len(table)))
	if err != nil {
		t.Fatal(err)
	}
	reader := parquet.NewReader(file)
	cells := make([]parquet.Row, 1)
	for i, field := range file.Schema().Fields() {
		if field.Name() != rows[0][i] {
			t.Fatalf("column %d is %s in Parquet, %s in CSV", i, field.Name(), rows[0][i])
		}
	}
	for _, row := range rows[1:] {
		object := map[string]any{}
		if err := lines.Decode(&object); err != nil {
			t.Fatal(err)
		}
		if n, err := reader.ReadRows(cells); n != 1 {
			t.Fatal(err)
		}
		if len(object) != len(row) || len(cells[0]) != len(row) {
			t.Fatalf("%d cells in CSV, %d in JSON, %d in Parquet", len(row), len(object), len(cells[0]))
		}
		for i, cell := range row {
			if in := object[rows[0][i]]; !same(cell, in) {
				t.Errorf("%s is %q in CSV, %v in JSON", rows[0][i], cell, in)
			}
			if in := cells[0][i]; !same(cell, plain(in)) {
				t.Errorf("%s is %q in CSV, %v in Parquet", rows[0][i], cell, in)
			}
		}
	}
	if v, ok := file.Lookup("throughline.long.version"); !ok || v != strconv.Itoa(result.LongVersion) {
		t.Errorf("version %q", v)
	}
	var schema struct {
		Properties map[string]struct{ Type []string }
	}
	text, _ := file.Lookup("throughline.long.schema")
	if err := json.Unmarshal([]byte(text), &schema); err != nil || len(schema.Properties) != len(rows[0]) {
		t.Errorf("%d columns in the schema: %v", len(schema.Properties), err)
	}
}

// plain is a value of Parquet as JSON has it.
func plain(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Double:
		return v.Double()
	case v.Kind() == parquet.Int64:
		return float64(v.Int64())
	case v.Kind() == parquet.Boolean:
		return v.Boolean()
	}
	return v.String()
}

// same compares a cell of a CSV table with a value.
func same(cell string, v any) bool {
	switch v := v.(type) {
	case nil:
		return cell == ""
	case float64:
		n, err := strconv.ParseFloat(cell, 64)
		return err == nil && n == v
	case bool:
		return cell == strings.ToUpper(strconv.FormatBool(v))
	case string:
		return strings.TrimPrefix(cell, "'") == v
	}
	return false
}
