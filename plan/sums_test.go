package plan_test

import (
	"strings"
	"testing"

	"throughline/internal/test/builtin"
	"throughline/internal/test/draw"
	"throughline/internal/test/golden"
	"throughline/model"
	"throughline/plan"
)

// TestSums: all layouts of several numbers of processors, which of them models of every family
// allow and why not, what lies where, and what is said of bytes.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for _, procs := range []int{1, 2, 6, 8, 24} {
		for _, cp := range []int{1, 2, 3} {
			splits := plan.Splits(procs, cp)
			sums.Fields("splits", splits)
			for _, name := range draw.Families {
				m, _ := builtin.Model(t, name)
				for i, l := range splits {
					if plan.ValidSplit(m, l) {
						sums.Add("splits", "valid", float64(1+i))
					}
					sums.Fields("splits that miss", plan.SplitMisses(m, l))
				}
				if !m.IsMoE() {
					continue
				}
				for i, e := range plan.ExpertSplits(procs) {
					for j, redundant := range []int{0, 1, 8} {
						p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: procs, PP: 1, TP: 1, CP: 1}, Experts: e, SharedReplicas: 4 * m.Experts.Shared, SharedPerCard: j == 1}, Redundant: redundant}
						sums.Add("experts", "deployed", float64(p.Deployed(m)))
						sums.Add("experts", "per processor", float64(p.ExpertsPerProc(m)))
						if p.ValidExperts(m) {
							sums.Add("experts", "valid", float64(1+i+j))
						}
						sums.Fields("experts that miss", p.ExpertMisses(m))
					}
				}
				sums.Fields("one copy", plan.OneCopy(procs, m.Experts.Routed, m.Experts.Width))
			}
		}
		sums.Fields("experts", plan.ExpertSplits(procs))
	}
	for _, text := range []string{
		"tp8", "3 × dp4·pp1·tp2 ep8·etp1·edp1 +32 mtp1", "3xtp8,ep8", "2*TP4;batch=7 cp2", "tp2 tbo", "tp2 sbo", "tp2 tbo sbo", "tp2 TBO tbo", "", "2x", "0x tp1", "1000000x tp1", "1000001x tp1", "99999999999999999999x tp1",
		"tp0", "tp1000000", "tp1000001", "tp", "tpx", "xp3", "tp2 tp2", "+0", "+-1", "mtp0", "batch0", "batch1", "7", "7 tp2", "tp1.pp2", "ep=4 etp=2 edp=3",
	} {
		w, err := plan.ParseWords(text)
		if err != nil {
			sums.Fields("words refused", err.Error())
			continue
		}
		sums.Fields("words", w)
	}
	for o := range plan.OverlapCount {
		found, ok := plan.FindOverlap(strings.ToUpper(o.String()))
		short, also := plan.FindOverlap(o.Word())
		sums.Fields("overlap", []any{o.String(), o.Word(), o.Batches(), o.Least(), int(found), ok, int(short), also, plan.OverlapWords()[o.Word()]})
	}
	_, known := plan.FindOverlap("none")
	sums.Fields("overlaps", []any{plan.OverlapNames(), known})
	for layers := 1; layers < 50; layers += 3 {
		for pp := 1; pp < 7; pp++ {
			for i := range 8 {
				p := plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 2, PP: pp, TP: 2}, Pipelined: i%2 == 0}, Batch: plan.Batch{Count: 2, Size: 3}, Under: i % 3}
				p.LightLast = i > 3
				all, last := p.Filled(layers)
				sums.Add("pipeline", "filled", all+2*last)
				sums.Add("pipeline", "layers", float64(plan.LayersPerStage(layers, pp)))
				sums.Add("pipeline", "sequences", float64(p.Sequences(true)+2*p.Sequences(false)))
				sums.Add("pipeline", "under way", float64(p.Underway()+2*p.InFlight()))
				sums.Add("pipeline", "span", float64(p.StageSpan(true)+2*p.StageSpan(false)))
				sums.Fields("pipeline in words", p.String())
			}
		}
	}
	for _, prec := range []plan.Precision{
		{Weight: 2, Activation: 2, Cache: 2, Comm: 2}, {Weight: 0.5, Activation: 2, Residual: 2, Comm: 2},
		{Weight: 1.03, Activation: 1, Cache: 1, Residual: 2, Comm: 2, Dispatch: 0.7, Combine: 1, Modules: [model.ModuleCount]plan.Product{model.ExpertModule: {Weight: 0.55, Activation: 2, Type: "bfloat16"}}},
		{Weight: 2, Activation: 2, Modules: [model.ModuleCount]plan.Product{0: {Weight: 1, Activation: 2}}, Own: plan.OwnKernels{Wide: 0.1, Narrow: 0.2, Experts: 0.3, Attention: 0.4, Memory: 0.5}},
	} {
		for m := range prec.Modules {
			of := prec.Of(model.Module(m))
			sums.Fields("formats", of)
			sums.Add("shares", "products", prec.ProductShare(model.Module(m), 0.8))
		}
		sums.Add("shares", "others", prec.AttentionShare(0.8)+10*prec.MemoryShare(0.7))
		sums.Add("formats", "between", prec.Between()+10*prec.Norms()+100*prec.Narrowest())
		for i, yes := range []bool{prec.Unpacked(), prec.Blocks(), prec.HasOwn()} {
			if yes {
				sums.Add("formats", "are so", float64(1+i))
			}
		}
		for _, engine := range []bool{false, true} {
			sent, back := prec.Exchanged(engine)
			sums.Add("formats", "exchanged", sent+10*back)
		}
	}
	sums.Check(t, "testdata/sums.tsv")
}

// TestRange: more than the first, up to the second.
func TestRange(t *testing.T) {
	r := plan.Range{From: 2, To: 5}
	for x, want := range map[float64]bool{1: false, 2: false, 2.5: true, 5: true, 5.5: false} {
		if r.Holds(x) != want {
			t.Errorf("%v holds %v: %v", r, x, !want)
		}
	}
	if (plan.Range{}).Holds(0) {
		t.Error("nothing holds nothing")
	}
}
