package web

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Measured runs of a file that was given at the start, or uploaded, stand beside the plans of their
// model and system: those of other models are left out, and crosses say what a table says, too.
func TestBeside(t *testing.T) {
	src, err := os.ReadFile("../../docs/runs/deepseek_v3_triton_16.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(src)), "\n")
	other := strings.Replace(lines[1], "DeepSeek-V3", "Llama-3.1-8B", 1)
	s := NewServer(Options{Key: testKey, Deadline: 10 * time.Minute, Files: map[string][]byte{"runs.csv": []byte(strings.Join(append(lines, other), "\n") + "\n")}})
	const question = "/choose?engine=sglang&gpus=8&isl=1000&mode=agg&model=DeepSeek-V3&osl=1000&runs="
	got := get(s, "GET", question+"runs.csv&system=B200", nil)
	body := got.Body.String()
	if got.Code != 200 || strings.Count(body, `data-p="run0"`) < 2 || strings.Contains(body, `data-p="run1"`) {
		t.Fatalf("status %d: %d marks of the first run, %d of a second", got.Code, strings.Count(body, `data-p="run0"`), strings.Count(body, `data-p="run1"`))
	}
	// 27386.98 ms for a request and 1119.91 ms to its first token were measured with 16 clients on
	// 8 GPUs: 26267.07 / 999 = 26.3 ms per token, 16 × 1000 / 27.38698 / 8 = 73.0 tokens/s/GPU.
	for _, want := range []string{`<td class="num">1.12 s</td>`, `<td class="num">26.3 ms</td>`, `<td class="num">73</td>`, "1 measured run, joined"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if gone := get(s, "GET", question+"gone.csv&system=B200", nil); gone.Code != 200 || !strings.Contains(gone.Body.String(), "gone.csv is not here") {
		t.Errorf("a file that is not here: status %d", gone.Code)
	}
	if bad := get(s, "GET", question+"/etc/passwd&system=B200", nil); strings.Contains(bad.Body.String(), "root:") {
		t.Error("a file of the machine is read")
	}
	s.files["empty.csv"] = nil
	if bad := get(s, "GET", question+"empty.csv&system=B200", nil); !strings.Contains(bad.Body.String(), "the table is empty") {
		t.Error("an empty table is taken")
	}
}
