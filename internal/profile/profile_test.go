package profile

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/op"
)

func read(t *testing.T, text string) ([]Kernel, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kernels.txt")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Read(name)
}

// Summaries as profilers write them: three kernels of 60, 30 and 10% of the time.
const (
	nsys = `Generating SQLite file report.sqlite from report.nsys-rep
Processing [report.sqlite] with [cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
60.0,6000000,10,600000.0,600000.0,1,2,0.0,"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<A, B>>>(T1::Params)"
30.0,3000000,10,300000.0,300000.0,1,2,0.0,"deep_gemm::fp8_gemm_kernel<(unsigned int)24576, (unsigned int)1536>"
10.0,1000000,5,200000.0,200000.0,1,2,0.0,void vllm::per_token_group_quant_8bit_kernel<float>
`
	torch = `-------------------------------  ------------  ------------  ------------  ------------
                           Name    Self CPU %     Self CUDA   Self CUDA %    # of Calls
-------------------------------  ------------  ------------  ------------  ------------
               flash_fwd_kernel         0.00%       6.000ms        60.00%            10
                fp8_gemm_kernel         0.00%       3.000ms        30.00%            10
                   quant_kernel         0.00%     1000.000us        10.00%             5
-------------------------------  ------------  ------------  ------------  ------------
Self CPU time total: 12.000ms
Self CUDA time total: 10.000ms
`
	plain = "kernel,calls,time_us\nflash,10,6000\nfp8_gemm,10,3000\nquant,5,1000\n"
	lines = "kernels of the profile:\n- `flash_fwd` 60.0%\n- `fp8_gemm_kernel`占比30%\nquant_kernel: 10 %\n"
)

func TestRead(t *testing.T) {
	for name, text := range map[string]string{"nsys": nsys, "torch": torch, "csv": plain, "lines": lines} {
		got, err := read(t, text)
		if err != nil || len(got) != 3 {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		for i, want := range []struct {
			share float64
			class string
		}{{0.6, "attention"}, {0.3, "products"}, {0.1, "quantisation"}} {
			if math.Abs(got[i].Share-want.share) > 1e-9 || ClassOf(got[i].Name) != want.class {
				t.Errorf("%s: %+v of %s, want %+v", name, got[i], ClassOf(got[i].Name), want)
			}
			if name != "lines" && (math.Abs(got[i].Time-10000*want.share) > 1e-6 || got[i].Calls != []float64{10, 10, 5}[i]) {
				t.Errorf("%s: %+v", name, got[i])
			}
		}
	}
	for text, want := range map[string]string{
		"": "no kernels",
		"name,share\n" + strings.Repeat("a,0.001\n", 100_000): "more than 100000 lines",
		"name,share\n" + strings.Repeat("x", 2<<20):           "line 2 has more than 1048576 bytes",
		"hello\nworld\n":               "no kernels",
		"name,time\na,b\nc,1 parsec\n": "line 2: \"b\" is not a time\nline 3: \"1 parsec\" is not a time",
		"name,share\na,70\nb,60\n":     "add up to 130%",
		"name,time\na,0\n":             "no kernel has a time",
	} {
		if got, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}

// Names of kernels as engines have them.
func TestClassOf(t *testing.T) {
	for name, want := range map[string]string{
		"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "collectives",
		"ncclDevKernel_AllGather_RING_LL":                                                "collectives", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>": "collectives",
		"void deep_ep::internode_ll::dispatch<true, 7168>": "exchange", "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>": "exchange",
		"flash_fwd_split_mha_kernel": "attention", "flash_fwd_splitkv_mla_kernel<cutlass::bfloat16_t>": "attention",
		"fmhaSm100aKernel_QkvBfloat16": "attention", "kernel_unified_attention_2d": "attention",
		"fused_moe_kernel": "experts", "m_grouped_gemm_fp8_fp8_bf16_nt_masked": "experts", "finalizeMoERoutingKernel": "routing",
		"void moe_align_block_size_kernel<int>": "routing", "void vllm::moe::topkGatingSoftmax<8, 256>": "routing",
		"fp8_gemm_kernel_swapAB": "products", "nvjet_tst_128x64_64x8_2x1_v_bz_TNT": "products", "sm90_xmma_gemm_bf16bf16_bf16f32": "products",
		"device_kernel": "products, not told apart", "void per_token_group_quant_8bit_kernel": "quantisation",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0": "element-wise", "void flashinfer::norm::FusedAddRMSNormKernel": "element-wise",
		"void sglang::act_and_mul_kernel<silu>": "element-wise", "void vllm::reshape_and_cache_flash_kernel": "cache writes",
		"void at::native::(anonymous namespace)::CatArrayBatchedCopy": "copies", "Memcpy DtoD (Device -> Device)": "copies",
		"void flashinfer::sampling::TopKTopPSamplingFromProbKernel": "sampling", "a kernel of its own": "unknown",
	} {
		if got := ClassOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// Every operator has a class, every class of a pattern exists, and those without operators say what they are.
func TestTable(t *testing.T) {
	for k := range op.KindCount {
		if classOfOperator(k.String()) < 0 {
			t.Errorf("%s has no class", k)
		}
	}
	names := map[string]bool{}
	for _, c := range known.Classes {
		names[c.Name] = true
		if (len(c.Operators) == 0) != (c.Remark != "") {
			t.Errorf("%s: %d operators, remark %q", c.Name, len(c.Operators), c.Remark)
		}
	}
	for _, p := range known.Patterns {
		if !names[p.Class] {
			t.Errorf("no class %q", p.Class)
		}
	}
}

func TestCompare(t *testing.T) {
	got, err := Compare([]Kernel{{Name: "memcpy", Share: 0.2}, {Name: "nvjet_b", Share: 0.3}, {Name: "nvjet_a", Share: 0.5}},
		[]Operator{{"qkv projection", 0.7}, {"up", 0.1}, {"fused attention", 0.2}, {"sampling", 0}})
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if c := got[0]; c.Name != "attention" || c.Measured != 0 || c.Predicted != 0.2 {
		t.Errorf("%+v", c)
	}
	if c := got[1]; c.Name != "products" || math.Abs(c.Measured-0.8) > 1e-12 || math.Abs(c.Predicted-0.8) > 1e-12 || c.Kernels[0].Name != "nvjet_a" || len(c.Operators) != 2 {
		t.Errorf("%+v", c)
	}
	if c := got[2]; c.Name != "copies" || c.HasOperator() || c.Measured != 0.2 {
		t.Errorf("%+v", c)
	}
	if _, err := Compare(nil, []Operator{{"a new one", 1}}); err == nil {
		t.Error("an operator without class is taken")
	}
}
