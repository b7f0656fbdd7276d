package calibrate

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/files"
	"throughline/internal/measurement"
)

// own reads rows of the schema that the scripts of measure write.
func own(t *testing.T, lines ...string) []measurement.Row {
	t.Helper()
	tab, err := measurement.Read("x.csv", strings.NewReader("kind,dtype,params,flops,bytes,time_us\n"+strings.Join(lines, "\n")))
	if err != nil || len(tab.Problems) > 0 {
		t.Fatal(err, tab.Problems)
	}
	return tab.Rows
}

// TestOwnTables: the bytes that the scripts counted are those that the models see; rows launched
// one by one are not fitted.
func TestOwnTables(t *testing.T) {
	for _, name := range []string{"experts", "small"} {
		file := "../../measure/H200/" + name + ".csv"
		tab, err := measurement.ReadFile(files.Machine, file)
		if err != nil || len(tab.Problems) > 0 || len(tab.Rows) < 400 {
			t.Fatal(err, tab)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSpace(string(src)), "\n")[1:] {
			r := &tab.Rows[i]
			if _, ok := classOf(r); ok == strings.Contains(line, "eager=1") {
				t.Fatalf("%s is fitted: %v", line, ok)
			}
			if name == "experts" {
				continue
			}
			counted, err := strconv.ParseFloat(strings.Split(line, ",")[4], 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := subjects[r.Kind].shape(r).Moved; math.Abs(got-counted) > 1+0.01*counted {
				t.Fatalf("%s: %g bytes", line, got)
			}
		}
	}
}

// TestUneven: rows that chance has spread are not padded again.
func TestUneven(t *testing.T) {
	rows := own(t, "moe,fp8,tokens=64;hidden=7168;inter=256;topk=8;experts=256;tp=1;ep=1;touched=220;up_ns=1;down_ns=1,0,0,332")
	s := blockShape(&rows[0])
	if s.Count != 220 || math.Abs(s.Rows-512./220) > 1e-12 || s.N != 512 || KeyOf(&rows[0]) != "float8"+kernel.Tuned {
		t.Errorf("%+v under %s", s, KeyOf(&rows[0]))
	}
	even := kernel.GroupedModel{Base: kernel.Base{Norm: 1, Compute: kernel.Flat(1), Memory: kernel.Flat(1)}}
	spread := even
	spread.Uneven = true
	shape := kernel.Shape{Count: 8, Rows: 200, K: 64, N: 64, Uneven: true}
	pace := kernel.Pace{Flop: 1}
	if a, b := timing(t, kernel.GroupedGemm, &even).Seconds(&pace, &shape), timing(t, kernel.GroupedGemm, &spread).Seconds(&pace, &shape); math.Abs(a/b-264./200) > 1e-12 {
		t.Errorf("%g and %g", a, b)
	}
}

// TestDoubt: a table that reaches less than a third of what a related kernel does stays out, and
// one of which many rows are faster than the peaks; with a reason they are taken.
func TestDoubt(t *testing.T) {
	above := 0
	result := func(s kernel.Slot, rows, below int, reach float64) Result {
		r := Result{Class: s.Name(), slot: s}
		r.Above = above
		r.Fitted.Rows, r.Below, r.Reach = rows, below, reach
		return r
	}
	results := []Result{
		result(kernel.Prefill, 100, 0, 0.66), result(kernel.LatentPrefill, 100, 0, 0.17), // 192 + 128 wide what is 576 + 512
		result(kernel.Decode, 100, 0, 0.9), result(kernel.LatentDecode, 100, 0, 0.31),
		result(kernel.LatentPrefill, 5, 0, 0.1),                                             // too few to judge
		result(kernel.Experts, 60, 40, 0.8), result(kernel.ConvolutionPrefill, 60, 40, 0.8), // from the cache
	}
	above = 6
	results = append(results, result(kernel.Gemm, 90, 10, 0.8))
	doubt(results)
	for i, kept := range []bool{true, false, true, true, true, false, true, false} {
		if r := &results[i]; (r.Doubt == "" || r.Reason != "") != kept {
			t.Errorf("%s: %q %q", r.Class, r.Doubt, r.Reason)
		}
	}
}

// TestInTurn: of several kernels for products the one that is faster on the shapes of both comes
// first, of others the first.
func TestInTurn(t *testing.T) {
	const head = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
	tab, err := measurement.Read("x.csv", strings.NewReader(head+
		"x,1,x,gemm,slow,fp8,64,512,512,2\nx,1,x,gemm,slow,fp8,8,512,512,0.001\n"+ // alone with a shape that is quick
		"x,1,x,gemm,quick,fp8,64,512,512,1\nx,1,x,gemm,wide,bfloat16,64,512,512,0.1\n"))
	if err != nil || len(tab.Problems) > 0 {
		t.Fatal(err, tab)
	}
	result := func(name string, s kernel.Slot, rows ...measurement.Row) Result {
		return Result{Class: name, slot: s, rows: rows, row: &rows[0]}
	}
	r := tab.Rows
	got := ""
	for _, x := range fastestFirst([]Result{result("slow", kernel.Gemm, r[0], r[1]), result("quick", kernel.Gemm, r[2]), result("wide", kernel.Gemm, r[3])}) {
		got += x.Class + " "
	}
	if got != "quick slow wide " {
		t.Error(got)
	}
	// Scales of blocks are another format: neither stands for the other.
	if tab.Rows[0].Type != "float8" || KeyOf(&r[0]) != "float8" {
		t.Errorf("key %q", KeyOf(&r[0]))
	}
	scaled, err := measurement.Read("y.csv", strings.NewReader(head+"x,1,x,gemm,quick,fp8_block,64,512,512,1\n"))
	if err != nil || KeyOf(&scaled.Rows[0]) != "float8"+kernel.Blocks {
		t.Errorf("%v, key %q", err, KeyOf(&scaled.Rows[0]))
	}
	blocks := table(t, "x,1,x,moe,a,bfloat16,48,4096,1536,8,128,2,1,balanced,2", "x,1,x,moe,b,bfloat16,48,4096,1536,8,128,2,1,balanced,1")
	if out := fastestFirst([]Result{result("a", kernel.Experts, blocks[0]), result("b", kernel.Experts, blocks[1])}); out[0].Class != "a" {
		t.Error("blocks change places")
	}
}
