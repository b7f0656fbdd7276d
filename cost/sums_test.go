package cost_test

import (
	"math/rand/v2"
	"testing"

	"throughline/assume"
	"throughline/cost"
	"throughline/hardware"
	"throughline/internal/test/builtin"
	"throughline/internal/test/draw"
	"throughline/internal/test/golden"
	"throughline/op"
	"throughline/plan"
)

// TestSums: what operators of models of every family cost on a chip with measured kernels and
// power, and on one with tables of efficiencies: in wide and narrow numbers, at the full clock and
// a lower one, launched by a framework, and what is said about each.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	kept, tables := builtin.Kept(t), builtin.System(t, "SOW-S1")
	slow := kept.Clone()
	slow.Kernels, slow.Mode = nil, hardware.NoOverlap
	small := kept.Clone()
	small.Generation, small.Networks[0].Size, small.Networks[1].Library = "Blackwell", 4, ""
	for i := range small.Networks {
		small.Networks[i].ProcessorUsage = 0.2
	}
	for i, name := range draw.Families {
		m, set := builtin.Model(t, name)
		for j, c := range []struct {
			system  *hardware.System
			assumed string
			prec    plan.Precision
			clock   float64
			eager   *op.Eager
		}{
			{kept, "physical", plan.Precision{Weight: 2, Activation: 2, Cache: 2, Comm: 2, MatrixType: "bfloat16", AttentionType: "bfloat16", VectorType: "bfloat16"}, 1, nil},
			{kept, "physical", plan.Precision{Weight: 1 + 4./128/128, Activation: 1, Cache: 1, Comm: 2, Residual: 2, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "bfloat16"}, 0.8, nil},
			{small, "physical", plan.Precision{Weight: 0.5, Activation: 2, Cache: 1, Comm: 2, MatrixType: "float16", AttentionType: "float16", VectorType: "float16", AllReduce: 1e-6}, 0.9, nil},
			{tables, "reference", plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 1, MatrixType: "float8", AttentionType: "float8", VectorType: "float8"}, 1, nil},
			{slow, "physical", plan.Precision{Weight: 4, Activation: 4, Cache: 4, Comm: 4, MatrixType: "float32", AttentionType: "float32", VectorType: "float32"}, 0.7, &op.Eager{Launch: 3e-6}},
		} {
			as, err := assume.Parse(c.assumed)
			if err != nil {
				t.Fatal(err)
			}
			p, err := cost.NewPricer(c.system, &c.prec, as)
			if err != nil {
				t.Fatalf("%s: %v", c.system.Name, err)
			}
			p.SetClock(c.clock)
			p.Eager(c.eager)
			l := op.NewLowerer(m, set, &c.prec, as)
			l.InNodes(4)
			for k := range draw.Layouts {
				pl := draw.Laid(k, m.IsMoE())
				draw.Behave(&pl.Behaviour, uint64(10*i+j), uint64(k))
				p.Idle((i+k)%2 == 0)
				for _, groups := range draw.Steps {
					var step op.Step
					for _, g := range groups {
						l.Add(&step, &g)
					}
					var list op.List
					for _, lower := range []func(*plan.Plan, *op.Step, *op.List){l.Stage, l.Ends} {
						lower(&pl, &step, &list)
						addPrices(sums, p, c.system.Power != nil, list.All())
					}
				}
			}
		}
	}
	addPower(sums, kept.Power)
	addSteps(t, sums)
	sums.Check(t, "testdata/sums.tsv")
}

