package table

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// run is a row of the tables of these tests.
type run struct {
	part, name string
	tokens     int
	seconds    float64
}

var runColumns = []Column[run]{
	{Name: "part", Once: true, Value: func(r run) any { return r.part }},
	{Name: "name", Title: "run", Omit: true, Value: func(r run) any {
		if r.name == "" {
			return nil
		}
		return r.name
	}},
	{Name: "tokens", Kind: Count, Rank: 1, Value: func(r run) any { return r.tokens }},
	{Name: "time_s", Title: "ms", Kind: Number, Value: func(r run) any { return r.seconds }, Cell: func(r run) string { return Plain(1e3 * r.seconds) }},
	{Name: "rate", Kind: Number, Format: "%.2f", Files: true, Value: func(r run) any { return float64(r.tokens) / r.seconds }},
	{Title: "bar", Cell: func(r run) string { return strings.Repeat("#", r.tokens) }},
}

func runs() *Table[run] {
	return &Table[run]{Columns: runColumns, Rows: []run{{"a", "=one", 1, 0.25}, {"a", `two, "2"`, 3, 0.125}, {"b", "", 2, 1.0 / 65536}},
		Line: func(above, r run) bool { return above.part != r.part }}
}

// TestForms: one list of columns gives every form. People see titles, numbers as a column shows
// them, what is new in a row and no columns of files; files have names, exact values and no columns
// of people.
func TestForms(t *testing.T) {
	markdown := "| part | run | tokens | ms | bar |\n| --- | --- | ---:| ---:| --- |\n| a | =one | 1 | 250 | # |\n|  | two, \"2\" | 3 | 125 | ### |\n| b |  | 2 | 0.0152588 | ## |"
	terminal := "┌──────┬──────────┬────────┬───────────┬─────┐\n│ part │ run      │ tokens │        ms │ bar │\n├──────┼──────────┼────────┼───────────┼─────┤\n" +
		"│ a    │ =one     │      1 │       250 │ #   │\n│      │ two, \"2\" │      3 │       125 │ ### │\n├──────┼──────────┼────────┼───────────┼─────┤\n" +
		"│ b    │          │      2 │ 0.0152588 │ ##  │\n└──────┴──────────┴────────┴───────────┴─────┘"
	narrow := runs().Render(View{Width: 38, All: " (ask)"})
	for _, c := range []struct{ got, want string }{
		{runs().Render(View{Markdown: true}), markdown}, {runs().Render(View{}), terminal},
		{narrow[strings.LastIndex(narrow, "\n")+1:], "not shown: tokens (ask)"},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
	for form, want := range map[Form]string{
		CSV:   "part,name,tokens,time_s,rate\na,'=one,1,0.25,4.00\na,\"two, \"\"2\"\"\",3,0.125,24.00\nb,,2,1.52587890625e-05,131072.00\n",
		Lines: `{"part":"a","name":"=one","tokens":1,"time_s":0.25,"rate":4}` + "\n" + `{"part":"a","name":"two, \"2\"","tokens":3,"time_s":0.125,"rate":24}` + "\n" + `{"part":"b","tokens":2,"time_s":0.0000152587890625,"rate":131072}` + "\n",
	} {
		var b bytes.Buffer
		if err := runs().Write(&b, form); err != nil || b.String() != want {
			t.Errorf("%s, %v:\n%s\nwant\n%s", form, err, b.String(), want)
		}
	}
	var b bytes.Buffer
	if err := runs().Write(&b, JSON); err != nil || !strings.HasPrefix(b.String(), "[\n  {\n    \"part\": \"a\",\n") || !strings.HasSuffix(b.String(), "\n  }\n]\n") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	var objects []map[string]any
	if err := json.Unmarshal(b.Bytes(), &objects); err != nil || len(objects) != 3 || len(objects[2]) != 4 {
		t.Errorf("%v, %v", objects, err)
	}
	b.Reset()
	if err := runs().Write(&b, Parquet); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Part   *string  `parquet:"part"`
		Name   *string  `parquet:"name"`
		Tokens *int64   `parquet:"tokens"`
		Time   *float64 `parquet:"time_s"`
		Rate   *float64 `parquet:"rate"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != 3 || *rows[1].Name != `two, "2"` || *rows[1].Tokens != 3 || *rows[1].Rate != 24 || rows[2].Name != nil {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestNoNumber: JSON has no form for what is no number, and a value that has none is an error and
// not silence.
func TestNoNumber(t *testing.T) {
	value := Column[any]{Name: "v", Value: func(v any) any { return v }}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if text, err := json.Marshal(Object[any]{[]Column[any]{value}, v}); err != nil || string(text) != `{"v":null}` {
			t.Errorf("%v is %s, %v", v, text, err)
		}
	}
	for _, v := range []float64{0, 1e-7, -2.5e-6, 1e21, 123456789, 1.0 / 3} {
		want, _ := json.Marshal(v)
		if text, err := json.Marshal(Object[any]{[]Column[any]{value}, v}); err != nil || string(text) != `{"v":`+string(want)+"}" {
			t.Errorf("%v is %s, %v", v, text, err)
		}
	}
	if err := (&Table[any]{Columns: []Column[any]{value}, Rows: []any{math.Inf}}).Write(&bytes.Buffer{}, Lines); err == nil {
		t.Error("a function has a form")
	}
	if err := (&Table[any]{Columns: []Column[any]{{Name: "v", Kind: Count, Value: value.Value}}, Rows: []any{"text"}}).Write(&bytes.Buffer{}, Parquet); err == nil {
		t.Error("a text is a count")
	}
}

// TestFormOf: the name of a file tells its form.
func TestFormOf(t *testing.T) {
	for name, want := range map[string]Form{"a.csv": CSV, "a.csv.gz": CSV, "a.jsonl.gz": Lines, "a.parquet": Parquet, "a.json": JSON, "/dev/stdout": CSV} {
		if got := FormOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestFilled: columns in which nothing stands are left out, and columns are picked in any order.
func TestFilled(t *testing.T) {
	one := &Table[run]{Columns: runColumns, Rows: []run{{"a", "", 0, 1}}}
	titles := func(t *Table[run]) (out string) {
		for _, h := range t.Headings() {
			out += h.Title + " "
		}
		return out
	}
	if got := titles(one.Filled()); got != "part tokens ms " {
		t.Errorf("left are %s", got)
	}
	if got := titles(one.Pick("tokens", "part")); got != "tokens part " {
		t.Errorf("picked are %s", got)
	}
}

// TestMinusForPeople: what is less has a minus sign for people, and the hyphen that programs read
// in files.
func TestMinusForPeople(t *testing.T) {
	rows := Of([]Column[*float64]{{Name: "difference", Kind: Number, Format: "%+.1f", Value: func(v *float64) any { return *v }}}, []float64{-8.44, 3})
	if text := rows.Render(View{}); !strings.Contains(text, "−8.4") || !strings.Contains(text, "+3.0") {
		t.Errorf("for people:\n%s", text)
	}
	var b strings.Builder
	if err := rows.Write(&b, FormOf("x.csv")); err != nil || !strings.Contains(b.String(), "-8.4") {
		t.Errorf("in a file:\n%s (%v)", b.String(), err)
	}
}
