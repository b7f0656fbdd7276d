package formats

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/internal/cli"
	"throughline/internal/document"
	"throughline/internal/scenario"
)

// scenarioBase is a scenario file, key by key.
var scenarioBase = map[string]string{
	"model": `"gpt2"`, "engine": `"transformers"`, "weights": `"fp32"`, "requests": `8`, "input": `16`, "output": `4`,
	"scenarios[].prefill": `"H200"`, "scenarios[].decode": `"Xeon_16"`,
}

// scenarioChanges are values of every key that change the table.
var scenarioChanges = map[string]string{
	"model": `"llama_3_8b"`, "engine": `"none"`, "weights": `"bf16"`, "requests": `9`, "input": `17`, "output": `5`,
	"scenarios[].name": `"mine"`, "scenarios[].prefill": `"A100_SXM"`, "scenarios[].decode": `"H100_SXM"`, "scenarios[].prefill_tp": `2`, "scenarios[].decode_tp": `2`,
}

func scenarioText(keys map[string]string) string {
	var root, pair []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if inner, ok := strings.CutPrefix(k, "scenarios[]."); ok {
			pair = append(pair, `"`+inner+`": `+keys[k])
		} else {
			root = append(root, `"`+k+`": `+keys[k])
		}
	}
	return "{" + strings.Join(root, ", ") + `, "scenarios": [{` + strings.Join(pair, ", ") + "}]}"
}

func scenarioTable(t *testing.T, keys map[string]string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(name, []byte(scenarioText(keys)), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := cli.Run(t.Context(), []string{"scenario", name, "--csv"}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("%s: exit code %d: %s", scenarioText(keys), code, &errs)
	}
	return out.String()
}

// Every key of the scenario format is documented, as required where it is, and changes the table.
func TestScenarioKeys(t *testing.T) {
	rows := documented(t)["scenario"]
	schema, err := scenario.Schema()
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	requiredOf("", parse(string(schema)).(map[string]any), required)
	before := scenarioTable(t, scenarioBase)
	keys := document.Leaves(&scenario.File{})
	for _, key := range keys {
		row, ok := rows[key]
		switch {
		case !ok:
			t.Errorf("docs/formats.md lacks the key %s", key)
		case row.required != required[key]:
			t.Errorf("%s: docs/formats.md says required %v, the format %v", key, row.required, required[key])
		case scenarioChanges[key] == "":
			t.Errorf("no test changes %s", key)
			continue
		}
		changed := maps.Clone(scenarioBase)
		changed[key] = scenarioChanges[key]
		if key == "weights" { // which the CPU of the base does not have
			changed["scenarios[].decode"] = `"Xeon"`
			before := maps.Clone(scenarioBase)
			before["scenarios[].decode"] = `"Xeon"`
			if scenarioTable(t, changed) == scenarioTable(t, before) {
				t.Error("weights change nothing")
			}
			continue
		}
		if scenarioTable(t, changed) == before {
			t.Errorf("%s = %s changes nothing", key, changed[key])
		}
	}
	for key := range rows {
		if !slices.Contains(keys, key) {
			t.Errorf("docs/formats.md lists %s, which is no key", key)
		}
	}
}
