package measurement

import (
	"bytes"
	"compress/gzip"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/hardware/kernel"
	"throughline/internal/files"
)

const params = `kind,dtype,params,flops,bytes,time_us
gemm,bf16,model=a;m=16;n=4096;k=1024,1,2,17.5
gemm,fp8,m=0;n=4096;k=1024,1,2,17.5
gemm,fp8,m=1;n=4096,1,2,17.5
gemm,fp8,m=1;n=4096;k=x,1,2,17.5
gemm,fp8,m=1;n=4096;k=8,1,2,-1
gemm,fp8,m=1;n=4096;k=8,1,2
gemm,fp8,m=1;m=1;n=4096;k=8,1,2,3
gemm,fp8,7,1,2,3
dance,fp8,m=1,1,2,3
d2h,pinned,n=4096,0,4096,19.967
`

// TestAliases: kinds and dimensions under other names.
func TestAliases(t *testing.T) {
	tab, err := Read("kernels.csv", strings.NewReader("kind,dtype,params,bytes,time_us\n"+
		"quant_fp8_group128,bf16->e4m3,m=2;k=2048,12416,1.2\nrope_cache,bf16,model=x;m=4;heads=32;kv_heads=8;d=128,1,2.4\n"+
		"rope_cache,bf16,m=4;h=32;hk=8;d=128;eager=0,1,2.4\nmoe_sum,bf16,m=4;topk=2;n=4096,1,2\nmoe_gate_up,bf16,m=1;cfg=1/2,1,2\n"))
	if err != nil || len(tab.Rows) != 4 || len(tab.Problems) != 1 {
		t.Fatal(err, tab)
	}
	if r := tab.Rows[0]; r.Kind != kernel.Quantise || r.Type != "bfloat16" || r.Get("k") != 2048 {
		t.Errorf("%+v", r)
	}
	for _, r := range tab.Rows[1:3] {
		if r.Kind != kernel.RopeCache || r.Get("h") != 32 || r.Get("hk") != 8 {
			t.Errorf("%+v", r)
		}
	}
	if r := tab.Rows[3]; r.Kind != kernel.Unpermute || r.Get("h") != 4096 {
		t.Errorf("%+v", r)
	}
}

