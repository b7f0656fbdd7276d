package document

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// strs returns the problems as they are printed, without the file name.
func strs(problems []Problem) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, strings.TrimPrefix(p.String(), p.File+":"))
	}
	return lines
}

func TestParseDialect(t *testing.T) {
	type content struct {
		A string    `json:"a"`
		B []float64 `json:"b"`
	}
	want := content{A: "x", B: []float64{1, 2}}
	for _, test := range []struct {
		name, src string
		warnings  []string
	}{
		{name: "plain", src: `{"a": "x", "b": [1, 2]}`},
		{name: "trailing commas", src: `{"a": "x", "b": [1, 2,],}`},
		{name: "line comments", src: "// {\n{ // one\n\"a\": \"x\", //\n\"b\": [1, // two }\n2]} // end"},
		{name: "block comments", src: "/* { */ {/**/\"a\": /* \n */ \"x\", \"b\": [1, 2/* ] */]} /* end */"},
		{name: "hash comments", src: "# {\n{ # \"one\n\"a\": \"x\", #\n\"b\": [1,#two }\n2]} # end"},
		{name: "comment in another encoding", src: "{ # \xc4\xe3\n\"a\": \"x\", \"b\": [1, 2]}"},
		{name: "CRLF", src: "# one\r\n{\r\n\"a\": \"x\", // two\r\n\"b\": [1, 2]\r\n}\r\n"},
		{name: "byte order mark", src: "\uFEFF{\"a\": \"x\", \"b\": [1, 2]}"},
		{
			name:     "title",
			src:      "# comment\n非MoE模型，Qwen-32B-flash：\n{\"a\": \"x\", \"b\": [1, 2]}\n",
			warnings: []string{`2:1: skipped the text "非MoE模型，Qwen-32B-flash：" before the first brace`},
		},
		{
			name: "fence",
			src:  "```json\n{\"a\": \"x\", \"b\": [1, 2]}\n  ```  \n// end\n",
			warnings: []string{
				"1:1: skipped the text \"```json\" before the first brace",
				`3:3: skipped the Markdown fence after the object`,
			},
		},
		{
			name:     "title with a link",
			src:      "see https://example.com/{id}\n{\"a\": \"x\", \"b\": [1, 2]}",
			warnings: []string{`1:1: skipped the text "see https://example.com/{id}" before the first brace`},
		},
		{name: "schema", src: `{"$schema": "x.json", "a": "x", "b": [1, 2]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := Parse("f.json", []byte(test.src))
			var got content
			f.Decode(&got)
			if err := f.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.warnings, strs(f.Warnings())); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"a", "b"}, f.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommentSignsInStrings(t *testing.T) {
	f := Parse("f.json", []byte(`{"a": "# // /* \" # */ \\", "#b": "http://x"} # "`))
	var got map[string]string
	f.Decode(&got)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": `# // /* " # */ \`, "#b": "http://x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"empty", "", `1:1: the file is empty; it must hold an object in braces { }`},
		{"only a comment", "# {}\n", `1:1: the file is empty; it must hold an object in braces { }`},
		{"no object", "\n  [1, 2]", `2:3: the file has no opening brace; it must hold an object in braces { }`},
		{"list", "\n [ {} ]", `2:2: the file must hold an object, not a list`},
		{"missing comma", "{\n\"a\": 1 # one\n\"b\": 2}", `2:7: a comma is missing here`},
		{"missing comma in list", "{\"a\": [1 2]}", `1:9: a comma is missing here`},
		{"missing colon", `{"a" 1}`, `1:6: a ':' and a value must follow the key, not '1'`},
		{"missing value", `{"a": }`, `1:7: a value must stand here, not '}'`},
		{"bracket mismatch", `{"a": [1}`, `1:9: this '}' does not match the '[' on line 1`},
		{"open bracket before key", "{\"a\": [[1],\n\"b\": 2}", `1:7: this '[' is not closed before the key on line 2`},
		{"open brace inside", "{\n  \"a\": {\n    \"b\": {\n    },\n  \"c\": {\n  }\n}\n", `2:8: this '{' is never closed`},
		{"number with separator", `{"a": 28_672}`, `1:7: 28_672 is not a JSON value; numbers are written like 5, -0.5 or 1e9`},
		{"number with separator at end", `{"a": 2_`, `1:7: 2_ is not a JSON value; numbers are written like 5, -0.5 or 1e9`},
		{"wide brace", `｛"a": 1｝`, `1:1: the file has no opening brace; it must hold an object in braces { }; did you mean '{'?`},
		{"binary", "{\"a\": \x00", `1:7: this is not a text file: it has a zero byte here`},
		{"open brace", "{\"a\": 1,\n \"b\": {\"c\": 1\n", `2:7: this '{' is never closed`},
		{"open bracket", "{\"a\": 1,\n \"b\": [1, {}", `2:7: this '[' is never closed`},
		{"open string", "{\"a\": \"x,\n\"b\": 1}", `1:7: this string is not closed on its line`},
		{"open string after escape", "{\"a\": \"x\\\n\"}", `1:7: this string is not closed on its line`},
		{"open string at end", "{\"a\": \"x\\", `1:7: this string is not closed on its line`},
		{"open comment", "{\"a\": 1 /* x\n}", `1:9: this comment is never closed`},
		{"open comment at start", "/* x {}", `1:1: this comment is never closed`},
		{"open comment at end", "{} /* x", `1:4: this comment is never closed`},
		{"text after", "{}\nend /*", `2:1: the object of the file has ended before this; remove this, or the bracket that is one too many`},
		{"second object", "{}\n{}", `2:1: the object of the file has ended before this; remove this, or the bracket that is one too many`},
		{"language after fence", "{}\n```json", `2:4: the object of the file has ended before this; remove this, or the bracket that is one too many`},
		{"capitalized literal", `{"a": True}`, `1:7: True is not a JSON value; did you mean true?`},
		{"Python null", `{"a": None}`, `1:7: None is not a JSON value; did you mean null?`},
		{"bare word", `{"a": roofline}`, `1:7: roofline is not a JSON value; keys and strings need double quotes`},
		{"bare key", `{tp: 1}`, `1:2: tp is not a JSON value; keys and strings need double quotes`},
		{"number as key", `{1: 1}`, `1:2: a key in double quotes must stand here, not '1'`},
		{"bad number", `{"a": .5}`, `1:7: .5 is not a JSON value; numbers are written like 5, -0.5 or 1e9`},
		{"not a number", `{"a": NaN}`, `1:7: NaN is not a JSON value; numbers are written like 5, -0.5 or 1e9`},
		{"bad escape", `{"a": "C:\dir"}`, `1:7: this string has a control character or an unknown escape in it; a backslash is written \\`},
		{"tab in string", "{\"a\": \"x\ty\"}", `1:7: this string has a control character or an unknown escape in it; a backslash is written \\`},
		{"single quotes", `{'a': 1}`, `1:2: invalid character '\'' at start of value; did you mean '"'?`},
		{"wide colon", `{"模型"： 1}`, `1:6: invalid character '：' after object name; did you mean ':'?`},
		{"not UTF-8", "{\"模\": \"\xc4\xe3\"}", `1:8: the file is not encoded in UTF-8 here`},
		{"UTF-16", "\xff\xfe{\x00}\x00", `1:1: the file is encoded in UTF-16; save it as UTF-8`},
		{"column after byte order mark", "\uFEFF{\"a\": x}", `1:7: x is not a JSON value; keys and strings need double quotes`},
		{"column after comment", "{/* 模型 */ x}", `1:11: x is not a JSON value; keys and strings need double quotes`},
		{
			"deep nesting", `{"a": ` + strings.Repeat("[", 100_000),
			`1:70: lists and objects may nest 64 levels deep and no further`,
		},
		{
			"many values", `{"a": [` + strings.Repeat("1,", 1_100_000),
			`1:2000007: there are more than 1000000 values; this is no file of this program`,
		},
		{
			"deep nesting without title", strings.Repeat("[", 100_000) + "{",
			`1:65: lists and objects may nest 64 levels deep and no further`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := Parse("f.json", []byte(test.src))
			if diff := cmp.Diff([]string{test.want}, strs(f.Problems())); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if f.Keys() != nil || f.Has("") {
				t.Errorf("Keys() = %q, Has(\"\") = %t", f.Keys(), f.Has(""))
			}
			f.Decode(&struct {
				A int `json:"a" required:"true"`
			}{})
			if n := len(f.Problems()); n != 1 {
				t.Errorf("%d problems after Decode, want the syntax error only", n)
			}
		})
	}
}

