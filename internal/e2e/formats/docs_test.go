package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/hardware"
	"throughline/internal/cli"
	"throughline/internal/document"
	"throughline/internal/fitted"
	"throughline/internal/jobfile"
	"throughline/internal/test/golden"
	"throughline/model"
	"throughline/op"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(golden.Root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// A row is what docs/formats.md says about a key.
type row struct {
	required bool
	effect   bool
}

var (
	keyTable = regexp.MustCompile(`(?m)^<!-- keys: (\w+)(.*) -->\n\|.*\n\|[-|]+\|\n((?:\|.*\n)+)`)
	keyRow   = regexp.MustCompile("^\\| `([^`]+)` \\| (.+) \\| (.+) \\| (.+) \\| (yes|none yet)(?:: .+)? \\|$")
)

// documented is the rows of each format by key, the section in front of it in the runtime format.
func documented(t *testing.T) map[string]map[string]row {
	t.Helper()
	formats := map[string]map[string]row{}
	for _, table := range keyTable.FindAllStringSubmatch(readDoc(t, "formats.md"), -1) {
		format, prefixes, lines := table[1], strings.Fields(table[2]), strings.TrimSpace(table[3])
		if formats[format] == nil {
			formats[format] = map[string]row{}
		}
		for i := range prefixes {
			prefixes[i] += "."
		}
		if len(prefixes) == 0 {
			prefixes = []string{""}
		}
		for line := range strings.SplitSeq(lines, "\n") {
			cells := keyRow.FindStringSubmatch(line)
			if cells == nil {
				t.Errorf("this row is not of the form key, value, default, meaning, yes or none yet: %s", line)
				continue
			}
			for _, prefix := range prefixes {
				key := prefix + cells[1]
				if _, twice := formats[format][key]; twice {
					t.Errorf("%s: %s is documented twice", format, key)
				}
				formats[format][key] = row{required: strings.HasPrefix(cells[3], "required"), effect: cells[5] == "yes"}
			}
		}
	}
	return formats
}

// A format is its keys and their tests.
type format struct {
	keys   []string
	tests  []keyTest
	schema func() ([]byte, error)
}

func formats() map[string]format {
	var runtime []keyTest
	for _, s := range sections {
		runtime = append(runtime, runtimeTestsOf(s.name, s.tests)...)
	}
	return map[string]format{
		"runtime": {document.Leaves(&jobfile.File{}), runtime, jobfile.Schema},
		"system":  {document.Leaves(&hardware.File{}), systemTests, hardware.Schema},
		"model":   {document.Leaves(&model.File{}), slices.Concat(modelTests, mixTests), model.Schema},
		"fitted":  {document.Leaves(&fitted.File{}), fittedKeys(), fitted.Schema},
	}
}

// Every key is documented, no other is, and each has the effect that the document says.
func TestEveryKeyIsDocumentedAndTested(t *testing.T) {
	docs := documented(t)
	for name, format := range formats() {
		rows := docs[name]
		for _, key := range format.keys {
			if _, ok := rows[key]; !ok {
				t.Errorf("%s: docs/formats.md lacks the key %s", name, key)
			}
		}
		// A key with at least one result that it moves has an effect, even if a part of its value
		// has none.
		moves := map[string]bool{}
		for _, k := range format.tests {
			moves[k.key] = moves[k.key] || k.want != nil
			if _, ok := rows[k.key]; !ok {
				t.Errorf("%s: there is a test of %s, which docs/formats.md does not list", name, k.key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			if !slices.ContainsFunc(format.keys, func(pattern string) bool { return isCase(key, pattern) }) {
				t.Errorf("%s: docs/formats.md lists %s, which is no key", name, key)
			}
			effect, tested := moves[key]
			switch {
			case !tested:
				t.Errorf("%s: no test changes %s", name, key)
			case effect && !rows[key].effect:
				t.Errorf("%s: %s is documented as without effect, but a test expects one", name, key)
			case !effect && rows[key].effect:
				t.Errorf("%s: %s is documented as having an effect, but no test expects one", name, key)
			}
		}
	}
}

// isCase reports whether a key is a pattern of document.Leaves, or one case of it: ops.p2p of
// ops.*.
func isCase(key, pattern string) bool {
	quoted := strings.NewReplacer("[", `\[`, "]", `\]`, ".", "/")
	ok, err := path.Match(quoted.Replace(pattern), strings.ReplaceAll(key, ".", "/"))
	return ok && err == nil
}

// The document calls exactly those keys required that the formats require.
func TestRequiredKeys(t *testing.T) {
	docs := documented(t)
	for name, format := range formats() {
		text, err := format.schema()
		if err != nil {
			t.Fatal(err)
		}
		required := map[string]bool{}
		requiredOf("", parse(string(text)).(map[string]any), required)
		for _, key := range format.keys {
			if required[key] != docs[name][key].required {
				t.Errorf("%s: the format says %s is required: %v; docs/formats.md says %v", name, key, required[key], !required[key])
			}
		}
	}
}

// requiredOf collects the required keys of a schema, named as document.Leaves does.
func requiredOf(at string, schema map[string]any, into map[string]bool) {
	if items, ok := schema["items"].(map[string]any); ok && items["properties"] != nil {
		requiredOf(at+"[]", items, into)
	}
	join := func(key string) string { return strings.TrimPrefix(at+"."+key, ".") }
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		requiredOf(join("*"), values, into)
	}
	names, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for key, property := range properties {
		into[join(key)] = slices.Contains(names, any(key))
		requiredOf(join(key), property.(map[string]any), into)
	}
}

var example = regexp.MustCompile("(?s)<!-- check: (\\w+) -->\n```json\n(.*?)```")

// The examples of the document have no problems, and the runtime example, which refers to the other
// two, runs.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for _, e := range example.FindAllStringSubmatch(readDoc(t, "formats.md"), -1) {
		name := filepath.Join(dir, e[1]+".json")
		names = append(names, name)
		if err := os.WriteFile(name, []byte(e[2]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) != 4 {
		t.Fatalf("there are %d examples, not one of each format", len(names))
	}
	call := func(args ...string) (stdout []byte) {
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), args, cli.Streams{Out: &out, Err: &errs}); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, &errs)
		}
		return out.Bytes()
	}
	call(append([]string{"check"}, names...)...)
	var runs []map[string]any
	if err := json.Unmarshal(call("run", "-c", filepath.Join(dir, "runtime.json"), "-o", dir, "--json"), &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs) != 4 {
		t.Errorf("two models on two systems are %d runs", len(runs))
	}
	for i, run := range runs {
		if run["reasons"] != nil {
			t.Errorf("run %d has no plan: %v", i, run["reasons"])
		}
	}
}

