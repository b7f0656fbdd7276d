package advice

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"throughline/engine"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/test/racing"
	"throughline/plan"
	"throughline/search"
)

// asks is a small question, and its options.
func asks(t *testing.T, set func(*question.Question)) (*question.Loaded, Options) {
	t.Helper()
	if racing.Enabled {
		t.Skip("TestNothingPrunedWouldHaveWon has the same accesses")
	}
	q := question.DefaultOf(question.Plan)
	q.In = files.Machine
	q.Model, q.Input, q.Output, q.TPOT = "Qwen3-30B-A3B", 2000, 500, 40
	set(&q)
	l, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	return l, Options{
		Search: question.Search{GPUs: q.GPUs, Mode: q.Mode, Objective: q.Objective, Top: 3, PrefillGPUs: q.PrefillGPUs}, GPUsPerNode: 8, Engines: engine.All(), Workers: 2,
		Redundant: search.Range{High: 2}, Overlaps: []plan.Overlap{plan.NoOverlap, plan.TwoBatch}, PerHour: l.PerHour, Watts: l.Watts,
	}
}

func answer(t *testing.T, set func(*question.Question)) *Advice {
	t.Helper()
	l, o := asks(t, set)
	return given(t, l, o)
}

// first is the best deployment alone.
func first(t *testing.T, set func(*question.Question)) *Candidate {
	t.Helper()
	l, o := asks(t, set)
	o.Foremost = true
	return &given(t, l, o).Ranked[0]
}

