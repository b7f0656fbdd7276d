package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"testing"

	"throughline/internal/cli"
)

// inputs are a runtime, a model and a system file as JSON trees.
type inputs struct {
	section string // of the runtime file
	files   map[string]any
}

// with is a copy in which the value at a path is another one; no JSON at all leaves the key out.
// The first element of the path is the file: runtime (inside its section), model, system.
func (in inputs) with(path, value string) inputs {
	out := inputs{section: in.section, files: clone(in.files).(map[string]any)}
	var v any
	if value != "" {
		v = parse(value)
	}
	put(out.files, steps(path), v, value == "")
	return out
}

// in is the same under another section of the runtime file, whose keys for the decode phase have
// other names.
func (in inputs) in(section string) inputs {
	out := inputs{section: section, files: clone(in.files).(map[string]any)}
	if section == "pd-fusion" {
		return out
	}
	r := out.files["runtime"].(map[string]any)
	for fused, split := range decodeKeys {
		r[split] = r[fused]
		delete(r, fused)
	}
	// As many processors again for prefill.
	procs := r["num_procs_list"].([]any)[0].(float64)
	r["num_procs_list"] = []any{2 * procs}
	r["pd_num_procs_list"] = []any{[]any{procs, procs}}
	return out
}

// decodeKeys are the keys of pd-fusion and those of the decode phase in the split modes.
var decodeKeys = map[string]string{
	"parallel_config":     "d_parallel_config",
	"moe_parallel_config": "d_moe_parallel_config",
	"batch_config":        "d_micro_batch_size",
}

func parse(text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return v
}

func clone(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return parse(string(b))
}

var step = regexp.MustCompile(`[^.\[\]]+`)

// steps are the keys and indices of a path like networks[0].ops.p2p.
func steps(path string) []string { return step.FindAllString(path, -1) }

// put sets or deletes what the steps lead to. Objects on the way are made as needed.
func put(at any, steps []string, v any, remove bool) {
	last := len(steps) == 1
	switch at := at.(type) {
	case []any:
		i, err := strconv.Atoi(steps[0])
		if err != nil {
			panic(err)
		}
		if last {
			at[i] = v
			return
		}
		put(at[i], steps[1:], v, remove)
	case map[string]any:
		switch {
		case last && remove:
			delete(at, steps[0])
			return
		case last:
			at[steps[0]] = v
			return
		case at[steps[0]] == nil:
			at[steps[0]] = map[string]any{}
		}
		put(at[steps[0]], steps[1:], v, remove)
	}
}

// results are what the program made of inputs.
type results struct {
	runs   []map[string]any // by name of the CSV field
	folder string           // where it wrote them
	tables []string         // the files there
	errs   string           // what it had to say
}

// Two results that are no fields of the table.
const (
	numberOfRuns = "number of runs"
	folder       = "folder of the results"
)

// value is a field of the first run, or one of the two above.
func (r results) value(field string) any {
	switch field {
	case numberOfRuns:
		return float64(len(r.runs))
	case folder:
		return r.folder
	}
	if len(r.runs) == 0 {
		return nil
	}
	return r.runs[0][field]
}

// run writes the inputs to a folder and runs the program on them.
func (in inputs) run(t *testing.T) results {
	t.Helper()
	dir := t.TempDir()
	runtime := clone(in.files["runtime"]).(map[string]any)
	if out, ok := runtime["output"].(string); ok {
		runtime["output"] = filepath.Join(dir, out)
	}
	files := map[string]any{"runtime.json": map[string]any{in.section: runtime}}
	for name, content := range in.files {
		if name != "runtime" {
			files[name+".json"] = content
		}
	}
	for name, content := range files {
		b, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	args := []string{"run", "-c", filepath.Join(dir, "runtime.json"), "--json"}
	if flags, ok := in.files["flags"].(map[string]any); ok {
		args = append(args, "--assume", flags["assume"].(string))
	}
	code := cli.Run(t.Context(), args, cli.Streams{Out: &out, Err: &errs})
	r := results{errs: errs.String()}
	if code != 0 {
		return r
	}
	var runs []map[string]any
	if err := json.Unmarshal(out.Bytes(), &runs); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		r.runs = append(r.runs, flat(run))
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*", "*.csv"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%d tables were written: %v (%v)", len(tables), tables, err)
	}
	r.folder = filepath.Base(filepath.Dir(tables[0]))
	for _, name := range tables {
		r.tables = append(r.tables, filepath.Base(name))
	}
	return r
}

// flat is all fields of a run by name. What several tables have is that of the last one that knows
// it: the whole deployment before one instance of the decode before one of the prefill.
func flat(run map[string]any) map[string]any {
	out := map[string]any{"reasons": run["reasons"]}
	for _, table := range []string{"prefill_best", "decoder_best", "result_best"} {
		for name, value := range run[table].(map[string]any) {
			if value != nil || out[name] == nil {
				out[name] = value
			}
		}
	}
	delete(out, "input_hash") // changes with every byte of the inputs
	return out
}

// mustRun fails the test if there is no result.
func (in inputs) mustRun(t *testing.T) results {
	t.Helper()
	r := in.run(t)
	if r.runs == nil {
		t.Fatalf("the program gave no result:\n%s", r.errs)
	}
	return r
}

// set is values by path, "" for a key that is left out.
type set map[string]string

func (in inputs) withAll(s set) inputs {
	for path, value := range s {
		in = in.with(path, value)
	}
	return in
}

// A keyTest changes one key and says what must move, and to what. A want of nothing: no result may
// change.
type keyTest struct {
	key    string // as document.Leaves names it; in the runtime format without the section
	base   inputs
	change set
	want   wants
}

// wants are expected values by name of the result.
type wants map[string]any

func (k keyTest) run(t *testing.T) {
	before := k.base.mustRun(t)
	after := k.base.withAll(k.change).mustRun(t)
	if k.want == nil {
		before.errs, after.errs = "", "" // they name the folder of the test
		if !reflect.DeepEqual(before, after) {
			t.Errorf("changes a result, although it is said to have no effect:\nbefore: %v\nafter:  %v", before, after)
		}
		return
	}
	for field, want := range k.want {
		old, got := before.value(field), after.value(field)
		if same(old, got) {
			t.Errorf("%s does not move: it stays %v", field, got)
		}
		if !same(want, got) {
			t.Errorf("%s is %v, by hand it is %v (before: %v)", field, got, want, old)
		}
	}
}

// same compares two values, numbers up to rounding.
func same(a, b any) bool {
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		d := x - y
		return max(d, -d) <= 1e-12*max(x, -x, y, -y)
	}
	return a == b
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// name tells the tests of one key apart.
func (k keyTest) name(i int) string { return fmt.Sprintf("%s/%d", k.key, i) }
