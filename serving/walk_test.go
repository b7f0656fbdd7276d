package serving

import (
	"testing"

	"throughline/deploy"
)

// TestRanksInStep: four clients on two ranks, two requests each, prompts first. Requests reach the schedulers after 20 ms, 2 ms apart. The
// first prompt has a step by itself, 11 ms. The next is scheduled already, when no other had come: it decodes, 12 ms. Then come the other three, two on
// the fuller rank, 21 ms: first tokens after 31 ms and three times after 64. A rank has two sequences then, 13 ms a step, and the first, which is a
// token ahead, ends after 99 of them, at 1351 ms; with one and a half on a rank the others end 12.5 ms later. All ranks are idle until the
// next prompt has come, at 1371 ms: 31 ms after it was sent its first token is out. The others come 1.5 ms later, are seen after two steps, at
// 1406 ms, and done at 1427, 63.5 ms after they were sent.
func TestRanksInStep(t *testing.T) {
	c := loop(deploy.First, 4, 0)
	c.ranks, c.together, c.shares, c.load.Requests = 2, 2, true, 2
	p := c.aggregated()
	near(t, "the first requests", p.Burst, (31e-3+3*64e-3)/4)
	near(t, "the others", p.Steady, (31e-3+3*63.5e-3)/4)
	near(t, "a token", p.TPOT, (1320e-3+3*1299.5e-3+1319e-3+3*1299e-3)/8/100)
	near(t, "requests", p.Requests, 4/(p.TTFT+100*p.TPOT))

	// Engines that mix: the first prompt 22 ms beside a sequence or 11 ms alone. Nobody waits for a decode step that has no prompts but the one ahead.
	c.rules = rules(deploy.Prompts)
	c.load.Requests = 1
	near(t, "in mixed steps", c.aggregated().Burst, (31e-3+3*(31e-3+12e-3+20e-3+10.5e-3+1e-3))/4)
}

// TestRanksApart: with lengths that differ, or clients that have been at it for long, prompts of ranks come by chance.
func TestRanksApart(t *testing.T) {
	for _, change := range []func(*closed){
		func(c *closed) { c.load.Lengths.Squares = 1.004 }, func(c *closed) { c.load.Requests = 0 }, func(c *closed) { c.shares = false },
		func(c *closed) { c.load.Lengths.Output = 1 },
	} {
		c := loop(deploy.First, 4, 0)
		c.ranks, c.together, c.shares = 2, 2, true
		if !c.keeps() {
			t.Fatal("equal requests do not keep in step")
		}
		if change(&c); c.keeps() {
			t.Errorf("%+v keeps in step", c.load)
		}
	}
}

// TestRanksCutPrompts: twelve prompts of 800 tokens come to two ranks at once, whose steps hold 2000 tokens: two and a half prompts, 21 ms. Of six
// prompts of a rank two are out then. The next step has two sequences of its own and room for 1998 tokens, 2.4975 prompts, 19.98 ms and 13
// for the decodes: with the half before that is two more. The last step computes what is left of the other two, 1.0025 prompts, beside four sequences.
func TestRanksCutPrompts(t *testing.T) {
	c := loop(deploy.Chunks, 12, 0)
	c.ranks, c.together, c.shares, c.load.Requests = 2, 2, true, 1
	c.load.Lengths.Input, c.rules.RequestSeconds = 800, 0
	first := 20e-3 + 21e-3
	second := first + 19.98e-3 + 13e-3
	third := second + 1.0025*8e-3 + 15e-3
	near(t, "the first requests", c.aggregated().Burst, (first+second+third)/3)
}
