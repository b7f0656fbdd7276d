package simulate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"throughline/deploy"
	"throughline/workload"
)

// second is steps that take a second each, whatever they do.
type second struct{}

func (second) Seconds(*Work) float64 { return 1 }
func (second) Bounds() []int         { return nil }

// ten requests: arrival, input, output.
var ten = []workload.Request{
	{Arrival: 0, Input: 4, Output: 3}, {Arrival: 0, Input: 4, Output: 2}, {Arrival: 0, Input: 6, Output: 2}, {Arrival: 1, Input: 3, Output: 4},
	{Arrival: 2, Input: 8, Output: 1}, {Arrival: 2, Input: 2, Output: 2}, {Arrival: 4, Input: 10, Output: 2}, {Arrival: 6, Input: 4, Output: 3},
	{Arrival: 9, Input: 4, Output: 2}, {Arrival: 20, Input: 5, Output: 2},
}

// drawnSteps runs requests on one rank and lists its steps, and when requests got their first
// tokens and ended.
func drawnSteps(t *testing.T, p Policy, list []workload.Request) (steps, requests string) {
	t.Helper()
	var b, ends strings.Builder
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Policy: p, Times: second{}}}}
	o.Watch = func(s *Step) {
		fmt.Fprintf(&b, "%g: %d decode (%d)", s.Start, s.Work.Decodes, s.Work.Context)
		for _, c := range s.Work.Chunks {
			fmt.Fprintf(&b, " +%d@%d", c.New, c.Past)
		}
		fmt.Fprintf(&b, ", %d wait, %d blocks", s.Waiting, s.Blocks)
		if s.Preempted > 0 {
			fmt.Fprintf(&b, ", %d preempted", s.Preempted)
		}
		b.WriteString("\n")
	}
	got := make([]string, len(list))
	o.Each = func(e *Ended) { got[e.ID] = fmt.Sprintf("%g-%g", e.First, e.Finish) }
	if _, err := Run(context.Background(), o, &workload.List{Requests: list}); err != nil {
		t.Fatal(err)
	}
	for _, g := range got {
		ends.WriteString(g + " ")
	}
	return b.String(), strings.TrimSpace(ends.String())
}

// TestDrawn: ten requests through a cache of 6 blocks of 4 tokens, steps of 8 tokens and at most 4
// running, as they were drawn by hand. A step has its start, the sequences that decode with the
// keys they read, and of each prompt the tokens and those before them.
func TestDrawn(t *testing.T) {
	for _, c := range []struct {
		policy          Policy
		steps, requests string
	}{
		// With a watermark of one block. At 3 two of the four that decode need a block each where
		// one is left: the newest makes room. It is computed again at 4, with the token it had. At
		// 9 the eighth finds a block, but none would be left.
		{Policy{Scheduling: deploy.Scheduling{Prefill: deploy.First}, Watermark: 0.1}, `
0: 0 decode (0) +4@0 +4@0, 1 wait, 2 blocks
1: 0 decode (0) +6@0, 1 wait, 4 blocks
2: 0 decode (0) +3@0, 2 wait, 5 blocks
3: 3 decode (17), 3 wait, 6 blocks, 1 preempted
4: 0 decode (0) +4@0, 3 wait, 3 blocks
5: 0 decode (0) +8@0, 2 wait, 5 blocks
6: 0 decode (0) +2@0, 2 wait, 4 blocks
7: 3 decode (14), 2 wait, 5 blocks
8: 0 decode (0) +10@0, 1 wait, 5 blocks
9: 2 decode (17), 2 wait, 5 blocks
10: 0 decode (0) +4@0 +4@0, 0 wait, 2 blocks
11: 2 decode (10), 0 wait, 4 blocks
12: 1 decode (6), 0 wait, 2 blocks
20: 0 decode (0) +5@0, 0 wait, 2 blocks
21: 1 decode (6), 0 wait, 2 blocks
`, "1-8 1-4 2-4 3-10 6-6 7-8 9-10 11-13 11-12 21-22"},
		// At 2 the fifth request gets the last 3 tokens of the step, and the rest at 3, before
		// others.
		{Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks}}, `
0: 0 decode (0) +4@0 +4@0, 1 wait, 2 blocks
1: 2 decode (10) +6@0, 1 wait, 6 blocks
2: 2 decode (13) +3@0 +3@0, 1 wait, 6 blocks
3: 1 decode (4) +5@3 +2@0, 0 wait, 4 blocks
4: 2 decode (8) +6@0, 0 wait, 5 blocks
5: 1 decode (6) +4@6, 0 wait, 5 blocks
6: 1 decode (11) +4@0, 0 wait, 4 blocks
7: 1 decode (5), 0 wait, 2 blocks
8: 1 decode (6), 0 wait, 2 blocks
9: 0 decode (0) +4@0, 0 wait, 1 blocks
10: 1 decode (5), 0 wait, 2 blocks
20: 0 decode (0) +5@0, 0 wait, 2 blocks
21: 1 decode (6), 0 wait, 2 blocks
`, "1-3 1-2 2-3 3-6 4-4 4-5 6-7 7-9 10-11 21-22"},
		// Outputs have room from the start. At 3 and at 5 a prompt that is longer than the step has
		// left goes by itself.
		{Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Prompts, ReservesOutput: true}}, `
0: 0 decode (0) +4@0 +4@0, 1 wait, 4 blocks
1: 2 decode (10) +6@0, 1 wait, 6 blocks
2: 2 decode (13) +3@0, 2 wait, 6 blocks
3: 1 decode (4) +8@0, 1 wait, 5 blocks
4: 1 decode (5) +2@0, 1 wait, 3 blocks
5: 2 decode (9) +10@0, 0 wait, 6 blocks
6: 1 decode (11) +4@0, 0 wait, 5 blocks
7: 1 decode (5), 0 wait, 2 blocks
8: 1 decode (6), 0 wait, 2 blocks
9: 0 decode (0) +4@0, 0 wait, 2 blocks
10: 1 decode (5), 0 wait, 2 blocks
20: 0 decode (0) +5@0, 0 wait, 2 blocks
21: 1 decode (6), 0 wait, 2 blocks
`, "1-3 1-2 2-3 3-6 4-4 5-6 6-7 7-9 10-11 21-22"},
	} {
		c.policy.StepTokens, c.policy.Sequences, c.policy.Blocks, c.policy.BlockTokens = 8, 4, 6, 4
		steps, requests := drawnSteps(t, c.policy, ten)
		if diff := cmp.Diff(strings.TrimPrefix(c.steps, "\n"), steps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.policy.Prefill, diff)
		}
		if diff := cmp.Diff(c.requests, requests); diff != "" {
			t.Errorf("%s, first tokens and ends (-want +got):\n%s", c.policy.Prefill, diff)
		}
	}
}

