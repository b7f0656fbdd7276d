package profile

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/cost"
	"throughline/estimate"
	"throughline/internal/files"
	"throughline/op"
)

func read(t *testing.T, text string) (Summary, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kernels.txt")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Read(files.Machine, name)
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
	// What launched a kernel has its time as well, and one of the processor.
	torchHost = `                           Name    Self CPU %      Self CPU     Self CUDA   Self CUDA %    # of Calls
               flash_fwd_kernel         0.00%       0.000us       6.000ms        60.00%            10
                       aten::mm         1.00%       2.000ms       3.000ms        30.00%            10
                fp8_gemm_kernel         0.00%       0.000us       3.000ms        30.00%            10
                   quant_kernel         0.00%       0.000us    1000.000us        10.00%             5
`
	semicolons = "Kernel Name;Calls;Total Time [us]\nflash;10;6.000,0\nfp8_gemm;10;3000\nquant;5;1000,0\n"
	tabs       = "Name\tCalls\tTime\nflash\t10\t6,000\nno time\t\t\nfp8_gemm\t10\t3000.0\nquant\t5\t1000\n"
	bars       = "| Kernel | GPU time | Launches |\n| --- | ---: | ---: |\n| flash | 6 ms | 10 |\n| fp8_gemm | 3 ms | 10 |\n| quant | 1.00 ms | 5 |\n"
	launches   = "Name,Duration (ns)\n"                                                                                                              // of each kernel all
	trace      = `{"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "dur": 9},` // and so on
	objects    = `[{"name": "flash", "calls": 10, "time": "6 ms"}, {"name": "fp8_gemm", "calls": 10, "time": 3000}, {"name": "x", "time": null}, {"calls": 5, "time": 1000.0, "name": "quant"}]`
	nsysList   = `[{"Time (%)": 60, "Total Time (ns)": 6000000, "Instances": 10, "Name": "flash"}, {"Time (%)": 30, "Total Time (ns)": 3000000, "Instances": 10, "Name": "fp8_gemm"},
		{"Time (%)": 10, "Total Time (ns)": 1000000, "Instances": 5, "Name": "quant"}]`
	lines = "kernels of the profile:\n- `flash_fwd` 60.0%\n- `fp8_gemm_kernel`占比30%\nquant_kernel: 10 %\n"
)

