package calibrate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/measurement"
)

func show(name string, v Validation, n int) {
	fmt.Printf("%-34s noise %4.1f rows %6d numbers %4d below %5d | before %6.1f fitted %5.1f/%5.1f/%6.0f held-out %5.1f/%5.1f/%6.0f largest %5.1f/%5.1f/%6.0f %s\n", name, v.Noise, v.Fitted.Rows, n, v.Below,
		v.Before.Mean, v.Fitted.Mean, v.Fitted.Median, v.Fitted.Worst, v.Shapes.Mean, v.Shapes.Median, v.Shapes.Worst, v.Largest.Mean, v.Largest.Median, v.Largest.Worst, v.Shapes.WorstPlace)
}

func pick(rows []measurement.Row, k measurement.Kind, ok func(r *measurement.Row) bool) []measurement.Row {
	var out []measurement.Row
	for i := range rows {
		if rows[i].Kind == k && (ok == nil || ok(&rows[i])) {
			out = append(out, rows[i])
		}
	}
	return out
}

func exploreH200(t *testing.T) {
	tab, err := measurement.ReadFile("../../shared/measurements/h200/ops.csv")
	if err != nil {
		t.Skip(err)
	}
	rows, con := Clean(tab.Rows)
	fmt.Println(len(con), "conflicts", len(tab.Problems), "problems")
	for _, ty := range []string{"bfloat16", "float8"} {
		rate := 989e12
		if ty == "float8" {
			rate = 1978e12
		}
		g, v := Gemm(pick(rows, measurement.Gemm, func(r *measurement.Row) bool { return r.Type == ty }), Peak{rate, 4.8e12})
		show("gemm "+ty, v, len(g.Compute.Slowdown)+len(g.Memory.Slowdown)+1)
	}
	p := Peak{989e12, 4.8e12}
	gg, v := GroupedGemm(pick(rows, measurement.GroupedGemm, nil), p)
	show("grouped", v, len(gg.Compute.Slowdown)+len(gg.Memory.Slowdown)+1)
	d, v := Decode(pick(rows, measurement.Decode, nil), p)
	show("decode", v, len(d.Compute.Slowdown)+len(d.Memory.Slowdown)+1)
	pf, v := Prefill(pick(rows, measurement.Prefill, nil), p)
	show("prefill", v, len(pf.Compute.Slowdown)+len(pf.Memory.Slowdown)+1)
	for _, k := range []measurement.Kind{measurement.AddNorm, measurement.SiluMul, measurement.DeviceCopy} {
		c, v := Curve(pick(rows, k, nil), p.Bandwidth)
		show(string(k), v, len(c.Memory.Slowdown)+1)
	}
	for _, k := range []measurement.Kind{measurement.ToHost, measurement.ToDevice} {
		c, v := Curve(pick(rows, k, func(r *measurement.Row) bool { return r.Type == "pinned" }), 64e9)
		show(string(k), v, len(c.Memory.Slowdown)+1)
	}
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	exploreH200(t)
}

func opsRows(t *testing.T, glob string) []measurement.Row {
	m, _ := filepath.Glob("../../shared/measurements/ops/" + glob)
	var out []measurement.Row
	for _, f := range m {
		tab, err := measurement.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tab.Rows...)
		fmt.Println(filepath.Base(f), len(tab.Rows), "rows", len(tab.Problems), "problems")
		for i, p := range tab.Problems {
			if i < 2 {
				fmt.Println("   ", p)
			}
		}
	}
	out, con := Clean(out)
	fmt.Println(len(out), "kept", len(con), "conflicts")
	for i, p := range con {
		if i < 2 {
			fmt.Println("   ", p)
		}
	}
	return out
}

func exploreOps(t *testing.T, gpu string, rates map[string]float64, bw, link float64) {
	rows := opsRows(t, gpu+"_gemm_*")
	kinds := map[string]int{}
	for i := range rows {
		kinds[rows[i].Label("kernel")+" "+rows[i].Label("dtype")]++
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		ker, dt, _ := strings.Cut(k, " ")
		rr := pick(rows, measurement.Gemm, func(r *measurement.Row) bool { return r.Label("kernel") == ker && r.Label("dtype") == dt })
		g, v := Gemm(rr, Peak{rates[rr[0].Type], bw})
		show(gpu+" gemm "+dt+" "+ker, v, len(g.Compute.Slowdown)+len(g.Memory.Slowdown)+1)
	}
	rows = opsRows(t, gpu+"_attention_*")
	kinds = map[string]int{}
	for i := range rows {
		kinds[rows[i].Label("kernel")+" "+rows[i].Type+" "+rows[i].Label("kv")]++
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		f := strings.Fields(k)
		ok := func(r *measurement.Row) bool {
			return r.Label("kernel") == f[0] && r.Type == f[1] && r.Label("kv") == f[2] && r.Get("window") == 0
		}
		if rr := pick(rows, measurement.Decode, ok); len(rr) > 0 {
			g, v := Decode(rr, Peak{rates[rr[0].Type], bw})
			show(gpu+" decode "+k, v, len(g.Compute.Slowdown)+len(g.Memory.Slowdown)+1)
		}
		if rr := pick(rows, measurement.Prefill, ok); len(rr) > 0 {
			g, v := Prefill(rr, Peak{rates[rr[0].Type], bw})
			show(gpu+" prefill "+k, v, len(g.Compute.Slowdown)+len(g.Memory.Slowdown)+1)
		}
	}
	rows = opsRows(t, gpu+"_mla_sglang_0.5.14_*")
	for _, kv := range []string{"bfloat16", "fp8"} {
		ok := func(r *measurement.Row) bool { return r.Label("kv") == kv }
		if rr := pick(rows, measurement.LatentDecode, ok); len(rr) > 0 {
			g, v := Decode(rr, Peak{rates[rr[0].Type], bw})
			show(gpu+" mla decode "+kv, v, len(g.Compute.Slowdown)+len(g.Memory.Slowdown)+1)
		}
		if rr := pick(rows, measurement.LatentPrefill, ok); len(rr) > 0 {
			g, v := Prefill(rr, Peak{rates[rr[0].Type], bw})
			show(gpu+" mla prefill "+kv, v, len(g.Compute.Slowdown)+len(g.Memory.Slowdown)+1)
		}
	}
	rows = opsRows(t, gpu+"_moe_*_moe_perf*")
	kinds = map[string]int{}
	for i := range rows {
		kinds[rows[i].Label("kernel")+" "+rows[i].Label("dtype")]++
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		ker, dt, _ := strings.Cut(k, " ")
		rr := pick(rows, measurement.Experts, func(r *measurement.Row) bool {
			return r.Label("kernel") == ker && r.Label("dtype") == dt && r.Get("ep") == 1 && r.Label("distribution") == "balanced"
		})
		if len(rr) == 0 || rates[rr[0].Type] == 0 {
			continue
		}
		g, v := GroupedGemm(rr, Peak{rates[rr[0].Type], bw})
		show(gpu+" moe "+dt+" "+ker, v, len(g.Compute.Slowdown)+len(g.Memory.Slowdown)+1)
	}
	rows = opsRows(t, gpu+"_comm_nccl*")
	for _, k := range []measurement.Kind{measurement.AllReduce, measurement.AllGather, measurement.ReduceScatter, measurement.AllToAll} {
		for _, ty := range []string{"float16", "int8"} {
			rr := pick(rows, k, func(r *measurement.Row) bool { return r.Type == ty })
			g, v := Collective(rr, link)
			show(gpu+" "+string(k)+" "+ty, v, len(g.Memory.Slowdown)+1)
		}
	}
}

