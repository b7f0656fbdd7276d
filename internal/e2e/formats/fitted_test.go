package formats

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/internal/cli"
)

// fittedTest changes a key of a fitted file. Either the file is refused or warned of, with these
// words, or what one client of Llama-3.1-8B on an H200 sees changes; where it is said to have no
// effect, nothing does.
type fittedTest struct {
	key, value string
	says       string
	moves      string // TTFT or TPOT, in the tables of simulate and estimate
}

var fittedTests = []fittedTest{
	{key: "model", value: `"Llama-3.1-70B"`, says: "model Llama-3.1-70B, not Llama-3.1-8B"},
	{key: "system", value: `"H100_SXM"`, says: "system H100_SXM, not H200"},
	{key: "engine", value: `"sglang"`, says: "was fitted to runs of sglang, not of vllm"},
	{key: "weights", value: `"fp8"`, says: "weights fp8, not bf16"},
	{key: "plan", value: `"dp1·pp1·tp8"`, says: "the measured runs are of dp1·pp1·tp8, this is dp1·pp1·tp1"},
	{key: "lengths", value: `[[8192, 1024]]`, moves: "mean_ttft_ms"},
	{key: "runs", value: `7`},
	{key: "source", value: `"elsewhere.csv"`},
	{key: "decode_scale", value: `2`, moves: "mean_tpot_ms"},
	{key: "prefill_scale", value: `2`, moves: "mean_ttft_ms"},
	{key: "first_token_ms", value: `500`, moves: "mean_ttft_ms"},
	{key: "first_wave_ms", value: `800`, moves: "mean_ttft_ms"},
}

// fittedKeys are the same for the test of the document.
func fittedKeys() []keyTest {
	var out []keyTest
	for _, k := range fittedTests {
		test := keyTest{key: k.key}
		if k.says+k.moves != "" {
			test.want = wants{k.key: k.moves}
		}
		out = append(out, test)
	}
	return out
}

const fittedBase = `{"model": "Llama-3.1-8B", "system": "H200", "engine": "vllm", "weights": "bf16", "plan": "dp1·pp1·tp1", "lengths": [[1024, 1024]], "runs": 1, "source": "runs.csv", "decode_scale": 1.1, "prefill_scale": 1.1}`

// TestFittedKeys: what is said to change results does, by as much as that should.
func TestFittedKeys(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fitted.json")
	simulate := func(content string) (map[string]any, string) {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		cli.Run(t.Context(), []string{"simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--engine", "vllm", "--isl", "1024", "--osl", "1024", "--concurrency", "8", "--num-prompts", "16", "--cold", "--json", "--fitted", name}, cli.Streams{Out: &out, Err: &errs})
		var result map[string]any
		json.Unmarshal(out.Bytes(), &result) // none where it was refused
		return result, errs.String()
	}
	before, _ := simulate(fittedBase)
	for _, k := range fittedTests {
		var file map[string]any
		if err := json.Unmarshal([]byte(fittedBase), &file); err != nil {
			t.Fatal(err)
		}
		file[k.key] = parse(k.value)
		content, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		after, said := simulate(string(content))
		switch {
		case k.says != "":
			if !strings.Contains(said, k.says) {
				t.Errorf("%s: says %q", k.key, said)
			}
		case k.moves != "":
			if a, b := before[k.moves].(float64), after[k.moves].(float64); math.Abs(a-b) < 1e-3*a {
				t.Errorf("%s: %s stays %v", k.key, k.moves, a)
			}
		default:
			for _, figure := range []string{"mean_ttft_ms", "mean_tpot_ms"} {
				if before[figure] != after[figure] {
					t.Errorf("%s: %s changes from %v to %v", k.key, figure, before[figure], after[figure])
				}
			}
		}
	}
}