func TestRead(t *testing.T) {
	each := func(line, between string) string {
		var all []string
		for i, name := range []string{"flash", "fp8_gemm", "quant"} {
			for range []int{10, 10, 5}[i] {
				all = append(all, strings.NewReplacer("NAME", name, "TIME", []string{"600", "300", "200"}[i]).Replace(line))
			}
		}
		return strings.Join(all, between)
	}
	events := each(`{"ph": "X", "cat": "kernel", "name": "NAME", "dur": TIME.0, "args": {"stream": 7}}`, ",\n")
	for name, text := range map[string]string{"nsys": nsys, "torch": torch, "torch with what runs on the host": torchHost, "csv": plain, "semicolons": semicolons, "tabs": tabs, "bars": bars,
		"launches": launches + each("NAME,TIME000", "\n"), "trace": trace + events + `], "traceName": "x"}`, "list": objects, "list of nsys": "\ufeff" + nsysList, "lines": lines} {
		sum, err := read(t, text)
		got := sum.Kernels
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
			if name != "lines" && (math.Abs(got[i].Time-10000*want.share) > 1e-6 || name != "launches" && got[i].Calls != []float64{10, 10, 5}[i]) {
				t.Errorf("%s: %+v", name, got[i])
			}
		}
	}
	for text, want := range map[string]string{
		"": "no kernels",
		"name,share\n" + strings.Repeat("a,0.001\n", 100_000): "more than 100000 lines",
		"name,share\n" + strings.Repeat("x", 2<<20):           "line 2 has more than 1048576 bytes",
		"a\xff\xfe 12%":                        "line 1 is not text in UTF-8: a summary is the CSV of nsys",
		"flash 50%\nb\x00 20%":                 "line 2 is not text",
		"coverage: 80%\nbranches: 70%\n":       "no kernels",
		`{"traceEvents": [{"cat": "cpu_op"}]}`: "no event of the trace has a category of kernel",
		`{"kernels": []}`:                      "the object has no traceEvents: a summary is",
		`{"traceEvents": [{"cat": "kernel", "name": "a", "dur": 1}`: "the JSON does not go on",
		`[{"a": 1}]`:                       "no object of the list has a key named one of name",
		`[{"name": "a", "time": "1 ell"}]`: "object 1: \"1 ell\" is not a time",
		"name\ttime\na\t12,5\n":            "line 2: \"12,5\" is not a time",
		"hello\nworld\n":                   "no kernels",
		"name,time\na,b\nc,1 parsec\n":     "line 2: \"b\" is not a time\nline 3: \"1 parsec\" is not a time",
		"name,share\na,70\nb,60\n":         "add up to 130%",
		"name,time\na,0\n":                 "no kernel has a time",
	} {
		if got, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
	if _, err := Read(files.Machine, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}

// Every operator has a class, every class of a pattern exists, and those without operators say what
// they are.
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

// Lines that say nothing of a time are named; rules and sums are not.
func TestLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"name,time\na,1\nb,\nc\n,3\n----\n\nd,N/A\n": "line 3 (no time), line 4 (1 cells, the header has 2), line 5 (no name), line 8 (no time)",
		"name,count,total_ms\na,3,1.5\n":             "", // as people write it
		torch:                                        "",
		torchHost:                                    "line 3 (runs on the host)",
		objects:                                      "object 3 (no time)",
		lines:                                        "line 1 (no percentage)",
		`{"traceEvents": [{"cat": "kernel", "name": "a"}, {"cat": "gpu_memcpy", "name": "b", "dur": 2}]}`: "event 1 (no name or no dur)",
	} {
		got, err := read(t, text)
		var words []string
		for _, l := range got.LeftOut {
			words = append(words, l.String())
		}
		if err != nil || strings.Join(words, ", ") != want {
			t.Errorf("%q: %v, %v, want %q", text, words, err, want)
		}
	}
}

// TestProductsWithoutExperts: kernels whose names do not say whether experts run in them are
// products where a step has no experts, and apart where it has.
func TestProductsWithoutExperts(t *testing.T) {
	kernels := []Kernel{{Name: "void cutlass::device_kernel<gemm_sm90>", Share: 1}}
	for _, c := range []struct{ operator, class string }{{"up", products}, {"expert up", notToldApart}} {
		var o estimate.Operator
		o.Name, o.Times, o.Time, o.Peak.Engine = c.operator, 1, 1, estimate.Cube
		got, _, err := Compare(kernels, []estimate.Operator{o})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if (got[i].Measured > 0) != (got[i].Name == c.class) {
				t.Errorf("beside %s: %s has %g of the time", c.operator, got[i].Name, got[i].Measured)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	operator := func(name string, time float64) (o estimate.Operator) {
		o.Name, o.Times, o.Time, o.Peak.Engine = name, 1, time, estimate.Cube
		return o
	}
	got, busy, err := Compare([]Kernel{{Name: "memcpy", Share: 0.2}, {Name: "nvjet_b", Share: 0.3}, {Name: "nvjet_a", Share: 0.5}},
		[]estimate.Operator{operator("qkv projection", 7), operator("up", 1), operator("fused attention", 2), operator("sampling", 0), {Name: "a wait", Times: 1, Cost: cost.Cost{Busy: cost.Busy{Time: 5}}}})
	if err != nil || len(got) != 3 || busy != 10 {
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
	if _, _, err := Compare(nil, []estimate.Operator{operator("a new one", 1)}); err == nil {
		t.Error("an operator without class is taken")
	}
}
