package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/hardware"
)

// Fewer GPUs in a node cut a first network that is that of a node, as a system file does that says
// so; one that reaches beyond nodes stays as it is, and there is no node of more than its network
// joins.
func TestNodesCutNetworks(t *testing.T) {
	source, ok := hardware.Catalogue.Find("H200")
	if !ok {
		t.Fatal("no H200")
	}
	var system map[string]any
	if err := json.Unmarshal(source, &system); err != nil {
		t.Fatal(err)
	}
	system["networks"].([]any)[0].(map[string]any)["size"] = 4
	changed, err := json.Marshal(system)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "H200.json")
	if err := os.WriteFile(cut, changed, 0o644); err != nil {
		t.Fatal(err)
	}

	const asked = "--model DeepSeek-R1 --dp 8 --ep 8 --batch 64 --weights fp8 --engine sglang --phase decode --json "
	estimated := func(more string) string {
		out := call(t, strings.Fields("estimate "+asked+more)...)
		_, figures, _ := strings.Cut(out, `"isl"`) // behind the name of the system
		return figures
	}
	whole := estimated("--system H200")
	if four := estimated("--system H200 --gpus-per-node 4"); four == whole || four != estimated("--gpus-per-node 4 --system "+cut) {
		t.Errorf("nodes of 4: %s\nnot as of a network of 4: %s", four, estimated("--gpus-per-node 4 --system "+cut))
	}
	if rack := estimated("--system GB200_NVL72"); rack != estimated("--system GB200_NVL72 --gpus-per-node 4") {
		t.Error("nodes of 4 cut a network of 72")
	}
	// Rows of a table share files, not nodes.
	table := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(table, []byte("model,system,dp,ep,batch,weights,engine,gpus_per_node\nDeepSeek-R1,H200,8,8,64,fp8,sglang,8\nDeepSeek-R1,H200,8,8,64,fp8,sglang,4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(call(t, "estimate", "--points", table)), "\n")
	if len(rows) != 3 || strings.Replace(rows[1], "sglang,8", "sglang,4", 1) == rows[2] {
		t.Errorf("a table: %q", rows)
	}

	var out, errs bytes.Buffer
	code := Run(context.Background(), strings.Fields("estimate "+asked+"--system H200 --gpus-per-node 16"), Streams{Out: &out, Err: &errs})
	if code != exitBadInput || !strings.Contains(errs.String(), "a node of H200 has at most 8") {
		t.Errorf("nodes of 16: exit code %d: %s", code, &errs)
	}
}
