package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/internal/test/long"
	"throughline/internal/test/racing"
)

// TestResultsDoNotDependOnJobs runs a file of both modes, with more plans than one worker takes at
// a time, on one, two and seven processors of this machine: every file and all that is printed must
// be the same, byte for byte. The race detector watches one system, on one processor and seven.
func TestResultsDoNotDependOnJobs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	model := write("model.json", `{
		"model": "small-moe", "hidden": 512, "num_blocks": 6,
		"attn_type": "mla-absorb", "attn_heads": 16,
		"q_lora_rank": 64, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32,
		"num_experts": 16, "top_experts_activation": 4, "n_shared_experts": 1, "num_shared_experts": 4,
		"moe_intermediate_size": 256, "num_nextn_predict_layers": 1
	}`)
	common := `
		"model_list": ["` + model + `", "llama_3_8b"], "sequence_length_list": [[512, 128]],
		"num_redundant_experts_config": [0, 4], "decode_mtp_token_config": [0, 1],
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float16", "float16"]],
		"time_limit_list": [[2000, 20]], "output": "out",`
	fused, split, all := `["H800_IB", "SOW-U1-POR"]`, `["H800_IB", ["SOW-U1-POR", "H800_IB"]]`, []string{"2", "7"}
	if racing.Enabled && !long.Mode() {
		fused, split, all = `["H800_IB"]`, `["H800_IB"]`, all[1:]
	}
	config := write("run.json", `{
		"pd-fusion": {`+common+` "num_procs_list": [16], "sys_list": `+fused+`},
		"pd-split-request-optimal": {`+common+` "num_procs_list": [8], "sys_list": `+split+`}
	}`)

	// results is what a run prints and writes, by file.
	results := func(jobs string, more ...string) map[string]string {
		out := filepath.Join(t.TempDir(), "out")
		var stdout, stderr bytes.Buffer
		args := append([]string{"run", "-c", config, "-o", out, "--jobs", jobs}, more...)
		if code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
		}
		files := map[string]string{"stdout": stdout.String(), "stderr": strings.ReplaceAll(stderr.String(), out, "out")}
		entries, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join(out, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(b)
		}
		return files
	}
	one := results("1", "--category")
	if len(one) != 2+2*3 || strings.Contains(one["stdout"], "no plan") {
		t.Fatalf("%d files, standard output:\n%s", len(one)-2, one["stdout"])
	}
	for _, jobs := range all {
		if diff := cmp.Diff(one, results(jobs, "--category")); diff != "" {
			t.Errorf("--jobs %s (-one +got):\n%s", jobs, diff)
		}
	}
	if len(all) == 1 {
		return
	}
	// Compressed, the files hold no time or name.
	packed := results("1", "--gzip", "--json")
	if diff := cmp.Diff(packed, results("7", "--gzip", "--json")); diff != "" {
		t.Errorf("--gzip --json --jobs 7 (-one +got):\n%s", diff)
	}
}
