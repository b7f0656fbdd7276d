package document

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample has a field of every kind.
type sample struct {
	common
	S       string               `json:"s"`
	B       bool                 `json:"b"`
	I       int                  `json:"i" range:"[1,inf)"`
	I8      int8                 `json:"i8"`
	F       float64              `json:"f" range:"(0,1]" unit:"s"`
	Full    []string             `json:"full" nonempty:"true"`
	Mode    string               `json:"mode" enum:"roofline,no_overlap"`
	Modes   []string             `json:"modes" enum:"roofline,no_overlap"`
	Fs      []float64            `json:"fs" range:"(0,inf)"`
	Pair    [2]int               `json:"pair" range:"[0,9]"`
	Grid    [][3]*float64        `json:"grid" range:"[0,1)" form:"[a, b, c]"`
	One     [1]bool              `json:"one"`
	Maybe   *float64             `json:"maybe" range:"(-inf,5)"`
	Default int                  `json:"default" null:"ok"`
	Part    part                 `json:"part"`
	Opt     *part                `json:"opt"`
	Parts   []part               `json:"parts"`
	Ptrs    []*part              `json:"ptrs"`
	Map     map[string]part      `json:"map" nonempty:"true"`
	Types   map[string][]float64 `json:"types" keys:"float4,float8" range:"(0,inf)"`
	U       union                `json:"u"`
	Us      []union              `json:"us"`
	UP      *union               `json:"up"`
	Text    string               `json:"text" nonempty:"true"`
	NoJSON  int
	Ignored int `json:"-"`
}

type common struct {
	Name string `json:"name" aka:"title" doc:"What it is called."`
}

type part struct {
	X int `json:"x" required:"true"`
	Y int `json:"y"`
}

func (p *part) SetDefaults() { p.Y = 7 }

// A union is a number or a list of numbers.
type union struct {
	nums []float64
	null bool
}

func (u *union) DecodeDocument(v Value) {
	switch v.Kind() {
	case Null:
		u.null = true
	case Number:
		x, _ := v.Float()
		u.nums = []float64{x}
	case List:
		v.Decode(&u.nums)
	default:
		v.Problemf("must be a number or a list of numbers, not %s", v.Describe())
	}
}

