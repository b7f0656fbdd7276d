package validate

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/files"
	"throughline/internal/measurement"
	"throughline/internal/question"
	"throughline/internal/test/builtin"
	"throughline/internal/test/racing"
	"throughline/plan"
	"throughline/workload"
)

// TestOps: a plain system is the roofline at its calibration: H200 has 989 T operations, 4800 GB/s,
// 0.8 of both.
func TestOps(t *testing.T) {
	const csv = `kind,dtype,params,flops,bytes,time_us
gemm,bf16,m=1024;n=1024;k=1024,1e12,1e6,2000
silu_mul,bf16,m=1;i=4,10,3.84e9,500
attn_decode,int3,b=1;s=8;h=1;hk=1;d=8,1e9,1,5
tea,bf16,x=1,1,1,5
gemm,bf16,m=1;n=1;k=1,1,1,zero
`
	plain := builtin.System(t, "H200")
	plain.Kernels = nil
	r, err := Ops(t.Context(), "ops.csv", strings.NewReader(csv), plain)
	if err != nil {
		t.Fatal(err)
	}
	// 1e12 / (989e12·0.8) = 1263.9 µs; 3.84e9 / (4800e9·0.8) = 1000 µs.
	for i, want := range []float64{1e12 / (989e12 * 0.8) * 1e6, 1000} {
		if got := r.Rows[i].Figures[0].Predicted; math.Abs(got-want) > 1e-9*want {
			t.Errorf("row %d: %v µs, by hand %v", i, got, want)
		}
	}
	for i, want := range map[int]string{2: `dtype "int3" is not one of`, 3: `unknown kind "tea"`, 4: `time "zero" is not a number`} {
		if !strings.Contains(r.Rows[i].Figures[0].Reason, want) {
			t.Errorf("row %d: reason %q, want %q", i, r.Rows[i].Figures[0].Reason, want)
		}
	}
	var out bytes.Buffer
	if err := r.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); lines[0] != "kind,dtype,params,flops,bytes,time_us,predicted_us,reason" || !strings.HasPrefix(lines[2], "silu_mul,bf16,m=1;i=4,10,3.84e9,500,1000,") {
		t.Errorf("written:\n%s", &out)
	}
	sums := r.Summaries()
	// The second row takes 1000 µs where 500 were measured: 100% too much.
	if s := sums[1]; s.Group != "silu_mul bf16" || s.Rows != 1 || math.Abs(s.Mean-100) > 1e-9 || math.Abs(s.Worst-100) > 1e-9 {
		t.Errorf("summary %+v", s)
	}
	if s := sums[0]; s.Rows != 1 || s.Unpredicted != 1 {
		t.Errorf("summary %+v", s)
	}
	if _, err := Ops(t.Context(), "ops.csv", strings.NewReader("kind,dtype\n"), builtin.System(t, "H200")); err == nil || !strings.Contains(err.Error(), `no columns "params", "time_us"`) {
		t.Errorf("a table without columns: %v", err)
	}
}

func TestForwardReasons(t *testing.T) {
	p := question.Default()
	p.In = files.Machine
	p.System = "H200"
	const csv = "kind,model,params,time_ms\ndecode,llama3-8b,b=1;s=512,5\nsleep,llama3-8b,b=1;s=1,5\ndecode,no-such-model,b=1;s=1,5\nprefill,llama3-8b,b=1,5\n"
	r, err := Forward(t.Context(), "forward.csv", strings.NewReader(csv), p)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows[0].Figures[0].Reason != "" || !(r.Rows[0].Figures[0].Predicted > 0) {
		t.Errorf("%+v", r.Rows[0])
	}
	for i, want := range map[int]string{1: "neither prefill nor decode", 2: "no-such-model", 3: "params need b and s"} {
		if !strings.Contains(r.Rows[i].Figures[0].Reason, want) {
			t.Errorf("row %d: reason %q, want %q", i, r.Rows[i].Figures[0].Reason, want)
		}
	}
}

// TestMeasuredH200: calibrated on measured kernels alone, whole forward passes that no fit has seen
// come out within the targets: 4% in decode, 5% in prefill.
func TestMeasuredH200(t *testing.T) {
	if racing.Enabled {
		t.Skip("fits take minutes under the race detector")
	}
	dir := filepath.Join("..", "..", "..", "shared", "measurements", "h200")
	table, err := measurement.ReadFile(files.Machine, filepath.Join(dir, "ops.csv"))
	if err != nil {
		t.Skip("the measurements are not beside the project")
	}
	s := builtin.System(t, "H200")
	rows, _ := calibrate.Clean(table.Rows)
	set := kernel.Set{System: s.Name}
	calibrate.Classes(rows, s, &set)
	name := filepath.Join(t.TempDir(), "measured.json")
	if err := os.WriteFile(name, measuredFile(t, &set), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "forward.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := question.Default()
	p.In = files.Machine
	p.System = name
	r, err := Forward(t.Context(), "forward.csv", f, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range r.Summaries() {
		limit, ok := map[string]float64{"decode llama3-8b": 4, "prefill llama3-8b": 5}[sum.Group]
		if ok && (sum.Rows < 8 || sum.Mean > limit) {
			t.Errorf("%s: mean error %.1f%% over %d rows, want at most %v%%; worst %+.1f%% at %s", sum.Group, sum.Mean, sum.Rows, limit, sum.Worst, sum.WorstRow)
		}
		if ok {
			t.Logf("%s: mean error %.1f%%, worst %+.1f%% at %s", sum.Group, sum.Mean, sum.Worst, sum.WorstRow)
		}
	}
}

// measuredFile is the file of the H200 with kernels.
func measuredFile(t *testing.T, set *kernel.Set) []byte {
	t.Helper()
	src, _ := hardware.Catalogue.Find("H200")
	out, err := hardware.WithKernels(src, set)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// BenchmarkCalibrated is one evaluation of a decode plan on the calibrated H200, beside
// BenchmarkEvaluate of package estimate on plain systems.
func BenchmarkCalibrated(b *testing.B) {
	table, err := measurement.ReadFile(files.Machine, filepath.Join("..", "..", "..", "shared", "measurements", "h200", "ops.csv"))
	if err != nil {
		b.Skip("the measurements are not beside the project")
	}
	s := builtin.System(b, "H200")
	rows, _ := calibrate.Clean(table.Rows)
	s.Kernels = &kernel.Set{}
	calibrate.Classes(rows, s, s.Kernels)
	m, set := builtin.Model(b, "DeepSeek-V3")
	e, err := estimate.NewEvaluator(&estimate.Problem{
		Model: m, Settings: set, System: s, Assume: &assume.Reference, Lengths: workload.Lengths{Input: 4096, Output: 1024},
		Precision: plan.Precision{Weight: 1, Activation: 1, Cache: 2, Comm: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16"},
	})
	if err != nil {
		b.Fatal(err)
	}
	p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 32, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 32, TP: 1, DP: 1}, SharedPerCard: true, SharedReplicas: 1}}
	var out estimate.Estimate
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p.Batch = plan.Batch{Count: 1, Size: 1 + i%256}
		e.Evaluate(&p, &out)
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}
