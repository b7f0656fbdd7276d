package serving

import (
	"math"
	"testing"
)

// TestJump: steps of up to 5 sequences take 6 ms, those of more 10 ms, as if a kernel had to begin
// another tile. With 10 tokens after the first and a limit of 7 ms on each, 5 sequences finish 5
// requests in 60 ms, which the bound lets them, for all that 5.25 sequences on average, which would
// be at the limit, do less.
func TestJump(t *testing.T) {
	at := func(batch int) (token, step float64) {
		if batch <= 5 {
			return 0.006, 0.006
		}
		return 0.010, 0.010
	}
	c := Curve{Ranks: 1, Largest: 8, Batches: []int{1, 2, 3, 4, 6, 8}, output: 10, tokens: 1, waits: true}
	for _, b := range c.Batches {
		token, step := at(b)
		c.Token, c.steps = append(c.Token, token), append(c.steps, step)
	}
	c.cut([]float64{0.007}, at)
	const want = 5 / 0.06
	if got := c.Requests(0.007, 0); got < want || got > margin*want*(1+1e-9) {
		t.Errorf("at most %v requests/s, by hand %v", got, want)
	}
}

// TestWaiting: answers of 10 tokens, two in a step, in 5 steps of 20 ms each; prompts of 15 ms,
// which make no step longer that has one, add nothing. Of 50 ms a prompt adds 30 ms to the steps
// that hold one, which is nearly every step beside very many others: 5 · 30 ms for 10 tokens.
// Requests that end with their first token wait for no other.
func TestWaiting(t *testing.T) {
	c := Curve{Alone: 15e-3, output: 10, tokens: 2}
	if got := c.waiting(1e9, 20e-3, 1); got != 0 {
		t.Errorf("short prompts add %v s", got)
	}
	c.Alone = 50e-3
	if got := c.waiting(1e9, 20e-3, 1); math.Abs(got-15e-3) > 1e-12 {
		t.Errorf("%v s, by hand 15 ms", got)
	}
	c.output = 0
	if got := c.waiting(1e9, 20e-3, 1); got != 0 {
		t.Errorf("without further tokens %v s", got)
	}
}