// few are four requests of 4 + 3 tokens that come together.
func few(n int) (out []workload.Request) {
	for range n {
		out = append(out, workload.Request{Input: 4, Output: 3})
	}
	return out
}

// TestDrawnVariants: what engines do besides, drawn by hand with the same small cache.
func TestDrawnVariants(t *testing.T) {
	base := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 8, Sequences: 4}, Blocks: 6, BlockTokens: 4}
	for name, c := range map[string]struct {
		change func(*Policy)
		list   []workload.Request
		steps  string
	}{
		// The request that comes at 0.5 is not in the step that was scheduled at 0, which starts at
		// 1.
		"a step ahead": {func(p *Policy) { p.StepsAhead = 1 }, []workload.Request{{Input: 4, Output: 4}, {Arrival: 0.5, Input: 4, Output: 1}},
			"0: 0 decode (0) +4@0, 0 wait, 1 blocks\n1: 1 decode (5), 0 wait, 2 blocks\n2: 1 decode (6) +4@0, 0 wait, 3 blocks\n3: 1 decode (7), 0 wait, 2 blocks\n"},
		// The engine looks behind each prompt, before the steps at 0, 1, 2 and 6, and three steps
		// of decodes later, at 5.
		"polling": {func(p *Policy) { p.PollSteps = 3 }, []workload.Request{{Input: 4, Output: 7}, {Arrival: 0.5, Input: 4, Output: 1}, {Arrival: 2.5, Input: 4, Output: 1}},
			"0: 0 decode (0) +4@0, 0 wait, 1 blocks\n1: 1 decode (5) +4@0, 0 wait, 3 blocks\n2: 1 decode (6), 0 wait, 2 blocks\n3: 1 decode (7), 0 wait, 2 blocks\n" +
				"4: 1 decode (8), 0 wait, 2 blocks\n5: 1 decode (9) +4@0, 0 wait, 4 blocks\n6: 1 decode (10), 0 wait, 3 blocks\n"},
		// The second prompt waits two steps for others, and then goes alone.
		"waiting for others": {func(p *Policy) { p.WaitSteps = 2 }, []workload.Request{{Input: 4, Output: 5}, {Arrival: 0.5, Input: 4, Output: 1}},
			"0: 0 decode (0) +4@0, 0 wait, 1 blocks\n1: 1 decode (5), 1 wait, 2 blocks\n2: 1 decode (6), 1 wait, 2 blocks\n3: 1 decode (7) +4@0, 0 wait, 3 blocks\n4: 1 decode (8), 0 wait, 2 blocks\n"},
		// A prompt of 20 tokens takes 8, 8 and 4 of them, while nobody decodes.
		"cut prompts first": {func(p *Policy) { p.Prefill, p.CutsPrompts = deploy.First, true }, []workload.Request{{Input: 2, Output: 2}, {Arrival: 0.5, Input: 18, Output: 1}},
			"0: 0 decode (0) +2@0, 0 wait, 1 blocks\n1: 0 decode (0) +8@0, 0 wait, 3 blocks\n2: 0 decode (0) +8@8, 0 wait, 5 blocks\n3: 0 decode (0) +2@16, 0 wait, 6 blocks\n4: 1 decode (3), 0 wait, 1 blocks\n"},
		// At 2 the third needs a block to decode, and none is left: the fourth, whose prompt is
		// half done, makes room.
		"preempted": {func(*Policy) {}, few(4),
			"0: 0 decode (0) +4@0 +4@0, 2 wait, 2 blocks\n1: 2 decode (10) +4@0 +2@0, 0 wait, 6 blocks\n2: 3 decode (17), 1 wait, 6 blocks, 1 preempted\n" +
				"3: 1 decode (6) +4@0, 0 wait, 3 blocks\n4: 1 decode (5), 0 wait, 2 blocks\n5: 1 decode (6), 0 wait, 2 blocks\n"},
		// At 2 the newest needs a block where none is left, and is swapped out with its 4 tokens,
		// which takes half a second. It comes back when the first has ended, to decode at once.
		"swapped out": {func(p *Policy) { p.SwapSeconds, p.Blocks = 0.125, 5 }, []workload.Request{{Input: 4, Output: 4}, {Input: 4, Output: 6}, {Arrival: 1, Input: 4, Output: 4}},
			"0: 0 decode (0) +4@0 +4@0, 0 wait, 2 blocks\n1: 2 decode (10) +4@0, 0 wait, 5 blocks\n2: 2 decode (12), 1 wait, 4 blocks, 1 preempted\n" +
				"3.5: 2 decode (14), 1 wait, 4 blocks\n4.5: 2 decode (13), 0 wait, 4 blocks\n6: 2 decode (15), 0 wait, 5 blocks\n7: 1 decode (7), 0 wait, 2 blocks\n"},
	} {
		p := base
		c.change(&p)
		steps, _ := drawnSteps(t, p, c.list)
		if diff := cmp.Diff(c.steps, steps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestScheduledOnce: in a cache of 4 blocks of 4 tokens the second of two requests makes room when
// the first needs its third block, and comes back when that has ended. It has been scheduled once,
// at the very start.
func TestScheduledOnce(t *testing.T) {
	p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Chunks, StepTokens: 16, Sequences: 4}, Blocks: 4, BlockTokens: 4}
	o := Options{Pools: []Pool{{Servers: 1, Ranks: 1, Policy: p, Times: second{}}}}
	var ended []Ended
	o.Each = func(e *Ended) { ended = append(ended, *e) }
	list := &workload.List{Requests: []workload.Request{{Input: 4, Output: 6}, {Input: 4, Output: 6}}}
	if _, err := Run(context.Background(), o, list); err != nil {
		t.Fatal(err)
	}
	if len(ended) != 2 || ended[1].Preemptions != 1 || ended[0].Scheduled != 0 || ended[1].Scheduled != 0 {
		t.Errorf("%+v", ended)
	}
}

