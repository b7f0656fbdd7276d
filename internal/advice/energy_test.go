package advice_test

import (
	"math"
	"testing"

	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/test/long"
)

// TestLeastEnergy: under the limits on latency, `auto` takes the power limit with the least joules
// per token, of those that the chip can keep to (not 210 W); no lower limit serves more; joules per
// token times tokens are watts times processors; and the objective energy ranks by them.
func TestLeastEnergy(t *testing.T) {
	long.NotRacing(t)
	l := load(t, "llama_3_8b", "H200", 30)
	l.PowerLimit = question.AnyLimit
	got := advise(t, l, advice.Options{Search: question.Search{GPUs: 4, Mode: advice.Aggregated}})
	if len(got.Limited) != 7 {
		t.Fatalf("%d limits", len(got.Limited))
	}
	for i := range got.Limited {
		c := &got.Limited[i]
		e := c.Energy
		if c.TPOT > 0.030*(1+1e-9) || e.Watts > e.Limit || e.Output < got.Ranked[0].Energy.Output {
			t.Errorf("under %g W: TPOT %g, %g W, %g J per token, the least being %g", e.Limit, c.TPOT, e.Watts, e.Output, got.Ranked[0].Energy.Output)
		}
		if i > 0 && c.PerGPU() > got.Limited[i-1].PerGPU()*(1+1e-9) {
			t.Errorf("%g tokens/s under %g W, more than %g under a higher limit", c.PerGPU(), e.Limit, got.Limited[i-1].PerGPU())
		}
		if total := e.Watts * float64(c.Deployment.Procs()); math.Abs(e.Output*c.Tokens()/total-1) > 1e-9 {
			t.Errorf("%g J per token and %g tokens/s are not %g W", e.Output, c.Tokens(), total)
		}
	}
	l.PowerLimit = ""
	thrifty := advise(t, l, advice.Options{Search: question.Search{GPUs: 4, Objective: advice.Energy}})
	for i := 1; i < len(thrifty.Ranked); i++ {
		if a, b := thrifty.Ranked[i-1].Energy.Output, thrifty.Ranked[i].Energy.Output; a > b && thrifty.Ranked[i-1].Mode == thrifty.Ranked[i].Mode {
			t.Errorf("row %d takes %g J per token, row %d %g", i, a, i+1, b)
		}
	}
}

// TestSpareRest: GPUs that no instance uses draw what one draws at rest, of the watts per GPU and
// the joules of a token.
func TestSpareRest(t *testing.T) {
	long.NotRacing(t)
	l := load(t, "llama_3_8b", "H200", 30)
	got := advise(t, l, advice.Options{Search: question.Search{GPUs: 5, Top: 60}})
	spare := 0
	for i := range got.Ranked {
		c := &got.Ranked[i]
		serving := float64(c.Procs - c.Spare)
		watts := serving*c.Prediction.Watts + float64(c.Spare)*l.Decode.Power.Rest
		if e := c.Energy; math.Abs(e.Output*c.Tokens()/watts-1) > 1e-9 || math.Abs(e.Watts*float64(c.Procs)/watts-1) > 1e-9 {
			t.Errorf("%d of %d GPUs are spare: %g W a GPU, %g J per token at %g tokens/s, %g W in all", c.Spare, c.Procs, e.Watts, e.Output, c.Tokens(), watts)
		}
		spare += c.Spare
	}
	if spare == 0 {
		t.Error("no GPU is spare")
	}
}

// TestNoneTakesLess: of sixty deployments that are ranked by throughput none takes less energy than
// the first by energy. Two of eight GPUs rest in the least, which serves 15% less than the most.
func TestNoneTakesLess(t *testing.T) {
	l, o := loadQuestion(t, "trtllm", func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Input, q.Output, q.TPOT, q.PowerLimit = "Qwen3-32B", "H200", 8, 4000, 500, 40, "400"
	})
	o.Top, o.Objective = 60, advice.Throughput
	all := advise(t, l, o)
	o.Top, o.Objective = 5, advice.Energy
	thrifty := advise(t, l, o)
	least, at := math.Inf(1), 0
	for i := range all.Ranked {
		if j := all.Ranked[i].Energy.Output; j < least {
			least, at = j, i
		}
	}
	if got := thrifty.Ranked[0].Energy.Output; got > least*(1+1e-9) {
		t.Errorf("the least energy is %g J per token, number %d by throughput takes %g", got, at+1, least)
	}
	if at < 30 {
		t.Errorf("number %d by throughput takes the least energy: the test shows nothing", at+1)
	}
}