func TestOps(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	exploreOps(t, "h200_sxm", map[string]float64{"bfloat16": 989e12, "float8": 1978e12, "int4": 989e12}, 4.8e12, 450e9)
}

func TestTune(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	tab, _ := measurement.ReadFile("../../shared/measurements/h200/ops.csv")
	h := tab.Rows
	ops := opsRows(t, "h200_sxm_gemm*")
	att := opsRows(t, "h200_sxm_attention*")
	moe := opsRows(t, "h200_sxm_moe_sglang_0.5.14*")
	nccl := opsRows(t, "h200_sxm_comm_nccl*")
	mla := opsRows(t, "h200_sxm_mla_sglang_0.5.14*")
	bf := func(r *measurement.Row) bool { return r.Type == "bfloat16" }
	fa := func(r *measurement.Row) bool {
		return r.Label("kernel") == "fa3" && r.Label("kv") == "bfloat16" && r.Get("window") == 0 && r.Line%3 == 0
	}
	p := Peak{989e12, 4.8e12}
	for _, n := range []int{1, 2, 4} {
		for _, sm := range []float64{0.0003, 0.003, 0.03} {
			for _, be := range []float64{0.001, 0.01, 0.1} {
				s := setting{n, sm, be}
				tuning.gemm, tuning.grouped, tuning.decode, tuning.prefill = s, s, s, s
				s.norm = 1
				tuning.curve, tuning.collective = s, s
				_, a := Gemm(pick(h, measurement.Gemm, bf), p)
				_, b := Gemm(pick(ops, measurement.Gemm, func(r *measurement.Row) bool { return bf(r) && r.Line%5 == 0 }), p)
				_, c := GroupedGemm(pick(h, measurement.GroupedGemm, nil), p)
				_, d := GroupedGemm(pick(moe, measurement.Experts, func(r *measurement.Row) bool {
					return r.Label("dtype") == "fp8_block" && r.Get("ep") == 1 && r.Label("distribution") == "balanced"
				}), Peak{1978e12, 4.8e12})
				_, e := Decode(pick(h, measurement.Decode, nil), p)
				_, f := Decode(pick(att, measurement.Decode, fa), p)
				_, g := Prefill(pick(h, measurement.Prefill, nil), p)
				_, i := Prefill(pick(att, measurement.Prefill, fa), p)
				_, j := Decode(pick(mla, measurement.LatentDecode, func(r *measurement.Row) bool { return r.Label("kv") == "bfloat16" }), p)
				fmt.Printf("%d %6.4f %6.4f gemm %4.1f %4.1f %4.1f grouped %4.1f moe %4.1f decode %4.1f %4.1f mla %4.1f prefill %4.1f %4.1f (%4.1f)", n, sm, be, a.Shapes.Mean, a.Largest.Mean, b.Shapes.Mean, c.Shapes.Mean, d.Shapes.Mean, e.Shapes.Mean, f.Shapes.Mean, j.Shapes.Mean, g.Shapes.Mean, i.Shapes.Mean, g.Largest.Mean)
				if n == 1 {
					_, x := Curve(pick(h, measurement.SiluMul, nil), 4.8e12)
					_, y := Curve(pick(h, measurement.AddNorm, nil), 4.8e12)
					_, z := Collective(pick(nccl, measurement.AllReduce, func(r *measurement.Row) bool { return r.Type == "float16" }), 450e9)
					_, w := Collective(pick(nccl, measurement.AllToAll, func(r *measurement.Row) bool { return r.Type == "float16" }), 450e9)
					fmt.Printf(" curve %4.1f %4.1f nccl %4.1f %4.1f", x.Shapes.Mean, y.Shapes.Mean, z.Shapes.Mean, w.Shapes.Mean)
				}
				fmt.Println()
			}
		}
	}
}
