package readers

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// timeline is what a library of others finds in a trace.
type timeline struct {
	Processes []struct {
		Name       string
		Start, End float64 // µs
		Spans      int
	}
	Shortest        float64
	Orphans         int // spans that leave the one around them
	Counters, Flows map[string]int
}

func readTimeline(t *testing.T, file string) (out timeline) {
	t.Helper()
	if _, err := os.Stat("node_modules/@tracerbench/trace-model"); err != nil {
		t.Skip("no reader of timelines is installed: make readers installs it")
	}
	cmd := exec.Command("node", "trace.mjs", file)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTimelineOfSteps: the decode begins where the prefill ends, spans nest and last, counters show
// use, watts and memory.
func TestTimelineOfSteps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "steps.json")
	run(t, "estimate", "--model", "llama_3_8b", "--system", "H200", "--tp", "2", "--batch", "32", "--trace-out", file)
	got := readTimeline(t, file)
	if len(got.Processes) != 2 || !strings.HasPrefix(got.Processes[0].Name, "prefill") || !strings.HasPrefix(got.Processes[1].Name, "decode") {
		t.Fatalf("processes %+v", got.Processes)
	}
	if p, d := got.Processes[0], got.Processes[1]; p.Spans == 0 || d.Spans == 0 || math.Abs(d.Start-p.End) > 1e-3 {
		t.Errorf("the decode begins at %g µs, the prefill ends at %g", d.Start, p.End)
	}
	if got.Shortest <= 0 || got.Orphans > 0 || got.Counters["use %"] == 0 || got.Counters["watts"] == 0 || got.Counters["memory GiB"] == 0 {
		t.Errorf("%+v", got)
	}
}

// TestTimelineOfRequests: arrows lead from every request to the steps that served it, in both
// pools.
func TestTimelineOfRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "requests.json")
	run(t, "simulate", "--model", "llama_3_8b", "--system", "H200", "--prefill-plan", "2xtp1", "--decode-plan", "tp2", "--rate", "20", "--num-prompts", "100", "--isl", "200", "--osl", "20", "--trace-out", file)
	got := readTimeline(t, file)
	if got.Shortest <= 0 || got.Orphans > 0 || got.Counters["KV use %"] == 0 || got.Counters["watts per GPU"] == 0 {
		t.Errorf("%+v", got)
	}
	if f := got.Flows; f["s requests waiting"] != 100 || f["t server, prefill prefill"] != 100 || f["f server, decode decode"] != 100 {
		t.Errorf("arrows %v", f)
	}
	for on := range got.Flows {
		if strings.Contains(on, "nothing") {
			t.Errorf("%s: an arrow that ends on no span", on)
		}
	}
}
