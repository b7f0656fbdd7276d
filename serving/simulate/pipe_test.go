package simulate

import (
	"context"
	"math"
	"testing"

	"throughline/deploy"
	"throughline/workload"
)

// staged is steps that take pass seconds through four stages of a pipeline, the slowest of which
// takes 4 s of them.
type staged struct{ pass float64 }

func (staged) Bounds() []int { return nil }
func (s staged) Seconds(w *Work) float64 {
	if w.Under == 1 {
		return s.pass
	}
	return 4 * 4
}

// piped runs requests of equal length, of so many clients, through a pipeline of four stages.
func piped(t *testing.T, times Times, chunks bool, clients, requests, input, output int) *Record {
	t.Helper()
	o := Options{Pools: []Pool{{Servers: 4, Ranks: 1, Stages: 4, Times: times,
		Policy: Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 8, Sequences: 4, PipelinesChunks: chunks}, CutsPrompts: true, Blocks: 1000, BlockTokens: 16}}}}
	traffic := workload.Traffic{Requests: clients * requests, Clients: clients, Rate: math.Inf(1), Input: workload.Fixed(input), Output: workload.Fixed(output), Seed: 1}
	r, err := Run(context.Background(), o, traffic.Source())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPipe: a batch by itself takes its way of 10 s through the stages. Two take 2·4 s of the
// slowest, which is less; three take 12 s, and four 16 s.
func TestPipe(t *testing.T) {
	for clients, want := range []float64{1: 10, 2: 10, 3: 12, 4: 16} {
		if clients == 0 {
			continue
		}
		r := piped(t, staged{10}, true, clients, 1, 8, 100)
		// All but the first steps, which enter one after another.
		if got := r.ITL.Quantile(0.5); math.Abs(got/want-1) > 0.01 {
			t.Errorf("%d batches under way: a token takes %v s, by hand %v", clients, got, want)
		}
	}
}

// TestPipedChunks: three chunks of 1 s in each of four stages are through after 3·1 + 3·1 s where
// they follow one another, after 3·4 s where each waits for the one before. Two prompts that come
// together take turns at the first stage, a chunk each: the last of the one enters as the fifth and
// the last of the other as the sixth.
func TestPipedChunks(t *testing.T) {
	for _, c := range []struct {
		what    string
		chunks  bool
		clients int
		want    float64
	}{
		{"a prompt", true, 1, 3 + 3},
		{"a prompt, chunk by chunk", false, 1, 3 * 4},
		{"two prompts", true, 2, ((5 + 3) + (6 + 3)) / 2.},
		{"two prompts, chunk by chunk", false, 2, (3*4 + 3*4 + 1) / 2.},
	} {
		if got := piped(t, constant(4), c.chunks, c.clients, 1, 24, 1).TTFT.Mean(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: the first token after %v s, by hand %v", c.what, got, c.want)
		}
	}
}

// TestNobodyOvertakes: a batch that decodes in 1 s of each stage follows the chunks of another's
// prompt, of 10 s each: what comes behind the first of them ends with it.
func TestNobodyOvertakes(t *testing.T) {
	p := pipe{stages: 4}
	if got := p.enter(0, 40, 10); got != 40 {
		t.Errorf("a chunk leaves at %v s", got)
	}
	if got := p.enter(10, 4, 1); got != 41 {
		t.Errorf("a step behind it leaves at %v s, by hand 41", got)
	}
	if got := p.enter(50, 4, 1); got != 54 {
		t.Errorf("one that comes when all have left leaves at %v s, by hand 54", got)
	}
}

// TestStageByStage: the end of steps as it is worked out here is that of batches that pass the
// stages one by one, each as long in all of them.
func TestStageByStage(t *testing.T) {
	const stages = 5
	p := pipe{stages: stages}
	free, at := make([]float64, stages), 0.0
	for i := range 1000 {
		seconds := 1 + 9*math.Abs(math.Sin(float64(i*i)))
		at = max(at+3*math.Abs(math.Cos(float64(i))), p.enters)
		leaves := p.enter(at, stages*seconds, seconds)
		done := at
		for stage := range free {
			done = max(done, free[stage]) + seconds
			free[stage] = done
		}
		if math.Abs(leaves-done) > 1e-9*done {
			t.Fatalf("step %d leaves at %v s, stage by stage %v", i, leaves, done)
		}
	}
}