func TestParams(t *testing.T) {
	tab, err := Read("ops.csv", strings.NewReader(params))
	if err != nil {
		t.Fatal(err)
	}
	if len(tab.Rows) != 2 {
		t.Fatalf("%d rows", len(tab.Rows))
	}
	r := tab.Rows[0]
	if r.Kind != kernel.Gemm || r.Type != "bfloat16" || r.Get("n") != 4096 || r.Label("model") != "a" || r.Seconds != 17.5e-6 ||
		r.Place() != "ops.csv:2" {
		t.Errorf("%+v", r)
	}
	if got := r.Shape(); got != "gemm bfloat16 m=16 n=4096 k=1024 model=a" {
		t.Error(got)
	}
	if _, ok := r.Dim("experts"); ok || r.Get("experts") != 0 || r.Label("kernel") != "" {
		t.Error("has what it does not have")
	}
	if r := tab.Rows[1]; r.Type != "pinned" || r.Line != 11 {
		t.Errorf("%+v", r)
	}
	var got []string
	for _, p := range tab.Problems {
		got = append(got, p.Error())
	}
	want := []string{
		"ops.csv:3: m is 0", "ops.csv:4: gemm without k", `ops.csv:5: k "x" is not a whole number`,
		`ops.csv:6: time "-1" is not positive`, "ops.csv:7: 5 fields, not 6", "ops.csv:8: parameter m twice",
		`ops.csv:9: parameter "7" is not name=value`, `ops.csv:10: unknown kind "dance"`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestColumns(t *testing.T) {
	read := func(s string) *Table {
		t.Helper()
		tab, err := Read("x.csv", strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	common := "framework,version,device,op_name,kernel_source,"
	tab := read(common + "batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,latency\n" +
		"S,1,G,generation_attention,fa3,8,1,32,4,128,1,bfloat16,fp8,1023,0.02\n" +
		"S,1,G,context_attention,fa3,8,512,32,4,128,1,bfloat16,bfloat16,0,0.5\n" +
		"S,1,G,context_attention,fa3,8,512,32,4,128,1,bfloat16,bfloat16,0,\n" +
		"S,1,G,else,fa3,8,512,32,4,128,1,bfloat16,bfloat16,0,1\n")
	if len(tab.Rows) != 2 || len(tab.Problems) != 2 {
		t.Fatalf("%d rows, problems %v", len(tab.Rows), tab.Problems)
	}
	d, p := tab.Rows[0], tab.Rows[1]
	if d.Kind != kernel.Decode || d.Get("s") != 1024 || d.Label("kv") != "fp8" || d.Label("kernel") != "fa3" || d.Seconds != 2e-5 {
		t.Errorf("%+v", d)
	}
	if p.Kind != kernel.Prefill || p.Get("dq") != 128 || p.Get("dv") != 128 || p.Get("s") != 512 {
		t.Errorf("%+v", p)
	}

	// Messages of 2-byte and 1-byte elements.
	tab = read(common + "nccl_dtype,num_gpus,message_size,latency\nT,2,G,all_gather,NCCL,half,8,256,0.01\nT,2,G,alltoall,NCCL,int8,4,256,0.01\n")
	if a, b := tab.Rows[0], tab.Rows[1]; a.Get("n") != 512 || b.Get("n") != 256 || b.Kind != kernel.AllToAll || a.Get("group") != 8 {
		t.Errorf("%+v", tab.Rows)
	}

	// One row of an exchange is two times.
	tab = read(common + "node_num,hidden_size,num_token,num_topk,num_experts,combine_avg_t_us,combine_bandwidth_gbps,dispatch_avg_t_us,dispatch_bandwidth_gbps\n" +
		"s,1,GB200,ll,deepep,1,2048,1,8,128,10.5,3,8.5,1\n")
	if len(tab.Rows) != 2 || tab.Rows[0].Kind != kernel.DispatchLowLatency || tab.Rows[0].Seconds != 8.5e-6 ||
		tab.Rows[1].Kind != kernel.CombineLowLatency || tab.Rows[0].Get("ranks") != 4 {
		t.Errorf("%+v", tab.Rows)
	}
	// What ranks tell each other before belongs to it.
	tab = read(common + "node_num,hidden_size,num_token,num_topk,num_experts,dispatch_sms,dispatch_transmit_us,dispatch_notify_us,combine_sms,combine_transmit_us,combine_notify_us\n" +
		"s,1,H100,normal,deepep,2,7168,1,8,256,20,27,30,20,50,35\ns,1,H100,normal,deepep,2,7168,1,8,256,20,27,-1,20,50,35\n")
	if len(tab.Rows) != 2 || len(tab.Problems) != 1 || tab.Rows[0].Kind != kernel.DispatchNormal || math.Abs(tab.Rows[0].Seconds-57e-6) > 1e-12 ||
		tab.Rows[1].Kind != kernel.CombineNormal || math.Abs(tab.Rows[1].Seconds-85e-6) > 1e-12 || tab.Rows[0].Get("ranks") != 16 {
		t.Errorf("%+v", tab)
	}
}

// TestLatentAndLinear: the products of a head are of 128 × 512 before attention and of 512 × 128
// behind it, and the kernel says which part of linear attention it is.
func TestLatentAndLinear(t *testing.T) {
	tab, err := Read("x.csv", strings.NewReader("framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n"+
		"S,1,G,mla_gen_pre,k,fp8,16,128,0.01\nS,1,G,mla_gen_post,k,bfloat16,16,128,0.01\n"))
	if err != nil || len(tab.Rows) != 2 {
		t.Fatal(err, tab)
	}
	for i, want := range []string{
		"mla_absorb float8 tokens=16 h=128 n=512 k=128 version=1 device=G op=mla_gen_pre kernel=k dtype=fp8",
		"mla_absorb bfloat16 tokens=16 h=128 n=128 k=512 version=1 device=G op=mla_gen_post kernel=k dtype=bfloat16",
	} {
		if got := tab.Rows[i].Shape(); got != want {
			t.Error(got)
		}
	}
	const head = "framework,version,device,op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_model,d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,model_name,latency\n"
	row := func(kernel, phase string) string {
		return "S,1,G,gdn," + kernel + "," + phase + ",2,8,16,64,4,16,128,64,128,q,0.01\n"
	}
	tab, err = Read("x.csv", strings.NewReader(head+row("causal_conv1d_fn", "context")+row("causal_conv1d_update", "generation")+
		row("chunk_gated_delta_rule", "context")+row("fused_recurrent_gated_delta_rule", "generation")+row("dance", "context")+row("causal_conv1d_fn", "night")))
	if err != nil || len(tab.Rows) != 4 || len(tab.Problems) != 2 {
		t.Fatal(err, tab)
	}
	for i, want := range []kernel.Slot{kernel.ConvolutionPrefill, kernel.ConvolutionDecode, kernel.LinearPrefill, kernel.LinearDecode} {
		r := tab.Rows[i]
		if r.Kind != want || r.Get("b") != 2 || r.Get("s") != 8 || r.Get("h") != 64 || r.Get("hk") != 16 || r.Get("dk") != 128 ||
			r.Get("dv") != 128 || r.Get("conv") != 4 {
			t.Errorf("%s: %s", want, r.Shape())
		}
	}
}

func TestReadFile(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(params))
	w.Close()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"a.csv": []byte(params), "a.csv.gz": z.Bytes()} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		tab, err := ReadFile(files.Machine, path)
		if err != nil || len(tab.Rows) != 2 || tab.Rows[0].File != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read("x", strings.NewReader("a,b\n1,2\n")); err == nil {
		t.Error("accepts unknown columns")
	}
	if _, err := Read("x", strings.NewReader("")); err == nil {
		t.Error("accepts an empty file")
	}
	if _, err := ReadFile(files.Machine, filepath.Join(dir, "none")); err == nil {
		t.Error("accepts a missing file")
	}
}

// TestComm: what measure/comm.py wrote on four CPU ranks with gloo is read whole.
func TestComm(t *testing.T) {
	table, err := ReadFile(files.Machine, "testdata/comm.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Problems) > 0 {
		t.Fatalf("%v", table.Problems)
	}
	got := map[kernel.Slot]int{}
	for i := range table.Rows {
		got[table.Rows[i].Kind]++
	}
	want := map[kernel.Slot]int{
		kernel.AllReduce: 8, kernel.AllGather: 8, kernel.ReduceScatter: 8, kernel.AllToAll: 8,
		kernel.DispatchNormal: 2, kernel.CombineNormal: 2, kernel.DispatchLowLatency: 2, kernel.CombineLowLatency: 2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for i := range table.Rows {
		r := &table.Rows[i]
		if r.Kind == kernel.AllReduce && (r.Get("n") < 1024 || r.Get("group") < 2 || r.Type != "bfloat16") {
			t.Errorf("%s", r.Shape())
		}
		if r.Kind == kernel.DispatchNormal && (r.Get("ranks") != 4 || r.Get("hidden") != 1024 || r.Get("topk") != 8 || r.Type != "float8") {
			t.Errorf("%s", r.Shape())
		}
	}
}
