package serving

import "testing"

// TestJump: steps of up to 5 sequences take 6 ms, those of more 10 ms, as if a kernel had to begin another tile. With 10 tokens
// after the first and a limit of 7 ms on each, 5 sequences finish 5 requests in 60 ms, which the bound lets them, for all that 5.25 sequences
// on average, which would be at the limit, do less.
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
