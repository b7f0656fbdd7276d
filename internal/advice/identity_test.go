package advice

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"throughline/internal/question"
	"throughline/internal/test/long"
)

// deployed is a candidate as its reader tells it from others: the layouts of its pools and their
// instances.
func deployed(c *Candidate) string {
	text := string(c.Mode)
	for i := range c.Deployment.Pools {
		p := &c.Deployment.Pools[i]
		text += fmt.Sprintf(" %d × %v mtp%d", p.Count, &p.Plan, p.Plan.Drafts)
	}
	return text
}

// TestOneRowPerLayout: a deployment is ranked once, with its best engine; where rows of each engine
// are asked for, once for each engine, and the best of those rows is the row that is ranked
// without.
func TestOneRowPerLayout(t *testing.T) {
	const top = 6
	long.Some(t, draws(6), func(t *rapid.T) {
		l, o := drawn(t, []int{1, 2, 4, 8})
		o.Top = top
		best := rows(t, l, o, deployed)
		o.EachEngine, o.Top = true, top*len(o.Engines)
		each := rows(t, l, o, func(c *Candidate) string { return deployed(c) + " " + c.Deployment.Engine.Name })
		seen := map[string]bool{}
		for _, c := range each {
			if name := deployed(&c); !seen[name] {
				seen[name] = true
				if len(seen) <= min(top, len(best)) && // behind them stands the best of the other mode
					describe(&c) != describe(&best[len(seen)-1]) {
					t.Errorf("row %d is %s; of each engine, the best is %s", len(seen), describe(&best[len(seen)-1]), describe(&c))
				}
			}
		}
		if len(seen) < min(top, len(best)) {
			t.Errorf("%d layouts with rows of each engine, %d without", len(seen), len(best))
		}
	})
}

// rows are those that are ranked, no two of the same name.
func rows(t *rapid.T, l *question.Loaded, o Options, name func(*Candidate) string) []Candidate {
	got, err := Give(context.Background(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i := range got.Ranked {
		c := &got.Ranked[i]
		if before, again := at[name(c)]; again {
			t.Errorf("rows %d and %d are both %s", before+1, i+1, name(c))
		}
		at[name(c)] = i
	}
	return got.Ranked
}
