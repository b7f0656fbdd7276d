package calibrate

import (
	"fmt"
	"os"
	"testing"

	"throughline/measurement"
)

func show(name string, v Validation, n int) {
	fmt.Printf("%-34s rows %6d numbers %4d below %5d | before %6.1f fitted %5.1f/%5.1f/%6.0f held-out %5.1f/%5.1f/%6.0f largest %5.1f/%5.1f/%6.0f %s\n", name, v.Fitted.Rows, n, v.Below,
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