func TestNestingLimit(t *testing.T) {
	inner := maxNesting - 1 // the root object is a level too
	f := Parse("f.json", []byte(`{"a": `+strings.Repeat("[", inner)+strings.Repeat("]", inner)+"}"))
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

func TestDuplicateKeys(t *testing.T) {
	f := Parse("f.json", []byte("{\n\"a\": 1,\n\"b\": [{\"c\": 1,\n  \"c\": \"x\"}],\n\"a\": {},\n\"\\u0061\": 2}"))
	var got struct {
		A int `json:"a"`
		B []struct {
			C int `json:"c"`
		} `json:"b"`
	}
	f.Decode(&got)
	want := []string{
		`4:3: b[0].c: duplicate key "c"; it is first given on line 3`,
		`5:1: a: duplicate key "a"; it is first given on line 2`,
		`6:1: a: duplicate key "a"; it is first given on line 2`,
	}
	if diff := cmp.Diff(want, strs(f.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got.A != 1 || got.B[0].C != 1 {
		t.Errorf("decoded %+v, want the first values", got)
	}
}

func TestHas(t *testing.T) {
	f := Parse("f.json", []byte(`{"a": {"b": [[1], null]}, "Qwen2.5": {"x": null}, "": {"\n": 1}}`))
	for path, want := range map[string]bool{
		"":              true,
		"a":             true,
		"a.b":           true,
		"a.b[0]":        true,
		"a.b[0][0]":     true,
		"a.b[1]":        true,
		"a.b[2]":        false,
		"a.c":           false,
		"b":             false,
		"Qwen2.5.x":     true,
		`"".` + `"\n"`:  true,
		"Qwen2.5.x.foo": false,
	} {
		if got := f.Has(path); got != want {
			t.Errorf("Has(%q) = %t, want %t", path, got, want)
		}
	}
}

func TestProblemf(t *testing.T) {
	f := Parse("f.json", []byte("{\n  \"a\": {\n    \"b\": [1,\n 2]}}"))
	f.Problemf("a.b[1]", "is %d", 2)
	f.Problemf("a.b[7].c", "is missing")
	f.Problemf("a.x", "is %s", "missing")
	f.Problemf("a.x", "is %s", "missing")
	f.Problemf("y", "is missing")
	f.Problemf("", "is odd")
	f.Warnf("a.b", "is old")
	want := []string{
		"1:1: is odd",
		"1:1: y: is missing",
		"2:8: a.x: is missing",
		"3:10: a.b[7].c: is missing",
		"4:2: a.b[1]: is 2",
	}
	if diff := cmp.Diff(want, strs(f.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"3:10: a.b: is old"}, strs(f.Warnings())); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestProblemfWithoutContent(t *testing.T) {
	f := Parse("f.json", []byte("x"))
	f.Problemf("a.b", "is missing")
	want := "f.json: a.b: is missing\nf.json:1:1: the file has no opening brace; it must hold an object in braces { }"
	if got := f.Err().Error(); got != want {
		t.Errorf("Err() = %s\nwant %s", got, want)
	}
}

func TestJoin(t *testing.T) {
	one, two := Parse("1.json", []byte("x")), Parse("2.json", []byte("{}"))
	if err := Join(nil, two.Err()); err != nil {
		t.Errorf("Join of nothing = %v", err)
	}
	two.Problemf("a", "is missing")
	err := Join(two.Err(), nil, errors.New("no such file"), one.Err())
	want := &Error{[]Problem{
		{"2.json", 1, 1, "a", "is missing"},
		{Message: "no such file"},
		{"1.json", 1, 1, "", "the file has no opening brace; it must hold an object in braces { }"},
	}}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("Join (-want +got):\n%s", diff)
	}
	text := "2.json:1:1: a: is missing\nno such file\n1.json:1:1: the file has no opening brace; it must hold an object in braces { }"
	if err.Error() != text {
		t.Errorf("Error() = %s\nwant %s", err, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range []string{
		"", "{}", "{\"a\": [1, -2.5e3, \"x\\u00e9\", null, true, {\"b\": {}}],}", "title：\n{ # x\n}", "```\n{}\n```",
		"\uFEFF{\"模\": /* 型 */ '", "[{", "{\"a\": \"", "/*", "{\"a\": 1, \"a\": 2}", "{\"a\": \xff}", "{\"s\": []}",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file := Parse("f.json", src)
		var into sample
		file.Decode(&into)
		lines := strings.Split(strings.TrimPrefix(string(src), "\uFEFF"), "\n")
		for _, p := range append(file.Problems(), file.Warnings()...) {
			if p.Line < 1 || p.Line > len(lines) {
				t.Fatalf("line out of range: %v", p)
			}
			if columns := len([]rune(lines[p.Line-1])); p.Column < 1 || p.Column > columns+1 {
				t.Fatalf("column out of range: %v", p)
			}
			if strings.Contains(p.String(), "\n") {
				t.Fatalf("several lines: %q", p)
			}
		}
		if (file.Keys() == nil) == file.Has("") {
			t.Fatalf("Keys() = %q, Has(\"\") = %t", file.Keys(), file.Has(""))
		}
	})
}

func TestSoundAndLacks(t *testing.T) {
	f := Parse("f.json", []byte(`{"name": "n", "part": {"X": 1, "y": 2}, "parts": [{"x": "1"}, {"x": 2}], "fs": [0], "f": 0.5}`))
	f.Decode(&sample{})
	for path, want := range map[string]bool{
		"": false, "name": true, "part": false, "part.y": true, "parts": false, "parts[0]": false, "parts[0].x": false,
		"parts[1]": true, "parts[1].x": true, "parts[2]": false, "fs": false, "f": true,
	} {
		if got := f.Sound(path); got != want {
			t.Errorf("Sound(%q) = %t", path, got)
		}
	}
	for path, want := range map[string]bool{"name": false, "part.x": false, "part.y": false, "s": true} {
		if got := f.Lacks(path); got != want {
			t.Errorf("Lacks(%q) = %t", path, got)
		}
	}
}