// TestDrawnBalance: two ranks decode a request each, from steps of prompts that nothing held back.
// The third request comes to the first of them at 0.5: alone it waits for the third step since
// then; where the other rank gets one, for that.
func TestDrawnBalance(t *testing.T) {
	p := Policy{Scheduling: deploy.Scheduling{Prefill: deploy.Prompts, StepTokens: 8, Sequences: 4}, Blocks: 100, BlockTokens: 4}
	long := []workload.Request{{Input: 4, Output: 9}, {Input: 4, Output: 9}, {Arrival: 0.5, Input: 4, Output: 1}}
	for _, c := range []struct {
		steps int
		list  []workload.Request
		want  string // first tokens
	}{
		{0, long, "1 1 2"},
		{1, long, "1 1 2"},
		{3, long, "1 1 4"},
		{3, append(long[:3:3], workload.Request{Arrival: 1.5, Input: 4, Output: 1}), "1 1 3 3"},
		{3, append(long[:3:3], workload.Request{Arrival: 2.5, Input: 4, Output: 1}), "1 1 4 4"},
		{3, append(long[:3:3], workload.Request{Arrival: 3.5, Input: 4, Output: 1}), "1 1 4 7"},    // which waits for its own time
		{3, []workload.Request{{Input: 4, Output: 9}, {Arrival: 0.5, Input: 4, Output: 1}}, "1 2"}, // a rank that does not decode does not wait
	} {
		p.BalanceSteps = c.steps
		first := make([]string, len(c.list))
		o := Options{Pools: []Pool{{Servers: 1, Ranks: 2, Policy: p, Times: second{}}}, Routing: deploy.RoundRobin}
		o.Each = func(e *Ended) { first[e.ID] = fmt.Sprint(e.First) }
		if _, err := Run(context.Background(), o, &workload.List{Requests: c.list}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(first, " "); got != c.want {
			t.Errorf("%d steps, %d requests: first tokens at %s, by hand %s", c.steps, len(c.list), got, c.want)
		}
	}
}
