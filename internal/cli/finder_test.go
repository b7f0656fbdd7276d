package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const smallMoE = `{"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 32,
"num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
"decoder_sparse_step": 1, "norm_topk_prob": true, "vocab_size": 151936, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}`

// TestFinder: every command takes a model and a system in every form: a built-in name, a file, a
// folder with a config.json, a folder of the cache of Hugging Face, the name of a repository in it.
func TestFinder(t *testing.T) {
	notRacing(t)
	t.Chdir(t.TempDir())
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HF_HOME", "hf")
	file := func(name, text string) string {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	file("checkpoints/mine/config.json", smallMoE)
	const cached = "hf/hub/models--acme--Small"
	file(cached+"/refs/main", "abc")
	file(cached+"/snapshots/abc/config.json", smallMoE)
	_, out, _ := attempt("models", "show", "checkpoints/mine", "--json")
	file("model.json", out)
	_, out, _ = attempt("systems", "show", "H200", "--json")
	file("system.json", out)
	kernels := file("kernels.txt", "fp8_gemm_kernel 50%\n")
	ops := file("ops.csv", "kind,dtype,params,flops,bytes,time_us\ngemm,bf16,m=8;n=4096;k=4096,268435456,33685504,15\n")
	const header = "model_path,system,backend,precision,mode,isl,osl,concurrency,num_gpus,tp_size,silicon_ttft_ms,silicon_tpot_ms\n"

	models := []string{"Qwen3-30B-A3B", "model.json", "checkpoints/mine", "checkpoints/mine/config.json", cached, cached + "/snapshots/abc", "acme/Small"}
	for _, m := range models {
		forward := file("forward.csv", "kind,model,params,time_ms\ndecode,"+m+",b=1;s=128,5\n")
		serving := file("serving.csv", header+m+",H200,vllm,bf16,agg,128,16,1,1,1,10,5\n")
		run := file("run.json", strings.Replace(string(starter), "llama_3_70b", m, 1))
		for _, args := range [][]string{
			{"plan", "--system", "H200", "--gpus", "1", "--mode", "agg", "--top", "1", "--model", m},
			{"estimate", "--system", "H200", "--model", m}, {"explain", "--system", "H200", "--model", m},
			{"compare", "--system", "H200", "--kernels", kernels, "--model", m},
			{"simulate", "--system", "H200", "--num-prompts", "2", "--osl", "2", "--model", m},
			{"comm", "--system", "H200", "--ep", "8", "--model", m},
			{"models", "show", m}, {"check", m}, {"validate", "forward", forward}, {"validate", "serving", serving}, {"check", run},
		} {
			if code, _, said := attempt(args...); code != exitOK {
				t.Errorf("%v: exit code %d, %s", args, code, said)
			}
		}
		isConfig := m != models[0] && m != models[1]
		if code, _, said := attempt("models", "import", m); (code == exitOK) != isConfig {
			t.Errorf("import %s: exit code %d, %s", m, code, said)
		}
	}
	for _, s := range []string{"H200", "system.json"} {
		for _, args := range [][]string{
			{"plan", "--model", "llama_3_8b", "--gpus", "1", "--mode", "agg", "--top", "1", "--system", s}, {"estimate", "--model", "llama_3_8b", "--system", s},
			{"explain", "--model", "llama_3_8b", "--system", s}, {"compare", "--model", "llama_3_8b", "--kernels", kernels, "--system", s},
			{"simulate", "--model", "llama_3_8b", "--num-prompts", "2", "--osl", "2", "--system", s}, {"comm", "--ep", "8", "--system", s},
			{"systems", "show", s}, {"check", s}, {"validate", "ops", ops, "--system", s},
			{"estimate", "--model", "llama_3_8b", "--system", "H200", "--decode-system", s},
		} {
			if code, _, said := attempt(args...); code != exitOK {
				t.Errorf("%v: exit code %d, %s", args, code, said)
			}
		}
	}
}

// TestNearMisses: what is no model is met with those that were probably meant, whatever the
// command.
func TestNearMisses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("empty", 0o777); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"kimi": `did you mean`, "KIMI": `"Kimi-K2`, "gpt-oss": `did you mean one of "gpt-oss-120b", "gpt-oss-20b"?`, "oss-20": `did you mean "gpt-oss-20b"?`,
		"empty": "the folder empty has no config.json", "lama_3_8b": `did you mean "llama_3_8b"?`, "qwen32b": `did you mean one of "Qwen2.5-32B", "Qwen3-32B"`, "llama-70b": `"Llama-3.1-70B"`, "zzz": `"throughline models" lists the built-in ones`,
	} {
		for _, args := range [][]string{
			{"plan", "--system", "H200", "--gpus", "1", "--model", ref}, {"estimate", "--system", "H200", "--model", ref}, {"explain", "--system", "H200", "--model", ref},
			{"simulate", "--system", "H200", "--model", ref}, {"comm", "--system", "H200", "--model", ref}, {"models", "show", ref},
		} {
			if code, _, said := attempt(args...); code != exitBadInput || !strings.Contains(said, want) {
				t.Errorf("%v: exit code %d, said %q, want %s", args, code, said, want)
			}
		}
	}
	if _, _, said := attempt("plan", "--model", "llama_3_8b", "--system", "H200", "--gpus", "1", "--ttft", "2", "s"); !strings.Contains(said, `there is "s"; a time and its unit are one word, like 2s`) {
		t.Error(said)
	}
	if code, _, said := attempt("plan", "--model", "llama_3_8b", "--system", "H200", "--decode-system", "B200", "--gpus", "1", "--mode", "agg"); code != exitBadInput ||
		!strings.Contains(said, "--decode-system: is that of a pool of its own, and mode agg has one pool") || strings.Contains(said, "no effect") {
		t.Error(said)
	}
}
