package calibrate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// TestExchange fits an imagined exchange of 5 µs and 80% of 100 GB/s on one node, 10 µs and 50% of
// 10 GB/s on two.
func TestExchange(t *testing.T) {
	model := kernel.ExchangeModel{Element: 2}
	var b strings.Builder
	b.WriteString("framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,num_experts," +
		"dispatch_sms,dispatch_transmit_us,dispatch_notify_us,combine_sms,combine_transmit_us,combine_notify_us\n")
	for _, nodes := range []float64{1, 2} {
		for _, hidden := range []float64{2048, 4096, 7168} {
			for _, topk := range []float64{1, 2, 4, 8} {
				for tokens := 1.0; tokens < 1e5; tokens *= 4 {
					s := 5 + 1e6*model.Bytes(&kernel.Shape{M: tokens, N: topk, K: hidden, Experts: 128, Group: 8, Nodes: 1})/80e9
					if nodes == 2 {
						s = 10 + 1e6*model.Bytes(&kernel.Shape{M: tokens, N: topk, K: hidden, Experts: 128, Group: 16, Nodes: 2})/5e9
					}
					for _, sms := range []int{8, 20} { // the slow one is left out
						fmt.Fprintf(&b, "x,1,H,normal,k,%g,%g,%g,%g,128,%d,1e9,0,%[5]d,%[6]g,1\n", nodes, hidden, tokens, topk, sms, s*20/float64(sms)-1)
					}
				}
			}
		}
	}
	tab, err := measurement.Read("x", strings.NewReader(b.String()))
	if err != nil || len(tab.Problems) > 0 {
		t.Fatal(err, tab.Problems)
	}
	var rows []measurement.Row
	for _, r := range tab.Rows {
		if r.Kind == kernel.CombineNormal {
			rows = append(rows, r)
		}
	}
	sys := system(t, "H100_SXM")
	sys.Networks[0].Bandwidth, sys.Networks[1].Bandwidth = 100, 10
	var set kernel.Set
	results, uncovered := Classes(rows, sys, &set)
	if len(results) != 2 || uncovered != len(rows)/2 {
		t.Fatalf("%+v, %d", results, uncovered)
	}
	for _, r := range results {
		if !(r.Fitted.Mean < 1 && r.Shapes.Rows > 0 && r.Shapes.Mean < 3) {
			t.Errorf("%+v", r)
		}
	}
	if err := set.Check(); err != nil {
		t.Fatal(err)
	}
	timer := timing(t, kernel.CombineNormal, set.Exchange["combine_normal"])
	// 1000 tokens of two experts each among 128 on 8 ranks: another rank is missed by 112/128 ·
	// 111/127.
	copies := 7 * (1 - 112./128*111/127)
	if s := timer.Seconds(&kernel.Pace{Byte: 1 / 100e9, Far: 1 / 10e9},
		&kernel.Shape{M: 1000, N: 2, K: 4096, Experts: 128, Group: 8, Nodes: 1}); math.Abs(s/(5e-6+1000*copies*8192/80e9)-1) > 0.03 {
		t.Errorf("%g", s)
	}
}

// TestPublishedExchanges fits the tables of exchanges that are there.
func TestPublishedExchanges(t *testing.T) {
	if testing.Short() {
		t.Skip("fits take seconds")
	}
	for name, files := range map[string]string{
		"H100_SXM": "h100_sxm_*", "H200": "h200_sxm_comm_sglang_0.5.12_*", "B200": "b200_sxm_*", "B300": "b300_sxm_*",
		"GB200_NVL72": "gb200_*", "GB300_NVL72": "gb300_*",
	} {
		all, err := filepath.Glob(shared + "ops/" + files + "_deepep_*_perf.csv.gz")
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			t.Skip("no measurements: ", shared+"ops")
		}
		rows, bad, _ := tables(t, all)
		if len(bad) > 0 {
			t.Error(bad)
		}
		var set kernel.Set
		results, _ := Classes(rows, system(t, name), &set)
		for _, r := range results {
			if !(r.Shapes.Mean <= 10) || r.Shapes.Rows == 0 || r.Below > 0 {
				t.Errorf("%s %s %s: %.1f%% on shapes held out, %d below the roofline", name, r.Class, r.Kernel, r.Shapes.Mean, r.Below)
			}
			t.Logf("%s %s %s: %d rows, %.1f%% before, %.1f%% fitted, held out %.1f%%, median %.1f%%, worst %.0f%%", name, r.Class,
				r.Kernel, r.Fitted.Rows, r.Before.Mean, r.Fitted.Mean, r.Shapes.Mean, r.Shapes.Median, r.Shapes.Worst)
		}
		if err := set.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestNamedTables fits the tables whose paths tell the shapes.
func TestNamedTables(t *testing.T) {
	root := shared + "infersim"
	if _, err := os.Stat(root); err != nil {
		t.Skip("no measurements: ", err)
	}
	if testing.Short() {
		t.Skip("fits take seconds")
	}
	for gpu, c := range map[string]struct {
		system string
		most   map[string]float64
		left   int // rows that contradict others
	}{
		"h20":  {"H20_96G", map[string]float64{"gemm": 4, "grouped gemm": 8, "decode attention": 17, "prefill attention": 7}, 4},
		"h800": {"H800", map[string]float64{"gemm": 15, "grouped gemm": 7, "decode attention": 9}, 1},
	} {
		var files []string
		filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
			if err == nil && filepath.Base(filepath.Dir(file)) == gpu {
				files = append(files, file)
			}
			return err
		})
		rows, bad, conflicts := tables(t, files)
		for _, p := range bad {
			if !strings.HasPrefix(p.Reason, "no model of ") {
				t.Error(p)
			}
		}
		if len(conflicts) != c.left {
			t.Error(conflicts)
		}
		var set kernel.Set
		results, _ := Classes(rows, system(t, c.system), &set)
		for _, r := range results {
			if limit, ok := c.most[r.Class]; ok && r.Shapes.Rows > 0 && !(r.Shapes.Mean <= limit) {
				t.Errorf("%s %s %s: %.1f%% on shapes held out, not %g", gpu, r.Class, r.Type, r.Shapes.Mean, limit)
			}
			if r.Below > 0 {
				t.Errorf("%s %s: %d rows faster than peak", gpu, r.Class, r.Below)
			}
		}
	}
}