func given(t *testing.T, l *question.Loaded, o Options) *Advice {
	t.Helper()
	got, err := Give(context.Background(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Ranked) == 0 {
		t.Fatal(got.Reasons)
	}
	return got
}

// same compares the deployments of two answers.
func same(t *testing.T, what string, got, want *Advice) {
	t.Helper()
	for _, list := range []struct {
		name      string
		got, want []Candidate
	}{{"ranked", got.Ranked, want.Ranked}, {"frontier", got.Frontier, want.Frontier}} {
		if len(list.got) != len(list.want) {
			t.Errorf("%s: %d %s, want %d", what, len(list.got), list.name, len(list.want))
			continue
		}
		for i := range list.want {
			if a, b := describe(&list.got[i]), describe(&list.want[i]); a != b || list.got[i].Procs != list.want[i].Procs {
				t.Errorf("%s: %s %d is %s, want %s", what, list.name, i+1, a, b)
			}
		}
	}
}

// another is the file of the silicon of a system under another name.
func another(t *testing.T, name string) string {
	t.Helper()
	f, err := question.Find("system", name, hardware.Catalogue, catalogue.Places{In: files.Machine})
	if err != nil {
		t.Fatal(err)
	}
	src := bytes.Replace(f.Source, []byte(fmt.Sprintf("%q", name)), []byte(`"`+name+`_too"`), 1)
	if bytes.Equal(src, f.Source) {
		t.Fatalf("%s does not name itself", name)
	}
	file := filepath.Join(t.TempDir(), name+"_too.json")
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFleetOfOneKind: a fleet of one kind, be it under two names, is a plain plan on all of it.
func TestFleetOfOneKind(t *testing.T) {
	plain := func(q *question.Question) { q.System, q.GPUs = "H200", 8 }
	whole := answer(t, plain)
	same(t, "one kind", answer(t, func(q *question.Question) { q.Fleet = "H200:8" }), whole)
	too := another(t, "H200")
	same(t, "two names", answer(t, func(q *question.Question) { q.Fleet = "H200:5," + too + ":3" }), whole)
	same(t, "two names with roles", answer(t, func(q *question.Question) { q.Fleet = "prefill=H200:3,decode=" + too + ":5" }),
		answer(t, func(q *question.Question) { plain(q); q.PrefillGPUs, q.Mode = 3, question.Disaggregated }))
}

// TestMixedFleet: of two kinds the best is what trying each of their duties by itself finds,
// without any bound; it is never better than as many of the better kind.
func TestMixedFleet(t *testing.T) {
	mixed := first(t, func(q *question.Question) { q.Fleet = "H100_SXM:4,H200:4" })
	var all []Candidate
	for _, set := range []func(*question.Question){
		func(q *question.Question) { q.System, q.GPUs = "H100_SXM", 4 },
		func(q *question.Question) { q.System, q.GPUs = "H200", 4 },
		func(q *question.Question) {
			q.System, q.DecodeSystem, q.GPUs, q.PrefillGPUs, q.Mode = "H100_SXM", "H200", 8, 4, question.Disaggregated
		},
		func(q *question.Question) {
			q.System, q.DecodeSystem, q.GPUs, q.PrefillGPUs, q.Mode = "H200", "H100_SXM", 8, 4, question.Disaggregated
		},
	} {
		l, o := asks(t, set)
		o.exhaustive, o.Foremost = true, true
		got, err := Give(context.Background(), l, o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got.Ranked...)
	}
	most := 0.0
	for i := range all {
		most = max(most, all[i].Requests)
	}
	if got := mixed.Requests; math.Abs(got/most-1) > level {
		t.Errorf("the best of a fleet does %v requests per second, by hand %v", got, most)
	}
	better := first(t, func(q *question.Question) { q.System, q.GPUs = "H200", 8 })
	if got, bound := mixed.Requests, better.Requests; got > bound*(1+level) {
		t.Errorf("4 H100 and 4 H200 do %v requests per second, 8 H200 %v", got, bound)
	}
}

// TestCheapestOfFleet: with prices by kind the fewest dollars per token win, of what is paid for:
// the kinds in use.
func TestCheapestOfFleet(t *testing.T) {
	for _, c := range []struct {
		objective question.Objective
		set       func(*question.Question, string)
		value     func(*Candidate) float64
	}{
		{question.Cost, func(q *question.Question, text string) { q.Price = text }, func(c *Candidate) float64 { return 1 / c.DollarsPerMillion }},
		{question.Energy, func(q *question.Question, text string) { q.Power = text }, func(c *Candidate) float64 { return c.TokensPerJoule }},
	} {
		got := first(t, func(q *question.Question) {
			q.Fleet, q.Objective = "H200:4,L40S:4", c.objective
			c.set(q, "H200=400,L40S=10")
		})
		for i := range got.Deployment.Pools {
			if name := got.Deployment.Pools[i].System.Name; name != "L40S" {
				t.Errorf("%s: a pool on %s, which costs 40 times as much", c.objective, name)
			}
		}
		tokens := got.Requests * 500
		want := tokens / 40 // joules of 4 × 10 W
		if c.objective == question.Cost {
			want = tokens / (40.0 / 3600 * 1e6)
		}
		if v := c.value(got); math.Abs(v/want-1) > 1e-9 {
			t.Errorf("%s: %v, by hand %v", c.objective, v, want)
		}
		dear := first(t, func(q *question.Question) {
			q.Fleet, q.Objective = "H200:4,L40S:4", c.objective
			c.set(q, "H200=10,L40S=400")
		})
		for i := range dear.Deployment.Pools {
			if name := dear.Deployment.Pools[i].System.Name; name != "H200" {
				t.Errorf("%s: a pool on %s, which costs 40 times as much", c.objective, name)
			}
		}
	}
}

// TestFleetProblems: what does not go together is told, all at once.
func TestFleetProblems(t *testing.T) {
	for _, c := range []struct {
		set  func(*question.Question)
		want []string
	}{
		{func(q *question.Question) { q.Fleet, q.System, q.GPUs = "H200:4", "H100_SXM", 8 }, []string{"system: is said by pool", "gpus: is said by pool"}},
		{func(q *question.Question) { q.Fleet = "prefill=H200:4" }, []string{"one pool prefills and one decodes"}},
		{func(q *question.Question) { q.Fleet = "prefil=H200:4,H200" }, []string{"did you mean \"prefill\"", "such as H200:8"}},
		{func(q *question.Question) { q.Fleet = "H200:0" }, []string{"from 1 to 1048576"}},
		{func(q *question.Question) { q.Fleet, q.Price = "H200:4", "H20=3" }, []string{"price"}},
		{func(q *question.Question) { q.Fleet, q.Objective = "H200:4,L40S:2", question.Cost }, []string{"objective cost needs"}},
		{func(q *question.Question) { q.Fleet, q.Objective, q.Rate = "H200:4", question.MinGPUs, 5 }, []string{"min-gpus looks for a number"}},
		{func(q *question.Question) { q.Fleet, q.Rate, q.Goals.TTFT = "H200:4,L40S:2", 5, "p99:1s" }, []string{"p99:1s is held by simulation, on GPUs of one kind"}},
	} {
		q := question.DefaultOf(question.Plan)
		q.In = files.Machine
		q.Model = "Qwen3-30B-A3B"
		c.set(&q)
		_, err := q.Load()
		if err == nil {
			t.Errorf("%q: no problem", q.Fleet)
			continue
		}
		for _, want := range c.want {
			if !bytes.Contains([]byte(err.Error()), []byte(want)) {
				t.Errorf("%q: %v, want %q", q.Fleet, err, want)
			}
		}
	}
}