// addPower adds time and energy of drawn work, at clocks and under limits.
func addPower(sums golden.Sums, p *hardware.Power) {
	r := rand.New(rand.NewPCG(33, 2))
	for i := range 300 {
		w := cost.Work{
			Times: float64(1 + r.IntN(2)), Seconds: r.Float64(), Static: 0.3 * r.Float64(), Flops: 1e15 * r.Float64(), Rate: 1e15 * float64(r.IntN(2)), Filled: r.Float64() * float64(r.IntN(2)),
			Zeros: r.IntN(4) == 0, Type: []string{"bfloat16", "float8", ""}[r.IntN(3)], Bytes: 4e12 * r.Float64(), Pace: 5e12 * float64(r.IntN(2)),
			ThroughCores: r.IntN(2) == 0, Cached: r.IntN(2) == 0, Sent: 1e11 * r.Float64(), Level: r.IntN(3) - 1,
		}
		e := w.Effort(p)
		sums.Fields("effort", e)
		clock, limit := 0.4+0.6*r.Float64(), 200+600*r.Float64()
		sums.Add("power", "seconds", e.Seconds(clock))
		sums.Add("power", "joules", e.Joules(p, clock))
		sums.Add("power", "watts on", cost.OnWatts(p, clock))
		sums.Fields("under a limit", e.Under(p, limit))
		behind := e.Behind(p, limit, limit*r.Float64())
		sums.Fields("behind others", behind)
		sums.Add("power", "watts", behind.Watts())
		lasting := e.Lasting(2*r.Float64(), 0.2)
		sums.Fields("lasting", lasting)
		if _, fits := e.Fitting(p, limit); fits {
			sums.Add("power", "fits", float64(i))
		}
		sums.Add("power", "after a rest", cost.AfterRest(p, float64(1+r.IntN(9)), 0.01+r.Float64(), 1+r.Float64()))
	}
}

// addSteps counts the chips whose efficiencies depend on sizes, with two rows in one table each.
func addSteps(t *testing.T, sums golden.Sums) {
	prec := plan.Precision{Weight: 1, Activation: 1, Cache: 1, Comm: 1, MatrixType: "float8", AttentionType: "bfloat16", VectorType: "float16"}
	for i := range 6 {
		s := builtin.Kept(t)
		s.Kernels = nil
		s.Networks[1].Library = ""
		switch v, m, n := s.Vector["float16"], s.Matrix["float8"], s.Matrix["bfloat16"]; i {
		case 1:
			s.Memory.Efficiency = append(hardware.SizeTable{{AtLeast: 9, Efficiency: 1}}, s.Memory.Efficiency...)
		case 2:
			v.Efficiency = append(hardware.SizeTable{{AtLeast: 9, Efficiency: 1}}, v.Efficiency...)
			s.Vector["float16"] = v
		case 3:
			m.Efficiency = append(hardware.ShapeTable{{M: 9, Efficiency: 1}}, m.Efficiency...)
			s.Matrix["float8"] = m
		case 4:
			n.Efficiency = append(hardware.ShapeTable{{M: 9, Efficiency: 1}}, n.Efficiency...)
			s.Matrix["bfloat16"] = n
		case 5:
			s.Networks[1].MessageSize = append(hardware.SizeTable{{AtLeast: 9, Efficiency: 1}}, s.Networks[1].MessageSize...)
		}
		p, err := cost.NewPricer(s, &prec, &assume.Physical)
		if err != nil {
			t.Fatal(err)
		}
		if p.HasSteps() {
			sums.Add("steps", "depend on sizes", float64(i))
		}
	}
}

// addPrices adds what operators cost, one by one and together.
func addPrices(sums golden.Sums, p *cost.Pricer, powered bool, ops []op.Op) {
	sums.Add("list", "products", p.Products(ops))
	sums.Add("list", "computing", p.Computing(ops))
	if powered {
		sums.Add("list", "heat", p.Heat(ops))
	}
	for i := range ops {
		o := &ops[i]
		of := o.Kind.String()
		sums.Fields(of, p.Price(o))
		share, level := p.ErrorOf(o)
		sums.Add(of, level.String(), share)
		common, _ := p.CommonError(o)
		sums.Add(of, "common error", common)
		use, used := p.Use(o)
		if used {
			sums.Fields(of, use)
		}
		sums.Add(of, "static", p.Static(o))
		p.Thresholds(o, func(q cost.Quantity, threshold float64) { sums.Add(of, "threshold", threshold+q(o)) })
		if o.Class == op.Comm {
			bytes, level := p.Sent(o)
			times, units := p.Contended(o)
			sums.Add(of, "sent", bytes*float64(1+level))
			sums.Add(of, "contended", times-units)
			for times := int32(2); times <= 16; times *= 2 {
				far := *o
				far.Group, far.Span = times*o.Group, times*o.Span
				sums.Fields(of+" in larger groups", p.Communicate(&far))
				share, _ := p.ErrorOf(&far)
				sums.Add(of+" in larger groups", "error", share)
			}
			sums.Add(of, "handed on", p.HandOn(o.Members(), o.Moved))
			continue
		}
		if powered {
			sums.Fields(of, p.Effort(o, p.Full(o)))
			sums.Fields(of, p.Work(o, 1, 0.1))
		}
	}
}
