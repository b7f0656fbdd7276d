package advice

import (
	"testing"

	"throughline/internal/files"
	"throughline/internal/question"
)

// asked is the plan of a question in words.
func askedFor(t *testing.T, words map[string]string) *Plans {
	t.Helper()
	p, _, err := Ask(question.NewQuery(files.Machine, question.Plan, words))
	if err == nil {
		err = p.Search(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhole: numbers of GPUs are those of whole nodes, or an even part of one.
func TestWhole(t *testing.T) {
	for _, c := range []struct{ per, n, most, want int }{
		{8, 1, 64, 1}, {8, 2, 64, 2}, {8, 3, 64, 4}, {8, 5, 64, 8}, {8, 6, 64, 8}, {8, 8, 64, 8}, {8, 9, 64, 16}, {8, 14, 64, 16}, {8, 17, 64, 24},
		{6, 4, 64, 6}, {6, 7, 64, 12}, {72, 30, 144, 36}, {8, 9, 12, 9}, // there are no 16
	} {
		a := adviser{o: Options{GPUsPerNode: c.per, Search: question.Search{GPUs: c.most}}}
		if got := a.wholeNodes(c.n); got != c.want {
			t.Errorf("%d on nodes of %d: %d, not %d", c.n, c.per, got, c.want)
		}
		if a.o.PartNodes = true; a.wholeNodes(c.n) != c.n {
			t.Errorf("%d of parts of nodes are %d", c.n, a.wholeNodes(c.n))
		}
	}
}

// TestFewestOnWholeNodes: the fewest GPUs are 3 for the closed form, and so 4 with whole parts.
func TestFewestOnWholeNodes(t *testing.T) {
	words := map[string]string{"model": "llama_3_8b", "system": "L40S", "gpus": "16", "objective": "min-gpus", "isl": "1000", "osl": "200", "mode": "agg", "rate": "10"}
	whole := askedFor(t, words).Ranked[0].Procs
	words["part-nodes"] = "true"
	any := askedFor(t, words).Ranked[0].Procs
	if any > whole || 8%whole != 0 && whole%8 != 0 {
		t.Errorf("%d GPUs, and %d with parts of nodes", whole, any)
	}
}

// TestChance: rows of a plan with a chance keep the limits with it, at fewer tokens per second than
// without, and what no deployment reaches is told.
func TestChance(t *testing.T) {
	words := map[string]string{"model": "llama_3_8b", "system": "H200", "gpus": "4", "tpot": "6ms", "isl": "1000", "osl": "200"}
	plain := askedFor(t, words)
	words["chance"] = "90%"
	sure := askedFor(t, words)
	if len(sure.Ranked) == 0 || plain.Ranked[0].Chance() >= 0.9 {
		t.Fatalf("%d rows; without a chance that of the first is %g", len(sure.Ranked), plain.Ranked[0].Chance())
	}
	for i := range sure.Ranked {
		if c := &sure.Ranked[i]; c.Chance() < 0.9 || c.TPOT > 6e-3 {
			t.Errorf("row %d: TPOT %g s with a chance of %g", i+1, c.TPOT, c.Chance())
		}
	}
	if sure.Ranked[0].PerGPU() >= plain.Ranked[0].PerGPU() {
		t.Errorf("certainty costs nothing: %g and %g tokens/s per GPU", sure.Ranked[0].PerGPU(), plain.Ranked[0].PerGPU())
	}
	words["tpot"], words["chance"] = "3.2ms", "99.9"
	if never := askedFor(t, words); len(never.Ranked) > 0 || len(never.Reasons) == 0 {
		t.Errorf("%d rows, reasons %q", len(never.Ranked), never.Reasons)
	}
}

// TestSurestFirst: of deployments on as many GPUs that hold a rate, the likeliest to hold is named
// to launch, and fewer GPUs go before a better chance.
func TestSurestFirst(t *testing.T) {
	words := map[string]string{"model": "Llama-3.1-70B", "system": "H200", "rate": "4", "isl": "3000", "osl": "800", "ttft": "p99:3s", "tpot": "p99:40ms"}
	a := askedFor(t, words)
	if len(a.Ranked) < 3 || a.Ranked[1].Procs != a.Ranked[0].Procs {
		t.Fatalf("%d rows, or the first needs fewer GPUs than the second", len(a.Ranked))
	}
	for i := 1; i < len(a.Ranked); i++ {
		x, y := &a.Ranked[i-1], &a.Ranked[i]
		if x.Procs > y.Procs || x.Procs == y.Procs && x.Chance() < y.Chance()-0.01 {
			t.Errorf("row %d, %d GPUs and a chance of %.2f, is before %d GPUs and %.2f", i, x.Procs, x.Chance(), y.Procs, y.Chance())
		}
	}
}
