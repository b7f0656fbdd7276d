package question

import (
	"strings"
	"testing"
)

// TestTraffic: the words of benchmarks give the lengths that others give.
func TestTraffic(t *testing.T) {
	lengths := func(change func(q *Question)) any {
		q := Default()
		q.Input, q.Output = 1000, 200
		change(&q)
		n, err := q.Spread()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []struct {
		name     string
		one, two func(q *Question)
	}{
		{"a range", func(q *Question) { q.Traffic.Ratio = 0.5 }, func(q *Question) { q.Distribution = "uniform:0.5" }},
		{"groups", func(q *Question) {
			q.Input, q.Traffic.Groups, q.Traffic.SharedTokens, q.Traffic.PrefixCache = 400, 3, 600, true
		}, func(q *Question) { q.Prefix, q.Distribution = 600, "uniform:1" }},
		{"groups without a cache", func(q *Question) { q.Input, q.Traffic.Groups, q.Traffic.SharedTokens = 400, 3, 600 }, func(q *Question) { q.Distribution = "uniform:1" }},
		{"one turn", func(q *Question) { q.Traffic.Turns, q.Traffic.PrefixCache = 1, true }, func(*Question) {}},
	} {
		if one, two := lengths(c.one), lengths(c.two); one != two {
			t.Errorf("%s: %+v and %+v", c.name, one, two)
		}
	}
	// Two turns: inputs of 1000 and 2200 tokens, of which 0 and 1200 were said before.
	q := Default()
	q.Input, q.Output, q.Traffic.Turns, q.Traffic.PrefixCache = 1000, 200, 2, true
	if n, err := q.Spread(); err != nil || n.Input != 1600 || n.Cached != 600 {
		t.Errorf("%+v, %v", n, err)
	}
}

// TestTrafficTwice: what says the same twice, or half of something, is refused by name.
func TestTrafficTwice(t *testing.T) {
	for want, change := range map[string]func(q *Question){
		"random-range-ratio: says the same as lengths": func(q *Question) { q.Traffic.Ratio, q.Distribution = 0.5, "fixed" },
		"needs the tokens that a group shares":         func(q *Question) { q.Traffic.Groups = 2 },
		"turns: conversations and groups":              func(q *Question) { q.Traffic.Turns, q.Traffic.Groups, q.Traffic.SharedTokens = 2, 2, 10 },
	} {
		q := Default()
		change(&q)
		if err := q.Check(Plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
