package lab

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/test/long"
)

// madeGroup is a group of runs whose TTFT is 100 ms and what its pools take between servers, measured with so much of that.
func madeGroup(engine string, fold, runs int, handover float64) *grouped {
	g := &grouped{engine: engine, fold: fold, known: map[tabled][]float64{}}
	for range runs {
		s := &surface{measured: 0.1 + handover, start: 0.1 + constants[5].start}
		s.draw(5, []level{0, levels - 1}, func(l level) float64 { return 0.1 + constants[5].at(l) })
		g.figures[len(blocks)-1] = append(g.figures[len(blocks)-1], s)
	}
	return g
}

// TestChoose: an engine whose groups agree with each other, and not with the others, keeps a number of its own; one that has a
// single group, which nobody bears out, gets nearly that of the others; one without runs has that of all.
func TestChoose(t *testing.T) {
	at := func(l level) float64 { return constants[5].at(l) }
	near, far := at(outermost), at(outermost+6) // 100 and 400 ms
	for _, c := range []struct {
		name   string
		groups []*grouped
		want   map[string]float64
	}{
		{"all alike", []*grouped{madeGroup("a", 0, 5, near), madeGroup("a", 1, 5, near), madeGroup("b", 2, 5, near)}, map[string]float64{"a": near, "b": near}},
		{"two by two", []*grouped{madeGroup("a", 0, 5, near), madeGroup("a", 1, 5, near), madeGroup("b", 2, 5, far), madeGroup("b", 3, 5, far)}, map[string]float64{"a": near, "b": far}},
		{"without runs", []*grouped{madeGroup("a", 0, 5, near), madeGroup("a", 1, 5, near), madeGroup("b", 2, 0, 0)}, map[string]float64{"a": near, "b": near}},
	} {
		got := choose(c.groups)
		for engine, want := range c.want {
			if is := at(got[engine][5]); math.Abs(is/want-1) > 1e-9 {
				t.Errorf("%s: %s %v s, want %v", c.name, engine, is, want)
			}
		}
	}
	// Three engines with one group each tell nothing of each other's: what is chosen lies between their own and that of all.
	got := choose([]*grouped{madeGroup("a", 0, 5, near), madeGroup("b", 1, 5, near), madeGroup("c", 2, 5, far)})
	if c := at(got["c"][5]); c > far || c < near {
		t.Errorf("between %v and %v: %v", near, far, c)
	}
}

// TestStallsDecideNothing: of 5 runs two that took seconds longer do not move what the other three say.
func TestStallsDecideNothing(t *testing.T) {
	g := madeGroup("a", 0, 5, constants[5].at(outermost+3))
	for _, s := range g.figures[len(blocks)-1][:2] {
		s.measured = 7
	}
	if got := choose([]*grouped{g})["a"][5]; got != outermost+3 {
		t.Errorf("level %d, want %d", got, outermost+3)
	}
}

// TestSurface: between two samples a figure is a straight line in the constant, and constants add up: of 10 s with 1 s for a
// constant at its start and 3 for another, twice of both is 14 s.
func TestSurface(t *testing.T) {
	s := &surface{start: 10}
	for c, each := range map[int]float64{0: 1, 2: 3} {
		s.draw(c, []level{0, outermost, levels - 1}, func(l level) float64 { return 10 + each*(l.times()-1) })
	}
	p := starts
	p[0], p[2] = outermost+finer, outermost+finer
	if got := s.at(p); math.Abs(got-14) > 1e-9 {
		t.Errorf("%v s", got)
	}
	var tuned deploy.Scheduling
	p.tune(&tuned)
	if math.Abs(tuned.StepSeconds-2*constants[0].start) > 1e-12 || tuned.WaveRequestSeconds != constants[4].start {
		t.Errorf("%+v", tuned)
	}
}

// TestBuiltInConstants: the constants of the engines are not worse for the public runs than those that these choose, but for what
// rounding and the agreement of closed form and simulation take.
func TestBuiltInConstants(t *testing.T) {
	if !long.Mode() {
		t.Skip("takes a minute; go run ./cmd/lab heldout prints both")
	}
	table, err := Import(t.Context(), besideProject(t, evidence.serving))
	if err != nil {
		t.Fatal(err)
	}
	kept, chosen, err := table.HeldOut(t.Context(), folds)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chosen {
		if far := math.Abs(math.Log2(c.BuiltIn / c.Runs)); far > 1./finer {
			t.Errorf("%s %s: %v s, the runs choose %v", c.Engine, c.Name, c.BuiltIn, c.Runs)
		}
	}
	for _, k := range kept {
		if k.Most > 0 && k.Held > k.Most {
			t.Errorf("%s: held out %.1f%%, want %v%%", k.Name, k.Held, k.Most)
		}
	}
	if len(chosen) != len(constants)*len(engine.All()) {
		t.Errorf("%d constants", len(chosen))
	}
}