func TestDecode(t *testing.T) {
	src := `{
		"name": "n", "s": "é\n", "b": true, "i": 1e3, "i8": -128.0, "f": 1, "full": ["a"], "mode": "roofline",
		"modes": [], "fs": [1, 2.5], "pair": [0, 9], "grid": [[0, null, 0.5]], "one": [false], "maybe": -1,
		"default": null, "part": {"x": 1}, "opt": {"x": 2}, "parts": [{"x": 3, "y": 4}, {"x": 5}],
		"ptrs": [{"x": 6}, null], "map": {"k": {"x": 8}}, "types": {"float8": [1]},
		"u": null, "us": [1, [2, 3], null], "up": 4, "text": "t",
	}`
	got := sample{Default: 5, Part: part{Y: 6}, NoJSON: 1, Ignored: 2, Fs: []float64{9, 9, 9}}
	f := Parse("f.json", []byte(src))
	f.Decode(&got)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	zero, half, minus := 0.0, 0.5, -1.0
	want := sample{
		common: common{"n"}, S: "é\n", B: true, I: 1000, I8: -128, F: 1, Full: []string{"a"}, Mode: "roofline",
		Modes: []string{}, Fs: []float64{1, 2.5}, Pair: [2]int{0, 9}, Grid: [][3]*float64{{&zero, nil, &half}}, Maybe: &minus,
		Default: 5, Part: part{1, 6}, Opt: &part{2, 7}, Parts: []part{{3, 4}, {5, 7}},
		Ptrs: []*part{{6, 7}, nil}, Map: map[string]part{"k": {8, 7}}, Types: map[string][]float64{"float8": {1}},
		U: union{null: true}, Us: []union{{nums: []float64{1}}, {nums: []float64{2, 3}}, {null: true}}, UP: &union{nums: []float64{4}},
		Text: "t", NoJSON: 1, Ignored: 2,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{}, union{})); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestDecodeProblems(t *testing.T) {
	long := strings.Repeat("0123456789", 5)
	for _, test := range []struct {
		src  string
		want []string
	}{
		// Keys.
		{`{"nme": 1}`, []string{`1:2: nme: unknown key "nme"; did you mean "name"?`}},
		{`{"title": "t"}`, []string{`1:2: title: unknown key "title"; did you mean "name"?`}},
		{`{"模型": 1, "Qwen": 1}`, []string{
			`1:2: 模型: unknown key "模型"; allowed: ` + allKeys,
			`1:11: Qwen: unknown key "Qwen"; allowed: ` + allKeys,
		}},
		{"{\r\n\t\"part\": {\r\n\t\t\"z\": 1}}", []string{
			`2:10: part: missing required key "x"`,
			`3:3: part.z: unknown key "z"; allowed: x, y`,
		}},
		{`{"part": {"$schema": "", "x": 1}}`, []string{`1:11: part.$schema: unknown key "$schema"; allowed: x, y`}},
		{`{"opt": {}}`, []string{`1:9: opt: missing required key "x"`}},
		{`{"opt": {"X": 1}}`, []string{`1:10: opt.X: unknown key "X"; did you mean "x"?`}},
		{`{"types": {"float16": []}}`, []string{`1:12: types.float16: unknown key "float16"; did you mean "float4"?`}},
		{`{"types": {"bf": []}}`, []string{`1:12: types.bf: unknown key "bf"; allowed: float4, float8`}},
		{"{\"a\\nb\": 1}", []string{`1:2: "a\nb": unknown key "a\nb"; allowed: ` + allKeys}},

		// Types.
		{`{"s": 5}`, []string{`1:7: s: must be a string, not the number 5`}},
		{`{"b": "true"}`, []string{`1:7: b: must be true or false, not the string "true"`}},
		{`{"i": true}`, []string{`1:7: i: must be a whole number, not true`}},
		{`{"f": "abc"}`, []string{`1:7: f: must be a number, not the string "abc"`}},
		{`{"f": "` + long + `"}`, []string{`1:7: f: must be a number, not the string "` + long[:39] + `…"`}},
		{`{"fs": 1}`, []string{`1:8: fs: must be a list of numbers, not the number 1; did you mean [1]?`}},
		{`{"full": "x"}`, []string{`1:10: full: must be a list of strings, not the string "x"; did you mean ["x"]?`}},
		{`{"parts": {}}`, []string{`1:11: parts: must be a list of objects, not an object`}},
		{`{"ptrs": {}}`, []string{`1:10: ptrs: must be a list of objects, not an object`}},
		{`{"us": 1}`, []string{`1:8: us: must be a list of values, not the number 1`}},
		{`{"part": []}`, []string{`1:10: part: must be an object, not a list`}},
		{`{"opt": 1}`, []string{`1:9: opt: must be an object, not the number 1`}},
		{`{"map": 1}`, []string{`1:9: map: must be an object, not the number 1`}},
		{`{"u": {}}`, []string{`1:7: u: must be a number or a list of numbers, not an object`}},
		{`{"u": [1, "x"]}`, []string{`1:11: u[1]: must be a number, not the string "x"`}},

		// Lists of a fixed length.
		{`{"pair": [1]}`, []string{`1:10: pair: must be a list of 2 whole numbers, not of 1`}},
		{`{"pair": 1}`, []string{`1:10: pair: must be a list of 2 whole numbers, not the number 1`}},
		{`{"grid": 1}`, []string{`1:10: grid: must be a list of lists [a, b, c], not the number 1`}},
		{`{"grid": [[0, 0], 1]}`, []string{
			`1:11: grid[0]: must be a list of 3 numbers [a, b, c], not of 2`,
			`1:19: grid[1]: must be a list of 3 numbers [a, b, c], not the number 1`,
		}},
		{`{"grid": [0, null, 0.5]}`, []string{`1:10: grid: must be a list of lists [a, b, c], not a single one; did you mean [[0, null, 0.5]]?`}},
		{`{"grid": [0, 0]}`, []string{`1:10: grid: must be a list of lists [a, b, c], not a single one`}},
		{`{"grid": [{}, 0, 0]}`, []string{`1:10: grid: must be a list of lists [a, b, c], not a single one`}},
		{`{"one": []}`, []string{`1:9: one: must be a list of 1 boolean, not of 0`}},

		// Null and emptiness.
		{`{"s": null}`, []string{`1:7: s: must be a string, not null`}},
		{`{"part": null}`, []string{`1:10: part: must be an object, not null`}},
		{`{"pair": [1, null]}`, []string{`1:14: pair[1]: must be a whole number, not null`}},
		{`{"full": [], "map": {}, "text": ""}`, []string{
			`1:10: full: must not be empty`,
			`1:21: map: must not be empty`,
			`1:33: text: must not be empty`,
		}},

		// Numbers.
		{`{"i": 1.5}`, []string{`1:7: i: must be a whole number, not 1.5`}},
		{`{"i": 9223372036854775808}`, []string{`1:7: i: 9223372036854775808 is out of range`}},
		{`{"i": -9223372036854775809}`, []string{`1:7: i: must be at least 1, not -9223372036854775809`}},
		{`{"i8": 128}`, []string{`1:8: i8: 128 is out of range`}},
		{`{"f": 1e999}`, []string{`1:7: f: must be at most 1 s, not 1e999`}},
		{`{"i": 0}`, []string{`1:7: i: must be at least 1, not 0`}},
		{`{"f": 1.2}`, []string{`1:7: f: must be at most 1 s, not 1.2`}},
		{`{"f": 0.0}`, []string{`1:7: f: must be greater than 0, not 0.0`}},
		{`{"fs": [1, -5, 0]}`, []string{
			`1:12: fs[1]: must be greater than 0, not -5`,
			`1:16: fs[2]: must be greater than 0, not 0`,
		}},
		{`{"maybe": 5}`, []string{`1:11: maybe: must be less than 5, not 5`}},
		{"{\"grid\": [[0,0,0],\n[0,1,0]]}", []string{`2:4: grid[1][1]: must be less than 1, not 1`}},
		{`{"types": {"float4": [0]}}`, []string{`1:23: types.float4[0]: must be greater than 0, not 0`}},

		// Enumerations.
		{`{"mode": "rooflin"}`, []string{`1:10: mode: "rooflin" is not one of "roofline", "no_overlap"; did you mean "roofline"?`}},
		{`{"modes": ["roofline", "x"]}`, []string{`1:24: modes[1]: "x" is not one of "roofline", "no_overlap"`}},
	} {
		f := Parse("f.json", []byte(test.src))
		f.Decode(&sample{})
		if diff := cmp.Diff(test.want, strs(f.Problems())); diff != "" {
			t.Errorf("problems of %s (-want +got):\n%s", test.src, diff)
		}
	}
}

