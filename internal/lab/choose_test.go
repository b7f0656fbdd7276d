package lab

import (
	"math"
	"slices"
	"testing"

	"throughline/deploy"
	"throughline/internal/question"
)

// handoverAt is the place of what pools take between servers.
var handoverAt = slices.IndexFunc(constants[:], func(c constant) bool { return c.name == "handover_seconds" })

// madeGroup is a group of runs whose TTFT is 100 ms and what its pools take between servers,
// measured with so much of that.
func madeGroup(engine string, runs int, handover float64) *grouped {
	g := &grouped{engine: engine, known: map[tabled][]float64{}}
	for range runs {
		s := &surface{measured: 0.1 + handover, start: 0.1 + constants[handoverAt].start}
		s.draw(handoverAt, []level{0, levels - 1}, func(l level) float64 { return 0.1 + constants[handoverAt].at(l) })
		g.figures[len(blocks)-1] = append(g.figures[len(blocks)-1], s)
	}
	return g
}

// TestChoose: an engine whose groups agree with each other, and not with the others, keeps a number
// of its own; one that has a single group, which nobody bears out, gets nearly that of the others;
// one without runs has that of all.
func TestChoose(t *testing.T) {
	at := func(l level) float64 { return constants[handoverAt].at(l) }
	near, far := at(outermost), at(outermost+6) // 100 and 400 ms
	for _, c := range []struct {
		name   string
		groups []*grouped
		want   map[string]float64
	}{
		{"all alike", []*grouped{madeGroup("a", 5, near), madeGroup("a", 5, near), madeGroup("b", 5, near)}, map[string]float64{"a": near, "b": near}},
		{"two by two", []*grouped{madeGroup("a", 5, near), madeGroup("a", 5, near), madeGroup("b", 5, far), madeGroup("b", 5, far)}, map[string]float64{"a": near, "b": far}},
		{"without runs", []*grouped{madeGroup("a", 5, near), madeGroup("a", 5, near), madeGroup("b", 0, 0)}, map[string]float64{"a": near, "b": near}},
	} {
		got := choose(c.groups)
		for engine, want := range c.want {
			if is := at(got[engine][handoverAt]); math.Abs(is/want-1) > 1e-9 {
				t.Errorf("%s: %s %v s, want %v", c.name, engine, is, want)
			}
		}
	}
	// Three engines with one group each tell nothing of each other's: what is chosen lies between
	// their own and that of all.
	got := choose([]*grouped{madeGroup("a", 5, near), madeGroup("b", 5, near), madeGroup("c", 5, far)})
	if c := at(got["c"][handoverAt]); c > far || c < near {
		t.Errorf("between %v and %v: %v", near, far, c)
	}
}

// TestStallsDecideNothing: of 5 runs two that took seconds longer do not move what the other three
// say.
func TestStallsDecideNothing(t *testing.T) {
	g := madeGroup("a", 5, constants[handoverAt].at(outermost+3))
	for _, s := range g.figures[len(blocks)-1][:2] {
		s.measured = 7
	}
	if got := choose([]*grouped{g})["a"][handoverAt]; got != outermost+3 {
		t.Errorf("level %d, want %d", got, outermost+3)
	}
}

// TestChoosing: of ten runs of a group four choose: evenly spread ones of servers that do all, and of
// separate pools those with the fewest clients.
func TestChoosing(t *testing.T) {
	h := Held{by: &Partings[0]}
	for n := range 10 {
		for _, mode := range []question.Mode{question.Aggregated, question.Disaggregated} {
			h.runs = append(h.runs, &judged{mode: string(mode), told: true, clients: 10 - n})
		}
	}
	got := map[string][]int{}
	for _, j := range h.choosing() {
		got[j.mode] = append(got[j.mode], j.clients)
	}
	for mode, want := range map[question.Mode][]int{question.Aggregated: {10, 8, 5, 3}, question.Disaggregated: {1, 2, 3, 4}} {
		if !slices.Equal(got[string(mode)], want) {
			t.Errorf("%s: runs of %v clients choose, want %v", mode, got[string(mode)], want)
		}
	}
}

// TestSurface: between two samples a figure is a straight line in the constant, and constants add
// up: of 10 s with 1 s for a constant at its start and 3 for another, twice of both is 14 s.
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
	if math.Abs(tuned.StepSeconds-2*constants[0].start) > 1e-12 || tuned.HandoverSeconds != constants[4].start {
		t.Errorf("%+v", tuned)
	}
}

// TestNone: whether a constant is there at all is chosen, too: runs without any choose none.
func TestNone(t *testing.T) {
	if got := choose([]*grouped{madeGroup("a", 5, 0), madeGroup("a", 5, 0)})["a"][handoverAt]; constants[handoverAt].at(got) != 0 {
		t.Errorf("%v s where nothing was measured", constants[handoverAt].at(got))
	}
}
