package calibrate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/measurement"
	"throughline/internal/test/builtin"
)

// TestIncludes: tables of engines time a product of 8 bits with the quantisation of its input,
// those of bare kernels do not; products of 16 bits have none.
func TestIncludes(t *testing.T) {
	var engine, bare strings.Builder
	engine.WriteString("framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n")
	bare.WriteString("kind,dtype,params,flops,bytes,time_us\n")
	for _, m := range []float64{1, 16, 64, 256, 1024, 4096} {
		for _, n := range []float64{1024, 4096, 8192} {
			for _, dtype := range []string{"fp8", "bfloat16"} {
				us := 5 + 2*m*n*4096/600e6 + 2*n*4096/3000e3
				fmt.Fprintf(&engine, "SGLang,0.5.14,NVIDIA H200,gemm,sglang_%s,%s,%g,%g,4096,%g\n", dtype, dtype, m, n, us/1e3)
				fmt.Fprintf(&bare, "gemm,%s,m=%g;n=%g;k=4096,0,0,%g\n", strings.Replace(dtype, "bfloat", "bf", 1), m, n, us)
			}
		}
	}
	for name, want := range map[string][]string{engine.String(): {"quantise"}, bare.String(): nil} {
		table, err := measurement.Read("made.csv", strings.NewReader(name))
		if err != nil || len(table.Problems) > 0 {
			t.Fatal(err, table.Problems)
		}
		set := &kernel.Set{System: "H200"}
		calibrate.Classes(table.Rows, builtin.System(t, "H200"), set)
		for key, want := range map[string][]string{"float8": want, "bfloat16": nil} {
			if g := set.Gemm[key]; g == nil || !slices.Equal(g.Includes, want) {
				t.Errorf("products in %s: %+v, want what they include to be %v", key, g, want)
			}
		}
	}
}

// TestBuiltInIncludes: what the built-in kernels were measured with, as
// internal/calibrate/include.go says of their tables.
func TestBuiltInIncludes(t *testing.T) {
	quantise, routing := []string{"quantise"}, []string{"routing"}
	for _, c := range []struct {
		system  string
		gemm    map[string][]string
		experts map[string][]string
		gates   bool
		rotary  bool
	}{
		{"B200", map[string][]string{"bfloat16": nil, "float8": quantise, "float4": quantise}, map[string][]string{"float4": routing, "float8": routing, "mxfp4_float8": routing}, true, true},
		{"H100_SXM", map[string][]string{"bfloat16": nil, "float8": quantise, "float8 blocks": quantise}, map[string][]string{"bfloat16": routing, "float8": routing, "float8 tuned": nil}, true, false},
		{"H200", map[string][]string{"bfloat16": nil, "float8": nil, "float8 blocks": quantise}, map[string][]string{"float8": routing, "float8 tuned": nil}, true, false},
		{"H800", map[string][]string{"float8": quantise, "float8 blocks": nil}, map[string][]string{"float8 tuned": nil}, true, false},
		{"A100_SXM", map[string][]string{"bfloat16": nil}, map[string][]string{"bfloat16": routing, "int4": routing}, false, false},
	} {
		k := builtin.System(t, c.system).Kernels
		for key, want := range c.gemm {
			if !slices.Equal(k.Gemm[key].Includes, want) {
				t.Errorf("%s: products in %s include %v", c.system, key, k.Gemm[key].Includes)
			}
		}
		for key, want := range c.experts {
			if !slices.Equal(k.Experts[key].Includes, want) {
				t.Errorf("%s: experts in %s include %v", c.system, key, k.Experts[key].Includes)
			}
		}
		if l := k.LinearDecode["gated_delta"]; l != nil && slices.Contains(l.Includes, "gates") != c.gates {
			t.Errorf("%s: linear attention includes %v", c.system, l.Includes)
		}
		if l := k.LatentDecode["float8"]; l != nil && slices.Contains(l.Includes, "rotary") != c.rotary {
			t.Errorf("%s: latent attention includes %v", c.system, l.Includes)
		}
	}
}
