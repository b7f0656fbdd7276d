package estimate_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/test/long"
	"throughline/plan"
)

// fresh is the result of a new evaluator on a system.
func fresh(p *estimate.Problem, s *hardware.System, pl *plan.Plan) (out estimate.Estimate, d *estimate.Detail, err error) {
	q := *p
	q.System = s
	e, err := estimate.NewEvaluator(&q)
	if err != nil {
		return out, nil, err
	}
	e.Evaluate(pl, &out)
	return out, e.Detail(pl), nil
}

// asNew compares an evaluator that moved to a system with a new one, to the last bit.
func asNew(p *estimate.Problem, e *estimate.Evaluator, s *hardware.System, pl *plan.Plan) error {
	if err := e.On(s); err != nil {
		return err
	}
	var got estimate.Estimate
	e.Evaluate(pl, &got)
	want, detail, err := fresh(p, s, pl)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%+v, a new evaluator says %+v", got, want)
	}
	if !reflect.DeepEqual(e.Detail(pl), detail) {
		return fmt.Errorf("%+v in detail, a new evaluator says %+v", e.Detail(pl).Shares, detail.Shares)
	}
	return nil
}

// TestChangedSystemIsANewOne: on systems of any form, with kernels and without, an evaluator that
// follows any changes of any numbers says what a new one says.
func TestChangedSystemIsANewOne(t *testing.T) {
	calibrated := problem(t, "llama_3_8b", "H200").System.Kernels
	long.Check(t, func(t *rapid.T) {
		drawn, pl := drawnPlan(t, rapid.Bool().Draw(t, "steps"))
		p := drawn.Problem
		if rapid.Bool().Draw(t, "calibrated") {
			p.System.Kernels = calibrated
		}
		if rapid.Bool().Draw(t, "second tier") {
			p.System.Memory2 = &hardware.SecondMemory{GiB: 1, GBps: 0.01, Efficiency: hardware.SizeTable{{Efficiency: 0.9}}}
			p.Offload = estimate.Offload{Weights: 0.25, Cache: 0.5}
		}
		e, err := estimate.NewEvaluator(&p)
		if err != nil {
			t.Fatal(err)
		}
		changing := p.System.Clone()
		parameters := changing.Parameters()
		for range rapid.IntRange(1, 4).Draw(t, "steps of the scan") {
			for range rapid.IntRange(1, 3).Draw(t, "changes") {
				q := &parameters[rapid.IntRange(0, len(parameters)-1).Draw(t, "parameter")]
				q.Set(changing, q.Of(changing)*math.Exp(rapid.Float64Range(-2, 2).Draw(t, "factor"))+rapid.Float64Range(0, 0.1).Draw(t, "more"))
			}
			if err := asNew(&p, e, changing, &pl); err != nil {
				t.Fatal(err)
			}
		}
		// And back, and without its kernels.
		plain := p.System.Clone()
		plain.Kernels = nil
		for _, s := range []*hardware.System{p.System, plain, p.System} {
			if err := asNew(&p, e, s, &pl); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestEveryParameterIsFollowed: each of them alone, then all together.
func TestEveryParameterIsFollowed(t *testing.T) {
	for i, c := range cases {
		_, plans := evaluation(t, i, 64)
		p := caseProblem(t, i)
		e, err := estimate.NewEvaluator(p)
		if err != nil {
			t.Fatal(err)
		}
		changing := p.System.Clone()
		moved := 0
		for n, q := range changing.Parameters() {
			v := q.Of(changing)
			q.Set(changing, 0.9*v)
			if err := asNew(p, e, changing, &plans[n%64]); err != nil {
				t.Fatalf("%s, %s: %v", c.name, q.Name, err)
			}
			var before, after estimate.Estimate
			e.Evaluate(&plans[n%64], &after)
			if before, _, err = fresh(p, p.System, &plans[n%64]); err != nil {
				t.Fatal(err)
			}
			if before.StepTime != after.StepTime {
				moved++
			}
			q.Set(changing, v)
		}
		if moved < 4 {
			t.Errorf("%s: only %d parameters move the step", c.name, moved)
		}
		for _, q := range changing.Parameters() {
			q.Set(changing, 1.1*q.Of(changing))
		}
		if err := asNew(p, e, changing, &plans[0]); err != nil {
			t.Fatalf("%s, all together: %v", c.name, err)
		}
	}
}

// TestMissingTypes: an evaluator stays where it was if it cannot move.
func TestMissingTypes(t *testing.T) {
	p := caseProblem(t, 2)
	_, plans := evaluation(t, 2, 64)
	e, err := estimate.NewEvaluator(p)
	if err != nil {
		t.Fatal(err)
	}
	without := p.System.Clone()
	delete(without.Vector, p.Precision.VectorType)
	without.Memory.GBps *= 2
	if e.On(without) == nil {
		t.Error("moves to a system without a number type")
	}
	var got estimate.Estimate
	e.Evaluate(&plans[0], &got)
	if want, _, _ := fresh(p, p.System, &plans[0]); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, before %+v", got, want)
	}
}

// scan is a system whose numbers change, with what prices plans on it.
type scan struct {
	system     *hardware.System
	parameters []hardware.Parameter
	values     [2][]float64 // of the parameters, in turn
	evaluator  *estimate.Evaluator
	plans      []plan.Plan
	n          int
	out        estimate.Estimate
}

func newScan(t testing.TB, i int) *scan {
	e, plans := evaluation(t, i, 64)
	s := &scan{system: caseProblem(t, i).System.Clone(), evaluator: e, plans: plans}
	s.parameters = s.system.Parameters()
	for _, q := range s.parameters {
		v := q.Of(s.system)
		s.values[0], s.values[1] = append(s.values[0], 0.97*v), append(s.values[1], 1.02*v)
	}
	return s
}

// change gives parameters their other value, moves the evaluator and evaluates a plan.
func (s *scan) change(t testing.TB, from, to int) {
	s.n++
	for i := from; i < to; i++ {
		s.parameters[i].Set(s.system, s.values[s.n&1][i])
	}
	if err := s.evaluator.On(s.system); err != nil {
		t.Fatal(err)
	}
	s.evaluator.Evaluate(&s.plans[s.n&63], &s.out)
}

func TestChangingDoesNotAllocate(t *testing.T) {
	for i, c := range cases {
		s := newScan(t, i)
		if n := testing.AllocsPerRun(1000, func() { s.change(t, 0, len(s.parameters)) }); n != 0 {
			t.Errorf("%s: %v allocations per change, want 0", c.name, n)
		}
	}
}

// BenchmarkChangedSystem is a number of a system changed, the evaluator moved to it, and a plan
// evaluated: for each parameter alone, of which the slowest counts, and for all of them changed
// together.
func BenchmarkChangedSystem(b *testing.B) {
	for i, c := range cases {
		b.Run(c.name+"/slowest", func(b *testing.B) {
			s := newScan(b, i)
			taken := make([]time.Duration, len(s.parameters)) // at best: other programs run beside
			for b.Loop() {
				for at := range s.parameters {
					const many = 64 // which makes reading the clock cheap
					start := time.Now()
					for range many {
						s.change(b, at, at+1)
					}
					if d := time.Since(start) / many; taken[at] == 0 || d < taken[at] {
						taken[at] = d
					}
				}
			}
			slowest := 0
			for at := range taken {
				if taken[at] > taken[slowest] {
					slowest = at
				}
			}
			b.Logf("slowest: %s", s.parameters[slowest].Name)
			b.ReportMetric(1/taken[slowest].Seconds(), "systems/s")
			b.ReportMetric(0, "ns/op")
		})
		b.Run(c.name+"/all", func(b *testing.B) {
			s := newScan(b, i)
			b.ReportAllocs()
			for b.Loop() {
				s.change(b, 0, len(s.parameters))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "systems/s")
		})
	}
}
