package calibrate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/measurement"
)

// made is a table of times that no one measured: those of a chip that reaches 0.6 of the rate and
// 0.7 of the bandwidth of an H200 and of its links, and starts a kernel in 5 µs. It needs nothing
// beside the project.
type made struct{ b strings.Builder }

const (
	madeRate, madeBandwidth, madeLink = 0.6 * 989e12, 0.7 * 4800e9, 0.7 * 450e9
	madeLatency                       = 5e-6
)

func (m *made) row(kind, dtype, params string, flops, bytes, bandwidth float64) {
	rate := madeRate
	if dtype == "fp8" {
		rate *= 2
	}
	seconds := madeLatency + max(flops/rate, bytes/bandwidth)
	fmt.Fprintf(&m.b, "%s,%s,%s,%g,%g,%g\n", kind, dtype, params, flops, bytes, 1e6*seconds)
}

func madeTable() string {
	m := &made{}
	m.b.WriteString("kind,dtype,params,flops,bytes,time_us\n")
	for _, rows := range []float64{1, 16, 64, 256, 1024, 4096, 16384} {
		for _, nk := range [][2]float64{{4096, 4096}, {6144, 4096}, {4096, 14336}, {28672, 4096}, {8192, 8192}, {1024, 8192}} {
			n, k := nk[0], nk[1]
			p := fmt.Sprintf("m=%g;n=%g;k=%g", rows, n, k)
			m.row("gemm", "bf16", p, 2*rows*n*k, 2*(rows*k+n*k+rows*n), madeBandwidth)
			m.row("gemm", "fp8", p, 2*rows*n*k, rows*k+n*k+2*rows*n, madeBandwidth)
			for _, experts := range []float64{8, 32} {
				m.row("grouped_gemm", "bf16", fmt.Sprintf("experts=%g;%s", experts, p), experts*2*rows*n*k, experts*2*(rows*k+n*k+rows*n), madeBandwidth)
			}
		}
		for _, width := range []float64{1024, 4096, 8192} {
			m.row("add_rmsnorm", "bf16", fmt.Sprintf("m=%g;h=%g", rows, width), 0, 8*rows*width, madeBandwidth)
			m.row("silu_mul", "bf16", fmt.Sprintf("m=%g;i=%g", rows, width), 0, 6*rows*width, madeBandwidth)
			m.row("mla_absorb", "bf16", fmt.Sprintf("tokens=%g;h=%g;n=512;k=128", rows, width/64), 2*rows*width/64*512*128, 2*width/64*(rows*640+512*128), madeBandwidth)
		}
		n := rows * 65536
		m.row("d2d_copy", "u8", fmt.Sprintf("n=%.0f", n), 0, 2*n, madeBandwidth)
		m.row("h2d", "pinned", fmt.Sprintf("n=%.0f", n), 0, n, 50e9)
		m.row("d2h", "pinned", fmt.Sprintf("n=%.0f", n), 0, n, 50e9)
		for _, group := range []float64{2, 4, 8} {
			p, part := fmt.Sprintf("group=%g;n=%.0f", group, n), (group-1)/group
			m.row("all_reduce", "bf16", p, 0, 2*n*part, madeLink)
			m.row("all_gather", "bf16", p, 0, n*part, madeLink)
			m.row("reduce_scatter", "bf16", p, 0, n*part, madeLink)
			m.row("all_to_all", "bf16", p, 0, n*part, madeLink)
		}
	}
	for _, batch := range []float64{1, 4, 16, 64, 256} {
		for _, s := range []float64{256, 1024, 4096, 16384} {
			for _, heads := range []float64{8, 32, 128} {
				kv := heads / 4
				m.row("attn_decode", "bf16", fmt.Sprintf("b=%g;s=%g;h=%g;hk=%g;d=128", batch, s, heads, kv), 4*batch*s*heads*128, 4*batch*s*kv*128, madeBandwidth)
				m.row("mla_decode", "bf16", fmt.Sprintf("b=%g;s=%g;h=%g", batch, s, heads), 2*batch*s*heads*1088, 2*batch*s*576, madeBandwidth)
				if batch*s > 1<<16 {
					continue
				}
				m.row("attn_prefill", "bf16", fmt.Sprintf("b=%g;s=%g;h=%g;hk=%g;dq=128;dv=128", batch, s, heads, kv), 2*batch*s*s*heads*128, 4*batch*s*(heads+kv)*128, madeBandwidth)
				m.row("mla_prefill", "bf16", fmt.Sprintf("b=%g;s=%g;h=%g", batch, s, heads), batch*s*s*heads*(192+128), 4*batch*s*heads*160, madeBandwidth)
			}
		}
	}
	return m.b.String()
}

// TestMadeTable fits every kind of kernel to times that follow a plain law: the models reach it,
// also on shapes that they were not fitted to, and what the predictor says of a row is what its
// model does.
func TestMadeTable(t *testing.T) {
	table, err := measurement.Read("made.csv", strings.NewReader(madeTable()))
	if err != nil || len(table.Problems) > 0 {
		t.Fatal(err, table.Problems)
	}
	rows, conflicts := calibrate.Clean(table.Rows)
	if len(conflicts) > 0 || len(rows) != len(table.Rows) {
		t.Errorf("left out: %v", conflicts)
	}
	src, _ := hardware.Catalogue.Find("H200")
	s, doc := hardware.Read("H200", src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	s.Kernels = &kernel.Set{System: s.Name}
	results, uncovered := calibrate.Classes(rows, s, s.Kernels)
	if uncovered > 0 || len(results) != 17 {
		t.Errorf("%d rows without a model, %d classes", uncovered, len(results))
	}
	for _, r := range results {
		if !(r.Fitted.Mean < 5) || !(r.Shapes.Mean < 12) {
			t.Errorf("%s %s: %.1f%% off, on shapes held out %.1f%%", r.Class, r.Type, r.Fitted.Mean, r.Shapes.Mean)
		}
	}
	if err := s.Kernels.Check(); err != nil {
		t.Error(err)
	}
	p := calibrate.NewPredictor(s)
	off := map[kernel.Slot][2]float64{}
	for i := range rows {
		seconds, ok := p.Seconds(&rows[i])
		if !ok {
			t.Errorf("%s is not predicted", rows[i].Shape())
			continue
		}
		sum := off[rows[i].Kind]
		off[rows[i].Kind] = [2]float64{sum[0] + math.Abs(seconds/rows[i].Seconds-1), sum[1] + 1}
	}
	// Rows shorter than a tile are left out of a fit, but predicted.
	for kind, sum := range off {
		if mean := 100 * sum[0] / sum[1]; !(mean < 15) {
			t.Errorf("%s: predictions are %.1f%% off", kind, mean)
		}
	}
}
