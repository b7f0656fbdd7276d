package measurement

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/files"
)

func named(t *testing.T, name, content string) *Table {
	t.Helper()
	tab, err := Read(name, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestName(t *testing.T) {
	for file, want := range map[string]string{
		"/a/b/mha/decode/h20/32-8-128.csv": "mha/decode/h20/32-8-128.csv",
		"a/gemm/h20/data.csv":              "gemm/h20/data.csv",
		"/a/gemm/decode/h20/data.csv":      "data.csv", // not where such a table stands
		"ops/h200_gemm_perf.csv.gz":        "h200_gemm_perf.csv.gz",
		"ops.csv":                          "ops.csv",
	} {
		if got := Name(file); got != want {
			t.Errorf("%s: %s, not %s", file, got, want)
		}
	}
}

func TestNamedProducts(t *testing.T) {
	tab := named(t, "gemm/h20/data.csv", "m,k,n,latency_us,mfu\n16,2048,6144,10.63,0.127969\n0,1,1,1,1\n")
	if len(tab.Rows) != 1 || len(tab.Problems) != 1 || tab.Problems[0].Reason != "m is 0" {
		t.Fatalf("%+v", tab)
	}
	if got := tab.Rows[0].Shape(); got != "gemm float8 m=16 n=6144 k=2048 kernel=deepgemm dtype=fp8_block" {
		t.Error(got)
	}

	// One expert of 128 nominal rows and an inner width of 1560, which is padded to 13 · 128 =
	// 1664. The up product 0.331 · 296e12 · 18.524e-6 s / (2 · 3328 · 2048) = 133.1 rows, the down
	// product 0.299 · 296e12 · 8.125e-6 s / (2 · 2048 · 1664) = 105.5 rows: both within 0.7 to 1.3
	// of 128.
	const columns = "num_experts,num_gpus,num_local_experts,topk,hidden_size,intermediate_size,batch_size_per_gpu,tokens_per_expert,up_proj_us,up_mfu,down_proj_us,down_mfu\n"
	tab = named(t, "grouped_gemm/decode/h20/data.csv", columns+"96,96,1,8,2048,1560,16,128,18.524,0.331,8.125,0.299\n")
	if len(tab.Rows) != 2 {
		t.Fatalf("%+v", tab)
	}
	for i, want := range []string{
		"grouped_gemm float8 experts=1 m=133 n=3328 k=2048 kernel=deepgemm dtype=fp8_block",
		"grouped_gemm float8 experts=1 m=106 n=2048 k=1664 kernel=deepgemm dtype=fp8_block",
	} {
		if got := tab.Rows[i].Shape(); got != want {
			t.Error(got)
		}
	}
	if _, err := Read("data.csv", strings.NewReader(columns)); err == nil || !strings.Contains(err.Error(), "grouped_gemm/decode/GPU/data.csv") {
		t.Error(err)
	}
	if _, err := Read("grouped_gemm/decode/x1/data.csv", strings.NewReader(columns)); err == nil || !strings.Contains(err.Error(), "not for x1") {
		t.Error(err)
	}
}

func TestExpertRows(t *testing.T) {
	for _, c := range []struct {
		local, nominal int
		computed       float64
		experts, m     int
	}{
		{96, 1, 42, 42, 1},     // 48 ± 3·4.9 have a row
		{96, 1, 5, 48, 1},      // a share that says nothing
		{2, 1, 0, 1, 1},        //
		{96, 43, 4128, 96, 43}, // 42.5 · 96 = 4080 ± 3 · 0.1732 · 43 · 9.80 = 219
		{96, 43, 4400, 96, 43}, // beyond
		{64, 32, 64 * 128, 64, 32},
	} {
		if e, m := expertRows(c.local, c.nominal, c.computed); e != c.experts || m != c.m {
			t.Errorf("%+v: %d of %d", c, e, m)
		}
	}
}

func TestNamedAttention(t *testing.T) {
	const row = "bf16,fp8,16,1024,25.5,0.1\n"
	const head = "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n"
	tab := named(t, "mha/decode/h20/64-2-128.csv", head+row)
	if got := tab.Rows[0].Shape(); got != "attn_decode bfloat16 b=16 s=1024 h=64 hk=2 d=128 kv=fp8" || tab.Rows[0].Line != 2 {
		t.Error(got)
	}
	// The same without a header.
	tab = named(t, "mha/decode/h20/64-2-128.csv", row+row)
	if len(tab.Rows) != 2 || tab.Rows[0].Line != 1 || tab.Rows[0].Seconds != 25.5e-6 {
		t.Errorf("%+v", tab)
	}
	tab = named(t, "mla/decode/h20/128-512-64.csv", head+row)
	if got := tab.Rows[0].Shape(); got != "mla_decode bfloat16 b=16 s=1024 h=128 kv=fp8" {
		t.Error(got)
	}
	const prompts = "dtype,seq_len,latency_us,mfu\nbf16,4096,1038.003,0.894\n"
	tab = named(t, "mha/prefill/h20/16-1-256.csv", prompts)
	if got := tab.Rows[0].Shape(); got != "attn_prefill bfloat16 b=1 s=4096 h=16 hk=1 dq=256 dv=256" {
		t.Error(got)
	}
	tab = named(t, "mla/prefill/h800/128-128-64.csv", prompts)
	if got := tab.Rows[0].Shape(); got != "mla_prefill bfloat16 b=1 s=4096 h=128" {
		t.Error(got)
	}
	tab = named(t, "dsa/decode/h800/attn-128-576-2048.csv", head+row)
	if len(tab.Rows) != 0 || len(tab.Problems) != 1 || tab.Problems[0].Reason != "no model of sparse attention" {
		t.Errorf("%+v", tab)
	}
	for name, content := range map[string]string{
		"x.csv": head, "mha/prefill/h20/16-1-256.csv": head, "mha/decode/h20/16-1-256.csv": prompts, "mha/decode/h20/big.csv": head,
		"mha/decode/h20/16-1.csv": head,
	} {
		if _, err := Read(name, strings.NewReader(content)); err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read("mla/decode/h20/128-256-64.csv", strings.NewReader(head)); err == nil {
		t.Error("accepts another latent width")
	}
}

// TestPublished reads all named tables that are there.
func TestPublished(t *testing.T) {
	const root = "../../../shared/measurements/infersim"
	if _, err := os.Stat(root); err != nil {
		t.Skip("no measurements: ", err)
	}
	rows := map[kernel.Slot]int{}
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".csv" || filepath.Base(file) == "INDEX.csv" {
			return err
		}
		tab, err := ReadFile(files.Machine, file)
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, p := range tab.Problems {
			if !strings.HasPrefix(p.Reason, "no model of ") {
				t.Error(p)
			}
		}
		for _, r := range tab.Rows {
			rows[r.Kind]++
		}
		return nil
	})
	// Two products in each row of an expert table.
	if err != nil || rows[kernel.Gemm] != 402+110 || rows[kernel.GroupedGemm] != 2*(266+47+160+24) || rows[kernel.LatentDecode] != 82 {
		t.Error(err, rows)
	}
}
