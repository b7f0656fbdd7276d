package engine

import (
	"slices"
	"testing"

	"throughline/deploy"
)

// TestTell: an option under the name of its engine, which may mean all ranks together, or of the setting, which means each.
func TestTell(t *testing.T) {
	var told deploy.Told
	for _, o := range []struct {
		name  string
		value int
	}{{"chunked-prefill-size", 32768}, {"max_batch_size", 64}, {"scheduler-recv-interval", 30}, {"batch_wait_timeout_iters", 20}, {"balance-steps", 60}, {"cuda-graph-max-bs", 96}} {
		if err := Tell(&told, o.name, o.value, 4); err != nil {
			t.Error(err)
		}
	}
	if want := (deploy.Told{StepTokens: 8192, Sequences: 64, PollSteps: 30, WaitSteps: 20, BalanceSteps: 60, Captured: 96}); told != want {
		t.Errorf("%+v, want %+v", told, want)
	}
	if err := Tell(&told, "chunked_prefill", 1, 1); err == nil {
		t.Error("an option that is not known is taken")
	}
	if got := Aliases("max-running-requests"); !slices.Equal(got, []string{"max-num-seqs", "max_batch_size"}) {
		t.Error(got)
	}
	d := find(t, "sglang").Apply(deploy.Deployment{Told: told, Model: exchanging(8, 8).Model, Assume: exchanging(8, 8).Assume, Pools: exchanging(8, 8).Pools})
	if d.Engine.StepTokens != 8192 || d.Engine.PollSteps != 30 || d.Engine.StepSeconds != find(t, "sglang").Scheduling.StepSeconds {
		t.Errorf("%+v", d.Engine.Scheduling)
	}
}