// Every operator has its formula in docs/model.md.
func TestEveryOperatorIsDocumented(t *testing.T) {
	text := readDoc(t, "model.md")
	for k := range op.KindCount {
		if !strings.Contains(text, "`"+k.String()+"`") {
			t.Errorf("docs/model.md lacks the operator %q", k)
		}
	}
}

// docs/model.md has the values of both presets.
func TestEveryAssumptionIsDocumented(t *testing.T) {
	text := readDoc(t, "model.md")
	physical := assume.Physical.Describe()
	for i, r := range assume.Reference.Describe() {
		row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", r.Name, r.Value, physical[i].Value, r.Doc)
		if !strings.Contains(text, row) {
			t.Errorf("docs/model.md lacks the row\n%s", row)
		}
	}
}

// Every type of Hugging Face config is in docs/models.md.
func TestConfigTypesAreDocumented(t *testing.T) {
	text := readDoc(t, "models.md")
	for _, name := range model.ConfigTypes() {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/models.md lacks the model_type %q", name)
		}
	}
}

var command = regexp.MustCompile(`(?m)^throughline models show (\S+) --json > my_model.json$`)

// The commands of docs/models.md that need no file of the reader's work.
func TestModelCommands(t *testing.T) {
	found := command.FindAllStringSubmatch(readDoc(t, "models.md"), -1)
	if len(found) == 0 {
		t.Fatal("no command found")
	}
	for _, c := range found {
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), []string{"models", "show", c[1], "--json"}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
			t.Errorf("%s: %s", c[0], &errs)
		}
		if _, _, doc := model.Read("my_model.json", out.Bytes()); doc.Err() != nil {
			t.Errorf("%s: %v", c[0], doc.Err())
		}
	}
}