const allKeys = "name, s, b, i, i8, f, full, mode, modes, fs, pair, grid, one, maybe, default, part, opt, parts, ptrs, map, types, u, us, up, text"

// A field with a problem is as before, and the problems of other fields are
// still found.
func TestDecodeKeepsDefaults(t *testing.T) {
	five := 5.0
	defaults := func() sample {
		return sample{
			S: "d", I: 3, Pair: [2]int{1, 2}, Maybe: &five, Fs: []float64{1}, Mode: "no_overlap",
			Map: map[string]part{"d": {}}, Types: map[string][]float64{"d": nil}, Part: part{X: 1, Y: 2},
		}
	}
	f := Parse("f.json", []byte(`{
		"s": 1, "i": 1.5, "pair": [3, "x"], "maybe": 6, "fs": [2, -1], "mode": "x",
		"map": {"a": 1}, "types": {"float4": [1], "x": []}, "part": {"x": 4, "y": "z"},
	}`))
	got := defaults()
	f.Decode(&got)
	if n := len(f.Problems()); n != 9 {
		t.Errorf("%d problems, want 9: %v", n, f.Err())
	}
	want := defaults()
	want.Part.X = 4
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{}, union{})); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestDecodeDoesNotChangeSharedDefaults(t *testing.T) {
	five := 5.0
	got := sample{Maybe: &five, Opt: &part{X: 1, Y: 2}}
	opt := got.Opt
	f := Parse("f.json", []byte(`{"maybe": 4, "opt": {"x": 3}}`))
	f.Decode(&got)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	if five != 5 || *opt != (part{1, 2}) {
		t.Errorf("defaults are now %v and %v", five, *opt)
	}
	if *got.Maybe != 4 || *got.Opt != (part{3, 2}) {
		t.Errorf("decoded %v and %v", *got.Maybe, *got.Opt)
	}

	f = Parse("f.json", []byte(`{"maybe": null}`))
	f.Decode(&got)
	if got.Maybe != nil {
		t.Errorf("null decoded to %v", *got.Maybe)
	}
}

