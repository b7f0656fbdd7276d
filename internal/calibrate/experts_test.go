package calibrate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// table reads rows of expert blocks.
func table(t *testing.T, lines ...string) []measurement.Row {
	t.Helper()
	const head = "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts," +
		"moe_tp_size,moe_ep_size,distribution,latency\n"
	tab, err := measurement.Read("x.csv", strings.NewReader(head+strings.Join(lines, "\n")))
	if err != nil || len(tab.Problems) > 0 {
		t.Fatal(err, tab.Problems)
	}
	return tab.Rows
}

func TestBlockOfRow(t *testing.T) {
	rows := table(t,
		"SGLang,0.5.14,NVIDIA H200,moe,sglang_fused_moe_triton,bfloat16,48,4096,1536,8,128,2,1,balanced,1",
		"SGLang,0.5.14,NVIDIA H200,moe,sglang_fused_moe_triton,bfloat16,3,4096,1536,8,128,1,1,balanced,1",
		"SGLang,0.5.14,NVIDIA H200,moe,sglang_fused_moe_triton,fp8_block,64,7168,2048,8,256,1,1,balanced,1",
		"SGLang,0.5.10,NVIDIA H200,moe,sglang_fused_moe_triton,fp8_block,64,7168,2048,8,256,1,1,balanced,1",
		"SGLang,0.5.14,NVIDIA L40S,moe,sglang_fused_moe_triton,bfloat16,64,2688,1856,6,128,1,1,balanced,1",
		"SGLang,0.5.14,NVIDIA GB200,moe,sglang_flashinfer_trtllm_moe,w4a8_mxfp4_mxfp8,64,2880,2880,4,32,1,1,balanced,1",
		"SGLang,0.5.14,NVIDIA H200,moe,sglang_fused_moe_triton,fp8_block,16,7168,2048,8,256,1,1,balanced,1",
		"SGLang,0.5.10,NVIDIA H200,moe_generation,deepepmoe,fp8_block,16,7168,2048,8,256,1,4,uniform,1",
		"SGLang,0.5.10,NVIDIA H200,moe_context,deepepmoe,fp8_block,65536,7168,2048,8,256,1,8,uniform,1",
	)
	type block struct{ experts, rows, outer, up, inner float64 }
	for i, want := range []struct {
		block
		class string
	}{
		{block{128, 3, 4096, 1536, 768}, "bfloat16 fused_moe_triton tuned"},
		{block{24, 1, 4096, 3072, 1536}, "bfloat16 fused_moe_triton"},
		{block{128, 4, 7168, 4096, 2048}, "float8 blocks fused_moe_triton"}, // half of the 256
		{block{256, 2, 7168, 4096, 2048}, "float8 blocks fused_moe_triton"},
		{block{128, 3, 2688, 1856, 1856}, "bfloat16 fused_moe_triton tuned"}, // no gate
		{block{32, 8, 2880, 5760, 2880}, "float8/float4 flashinfer_trtllm_moe"},
		{block{64, 2, 7168, 4096, 2048}, "float8 blocks fused_moe_triton"}, // half of the 128 that 16 tokens ask for
		{block{32, 1, 7168, 4096, 2048}, "float8 blocks deepepmoe"},        // 128 pairs over 4 ranks: half of 64 local experts
		{block{32, 2048, 7168, 4096, 2048}, "float8 blocks deepepmoe"},
	} {
		c, ok := classOf(&rows[i])
		s := blockShape(&rows[i])
		outer, up, inner := s.Block()
		if b := (block{s.Count, s.Rows, outer, up, inner}); b != want.block || c.numberType+" "+c.kernel != want.class || !ok {
			t.Errorf("row %d: %+v of %s %s, not %+v", i, b, c.numberType, c.kernel, want)
		}
	}
}

// TestKeysOfBlocks: weights of four bits have a kernel by what they are stored and multiplied in.
func TestKeysOfBlocks(t *testing.T) {
	for dtype, want := range map[string]string{
		"bfloat16": "bfloat16", "nvfp4": "float4", "int4_wo": "int4", "w4a16_mxfp4": "mxfp4", "w4a8_mxfp4_mxfp8": "mxfp4_float8",
	} {
		rows := table(t, "SGLang,0.5.14,NVIDIA GB200,moe,sglang_flashinfer_trtllm_moe,"+dtype+",64,2880,2880,4,128,1,1,balanced,1")
		if key := KeyOf(&rows[0]); key != want {
			t.Errorf("%s: key %q, not %q", dtype, key, want)
		}
	}
}

// TestExperts fits blocks of an imagined GPU: half of the peak rate, 80% of the bandwidth, 10 µs.
func TestExperts(t *testing.T) {
	p := Peak{Rate: 1e15, Bandwidth: 3e12}
	memory := kernel.Surface{Axes: [][]float64{{1, 1 << 16}, {1, 1 << 24}, {1, 1 << 16}}}
	for range 8 {
		memory.Slowdown = append(memory.Slowdown, 1.25)
	}
	truth := kernel.GroupedModel{
		Base:   kernel.Base{Latency: 10e-6, Norm: 4, Compute: kernel.Flat(2), Memory: memory},
		Weight: 2, Input: 2, Output: 2,
	}
	block := func(m *kernel.GroupedModel, experts, rows, outer, inner float64) float64 {
		return timing(t, kernel.Experts, m).Seconds(at(p), &kernel.Shape{Count: experts, Rows: rows, K: outer, N: 2 * inner, Gated: true})
	}
	var lines []string
	for _, tokens := range []float64{1, 16, 64, 256, 1024, 4096, 16384} {
		for _, s := range []expertShape{{2048, 768, 128}, {4096, 14336, 8}, {6144, 2560, 160}, {5120, 8192, 16}, {3072, 1024, 256}, {7168, 2048, 384}} {
			for _, tp := range []float64{1, 4, 16} {
				e := min(s.experts, 2*tokens)
				inner := s.inter / tp
				ms := 1e3 * block(&truth, e, 2*tokens/e, s.hidden, inner)
				lines = append(lines, fmt.Sprintf("x,1,x,moe,x,bfloat16,%g,%g,%g,2,%g,%g,1,balanced,%.6f", tokens, s.hidden, s.inter, s.experts, tp, ms))
			}
		}
	}
	g, v := Experts(table(t, lines...), p)
	if v.Fitted.Rows != len(lines) || v.Fitted.Mean > 2 || v.Shapes.Mean > 3 || v.Below > 0 {
		t.Errorf("%+v", v)
	}
	if a, b := block(g, 64, 40, 5000, 1500), block(&truth, 64, 40, 5000, 1500); math.Abs(a/b-1) > 0.05 {
		t.Errorf("%g, not %g", a, b)
	}
}
