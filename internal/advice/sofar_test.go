package advice

import (
	"fmt"
	"testing"
	"time"

	"throughline/internal/files"
	"throughline/internal/question"
)

// TestSofar: what is told during a search is told again, to the last digit, by its answer or left
// out of it for better ones, and the answer is that of a search that nobody listens to.
func TestSofar(t *testing.T) {
	asked := func() *Plans {
		q := question.NewQuery(files.Machine, question.Plan, map[string]string{"model": "Llama-3.1-8B", "system": "H100_SXM", "gpus": "4", "isl": "512", "osl": "64", "tpot": "20ms"})
		p, _, err := Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	quiet, p := asked(), asked()
	var told []*Advice
	p.Options.Sofar = func(a *Advice) { told = append(told, a) }
	for _, one := range []*Plans{quiet, p} {
		if err := one.Search(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) < 2 || len(told[0].Ranked) > 0 || len(told[1].Ranked) == 0 || len(told[0].Dots) != len(p.Dots) {
		t.Fatalf("%d answers so far", len(told))
	}
	rate := func(c *Candidate) [3]float64 { return [3]float64{c.TTFT, c.TPOT, c.Tokens()} }
	for i := range quiet.Ranked {
		if rate(&quiet.Ranked[i]) != rate(&p.Ranked[i]) {
			t.Errorf("row %d differs when somebody listens", i+1)
		}
	}
	layout := func(c *Candidate) (out string) {
		for i := range c.Deployment.Pools {
			pool := &c.Deployment.Pools[i]
			out += fmt.Sprint(pool.Count, "×", &pool.Plan, " ")
		}
		return out
	}
	known, most := map[[3]float64]bool{}, map[string]float64{}
	for _, list := range [][]Candidate{p.Ranked, p.Frontier} {
		for i := range list {
			c := &list[i]
			known[rate(c)] = true
			most[layout(c)] = max(most[layout(c)], c.PerGPU())
		}
	}
	for _, a := range told[1:] {
		if best := &a.Ranked[0]; !a.Partial || best.PerGPU() > p.Ranked[0].PerGPU()*(1+1e-9) {
			t.Errorf("so far %v tokens/s/GPU, in the end %v", best.PerGPU(), p.Ranked[0].PerGPU())
		} else if !known[rate(best)] && best.PerGPU() > max(p.Ranked[len(p.Ranked)-1].PerGPU(), most[layout(best)]) {
			// Neither behind an engine that serves more with the same layout nor behind the last row.
			t.Errorf("%v was told and is not in the answer", rate(best))
		}
	}
}

// TestTelling: the first is told at once, others when there was a pause, and none twice at a time.
func TestTelling(t *testing.T) {
	var sizes []int
	told := feed{}
	told.give = func(seen []weighed) {
		sizes = append(sizes, len(seen))
		told.mu.Lock()
		defer told.mu.Unlock()
		if !told.busy {
			t.Error("it does not say that it is busy")
		}
	}
	for range 5 {
		told.add(weighed{})
	}
	told.next = time.Time{}
	told.add(weighed{})
	if len(sizes) != 2 || sizes[0] != 1 || sizes[1] != 6 {
		t.Errorf("told %v", sizes)
	}
}