// A probe records the elements of the list it is decoded from.
type probe []string

func (p *probe) DecodeDocument(v Value) {
	for _, e := range v.Elements() {
		line := fmt.Sprintf("%d:%d %s: %s", e.Line(), e.Column(), e.Path(), e.Describe())
		if b, ok := e.Bool(); ok {
			line += fmt.Sprintf(", bool %t", b)
		}
		if n, ok := e.Int(); ok {
			line += fmt.Sprintf(", int %d", n)
		}
		if x, ok := e.Float(); ok {
			line += fmt.Sprintf(", float %g", x)
		}
		if s, ok := e.String(); ok {
			line += fmt.Sprintf(", string %s", s)
		}
		*p = append(*p, line)
	}
}

func TestValue(t *testing.T) {
	f := Parse("f.json", []byte("{\"all\":\n [null, true, 1.0, 1.5, \"模\", [], {}, 1e99, 1e999]}"))
	var got struct {
		All probe `json:"all"`
	}
	f.Decode(&got)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	want := probe{
		`2:3 all[0]: null`,
		`2:9 all[1]: true, bool true`,
		`2:15 all[2]: the number 1.0, int 1, float 1`,
		`2:20 all[3]: the number 1.5, float 1.5`,
		`2:25 all[4]: the string "模", string 模`,
		`2:30 all[5]: a list`,
		`2:34 all[6]: an object`,
		`2:38 all[7]: the number 1e99, float 1e+99`,
		`2:44 all[8]: the number 1e999`,
	}
	if diff := cmp.Diff(want, got.All); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestWholeNumber(t *testing.T) {
	for _, test := range []struct {
		literal     string
		n           int64
		whole, fits bool
	}{
		{"0", 0, true, true},
		{"-0.00", 0, true, true},
		{"0e999999999999", 0, true, true},
		{"12", 12, true, true},
		{"-12.0", -12, true, true},
		{"1200", 1200, true, true},
		{"1.25E+2", 125, true, true},
		{"1250e-1", 125, true, true},
		{"125e-1", 0, false, false},
		{"0.1", 0, false, false},
		{"1.00000000000000000000000001", 0, false, false},
		{"1e-999999999999", 0, false, false},
		{"1e999999999999", 0, true, false},
		{"1e19", 0, true, false},
		{"9223372036854775807", math.MaxInt64, true, true},
		{"-9223372036854775808.0", math.MinInt64, true, true},
	} {
		n, whole, fits := parseInteger(test.literal)
		if whole != test.whole || fits != test.fits || fits && n != test.n {
			t.Errorf("parseInteger(%s) = %d, %t, %t, want %d, %t, %t", test.literal, n, whole, fits, test.n, test.whole, test.fits)
		}
	}
}

func TestMistakesInTheProgramPanic(t *testing.T) {
	for _, test := range []struct {
		name string
		into any
	}{
		{"no pointer", sample{}},
		{"nil pointer", (*sample)(nil)},
		{"unsupported type", &struct {
			A chan int `json:"a"`
		}{}},
		{"invalid range", &struct {
			A int `json:"a" range:"0,1"`
		}{}},
		{"empty range", &struct {
			A int `json:"a" range:"(1,0)"`
		}{}},
		{"range of strings", &struct {
			A []string `json:"a" range:"[0,1]"`
		}{}},
		{"range of custom type", &struct {
			A union `json:"a" range:"[0,1]"`
		}{}},
		{"enum of numbers", &struct {
			A int `json:"a" enum:"1,2"`
		}{}},
		{"keys of struct", &struct {
			A part `json:"a" keys:"x"`
		}{}},
		{"unit without range", &struct {
			A int `json:"a" unit:"s"`
		}{}},
		{"form of a number", &struct {
			A int `json:"a" form:"[a, b]"`
		}{}},
		{"nonempty number", &struct {
			A int `json:"a" nonempty:"true"`
		}{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			Parse("f.json", []byte(`{"a": 1}`)).Decode(test.into)
		})
	}
}
