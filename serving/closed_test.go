package serving

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/workload"
)

// fake is a server whose steps are easy to work out by hand: 10 µs for each token of a prompt, 10
// ms and 1 ms for each sequence of a decode step, and both together where they are mixed.
type fake struct{}

func (fake) Prefill(prompts, tokens, _ int) float64 { return float64(prompts*tokens) * 1e-5 }
func (fake) Decode(sequences, _ float64) float64    { return 10e-3 + sequences*1e-3 }
func (f fake) Mixed(p Prompts, sequences, context float64) float64 {
	t := f.Prefill(p.Count, p.Tokens, p.Past)
	if sequences > 0 {
		t += f.Decode(sequences, context)
	}
	return t
}

// rules are easy numbers, too: 1 ms of the host for each step, 20 ms before a request is scheduled,
// 5 ms between servers.
func rules(prefill deploy.Policy) *deploy.Scheduling {
	return &deploy.Scheduling{
		FrontEnd:    deploy.FrontEnd{FirstSeconds: 20e-3, RequestSeconds: 2e-3, HandoverSeconds: 5e-3},
		Prefill:     prefill,
		StepTokens:  2000,
		StepsAhead:  1,
		StepSeconds: 1e-3,
	}
}

func loop(prefill deploy.Policy, clients int, squares float64) closed {
	return closed{
		load:  workload.Load{Lengths: workload.Lengths{Input: 1000, Output: 101, Squares: squares}, Clients: clients},
		rules: rules(prefill), decode: fake{}, ranks: 1, room: math.Inf(1), polls: 1, tokens: 1,
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*want {
		t.Errorf("%s: %.6g s, by hand %.6g s", what, got, want)
	}
}

// TestOneClient: nobody waits. TTFT is the offset, the prefill of 1000 tokens in 10 ms and one step
// of the host; TPOT a decode step of one sequence and one of the host.
func TestOneClient(t *testing.T) {
	for _, prefill := range []deploy.Policy{deploy.Chunks, deploy.First, deploy.Prompts} {
		for _, squares := range []float64{0, 1.004} {
			c := loop(prefill, 1, squares)
			p := c.aggregated()
			near(t, string(prefill)+" TTFT", p.TTFT, 20e-3+10e-3+1e-3)
			near(t, string(prefill)+" TPOT", p.TPOT, 11e-3+1e-3)
		}
	}
}

// TestTokensOfAPrompt: 5 µs for each of 1000 tokens add 5 ms to the time before a request is
// scheduled.
func TestTokensOfAPrompt(t *testing.T) {
	one := loop(deploy.Chunks, 1, 1.004)
	one.rules.TokenSeconds = 5e-6
	near(t, "alone", one.aggregated().TTFT, 20e-3+5e-3+10e-3+1e-3)
}

// TestGathering: an engine that prefills first computes together what came during the steps between
// two looks. With a prompt to every tenth step and 30 steps between looks, 1 − e^−3 of 30 steps are
// followed by a prefill of 3 / (1 − e^−3) prompts. Without that it looks at every step, but what
// ended in the last 20 ms before a prefill of 200 ms comes while it runs: 20 ms are 1.6 steps of
// 12.
func TestGathering(t *testing.T) {
	c := loop(deploy.First, 8, 1.004)
	w := waves{clients: 8, group: 8, joined: true, step: 12e-3, alone: 10e-3, cuts: 1, holds: 8, more: 4e-3}
	if got := c.pollSteps(&w); got != 1 {
		t.Errorf("a prefill shorter than a step gathers those of %v steps", got)
	}
	w.alone = 200e-3
	near(t, "steps", c.pollSteps(&w), 20./12)
	c.polls = 30
	w.pollSteps = c.pollSteps(&w)
	share, longer := w.laden(0.1, 0.1)
	want := (1 - math.Exp(-3)) / 30
	near(t, "share of steps", share, want)
	near(t, "longer", longer, want*(200e-3-12e-3)+(0.1-want)*4e-3)
}

// slower is steps that take twice as long.
type slower struct{ fake }

func (s slower) Mixed(p Prompts, sequences, context float64) float64 {
	return 2 * s.fake.Mixed(p, sequences, context)
}

// TestBatchesInFlight: two batches of a pipeline with a prompt to every fourth step of each. Both
// stages wait for a prompt in either of them, which 1 − e^−½ of the steps meet; two that come one
// after the other take the stages one after the other. Ranks of an expert model begin their steps
// together, and prompts of two steps in a row that come during a long one meet in the next.
func TestBatchesInFlight(t *testing.T) {
	w := waves{clients: 8, group: 16, own: 8, step: 12e-3, alone: 120e-3, cuts: 1, holds: 1, pollSteps: 1}
	share, longer := w.laden(0.25, 0.5)
	want := 1 - math.Exp(-0.5)
	near(t, "share of steps", share, want)
	near(t, "longer", longer, want*(120e-3-12e-3))
	w.own = w.group
	if meet, _ := w.laden(0.25, 0.5); meet > 0.9*want {
		t.Errorf("ranks in lockstep: prompts in %v of the steps", meet)
	}
}

// TestChunksInAPipeline: 1000 tokens in chunks of 250 through two stages: four steps of 2.5 + 1 ms,
// each of which follows the one before half of it later. The last is through after 3·1.75 + 3.5 ms.
func TestChunksInAPipeline(t *testing.T) {
	c := loop(deploy.Chunks, 1, 0)
	c.rules.StepTokens, c.ranks, c.stages, c.pipelines = 250, 2, 2, 1
	p := c.aggregated()
	near(t, "TTFT of a client", p.TTFT, 20e-3+3*1.75e-3+3.5e-3)
	near(t, "TPOT", p.TPOT, 11e-3+1e-3)
	// While all stages compute, chunks take twice as long: each follows the one before (2·2.5 +
	// 1)/2 ms later, and the last passes alone.
	c.paced = slower{}
	near(t, "TTFT under a power limit", c.aggregated().TTFT, 20e-3+3*3e-3+3.5e-3)
	c.paced = nil
	c.load.Clients = 2
	// Over a long time: chunks of 3.5 ms are no longer than the steps of 12 ms that may follow
	// them, which wait for none. Behind those of 25 + 1 ms they take as long while the other, which
	// is away for 20 ms of its life, does not decode: only ever while this one does.
	near(t, "decoding beside short chunks", c.aggregated().TPOT, 12e-3)
	c.load.Lengths.Input, c.rules.StepTokens = 10000, 2500
	q := c.aggregated()
	z, base := 100*q.TPOT, 100*12e-3
	share := z / (z + q.TTFT)
	behind := (1 - share*(1+20e-3/base)) / share
	near(t, "decoding beside the prompts of another", z, base+z*behind*(1-12./26))
	c.load.Lengths.Input, c.rules.StepTokens = 1000, 250
	// An engine that waits for each chunk.
	c.load.Clients, c.stages, c.pipelines = 1, 1, 2
	near(t, "TTFT chunk by chunk", c.aggregated().TTFT, 20e-3+4*3.5e-3)
}

// TestFewChunksInAPipeline: lengths that differ by 43%, in steps of 2000 tokens. What a prompt that
// fills no step gains by stages is nothing, as batches in flight are taken to wait for it; and
// among others no prompt of one or two steps gains or loses.
func TestFewChunksInAPipeline(t *testing.T) {
	for input, gains := range map[int]bool{1000: false, 1999: false, 2001: true} {
		c := loop(deploy.Chunks, 8, 1+0.43*0.43)
		c.load.Lengths.Input, c.stages, c.pipelines = input, 4, 1
		if cuts := c.cuts(); (cuts > 1) != (input > 1000) {
			t.Errorf("%d tokens take %v steps", input, cuts)
		}
		if alone, together := c.ahead(fake{}, 0); (alone > 0) != gains || together != 0 {
			t.Errorf("%d tokens: ahead by %v s, among others by %v s", input, alone, together)
		}
	}
	c := loop(deploy.Chunks, 8, 1)
	c.load.Lengths.Input, c.load.Lengths.Squares = 1500, (1.75/3)/0.5625 // from 1000 to 2000 tokens
	if cuts := c.cuts(); cuts != 1 {
		t.Errorf("prompts of up to a whole step take %v", cuts)
	}
}

// TestRoom: with room for two of four clients the others wait as long as the life of one.
func TestRoom(t *testing.T) {
	two, four := loop("chunks", 2, 1.004), loop("chunks", 4, 1.004)
	four.room = 2
	p, q := two.aggregated(), four.aggregated()
	near(t, "TPOT", q.TPOT, p.TPOT)
	near(t, "TTFT", q.TTFT, p.TTFT+p.TTFT+100*p.TPOT)
}

// TestSplit: prefill and decode on servers of their own. One client waits for nothing but the way
// of the cache; with many, TPOT is that of a decode step alone, and TTFT at least what all prompts
// of the clients take less the time that they decode.
func TestSplit(t *testing.T) {
	c := loop("chunks", 1, 1.004)
	p := c.split(&c, fake{}, 1, 7e-3, 0)
	near(t, "TTFT", p.TTFT, 20e-3+11e-3+5e-3+7e-3)
	near(t, "TPOT", p.TPOT, 12e-3)
	c = loop("chunks", 64, 1.004)
	c.ranks = 4
	p = c.split(&c, fake{}, 1, 7e-3, 0)
	step := 10e-3 + p.Batch*1e-3 + 1e-3
	near(t, "TPOT", p.TPOT, step)
	c = loop("chunks", 4000, 1.004)
	c.ranks = 400
	p = c.split(&c, fake{}, 1, 7e-3, 0)
	if full := 10.5e-3; p.TTFT < 4000*full-100*p.TPOT {
		t.Errorf("4000 clients of one prefill server: %v s", p.TTFT)
	}
}

// TestLaws: more clients never get their tokens sooner, nor their first one.
func TestLaws(t *testing.T) {
	for _, prefill := range []deploy.Policy{deploy.Chunks, deploy.First, deploy.Prompts} {
		for _, squares := range []float64{0, 1.004} {
			var last Prediction
			for clients := 1; clients <= 512; clients *= 2 {
				c := loop(prefill, clients, squares)
				p := c.aggregated()
				if p.TPOT < last.TPOT || p.TTFT < last.TTFT {
					t.Errorf("%s %v: %d clients %+v, half of them %+v", prefill, squares, clients, p, last)
				}
				last = p
			}
		}
	}
}

// TestBalance: whatever the lengths, times are those that the steps make of them, more clients
// never get less done, and the times of none get shorter: by much, since prompts share steps in
// whole numbers.
func TestBalance(t *testing.T) {
	for _, prefill := range []deploy.Policy{deploy.Chunks, deploy.First, deploy.Prompts} {
		for _, n := range []workload.Lengths{{Input: 100, Output: 2}, {Input: 100, Output: 8}, {Input: 700, Output: 1}, {Input: 3000, Output: 16}, {Input: 1000, Output: 1000}} {
			var last Prediction
			for clients := 1; clients <= 4096; clients += 1 + clients/3 {
				c := loop(prefill, clients, 0)
				c.load = workload.Load{Lengths: n, Clients: clients}
				p := c.aggregated()
				if !(p.Requests >= 0.99*last.Requests) || p.TPOT < 0.99*last.TPOT || p.Latency < 0.99*last.Latency {
					t.Errorf("%s, %d + %d tokens, %d clients: %+v, fewer %+v", prefill, n.Input, n.Output, clients, p, last)
				}
				last = p
			}
		}
	}
}

// TestRootByHand: x³ = 2, and a step.
func TestRootByHand(t *testing.T) {
	near(t, "the cube root", root(0, 2, func(x float64) float64 { return x*x*x - 2 }), math.Cbrt(2))
	near(t, "the step", root(0, 9, func(x float64) float64 {
		if x < 3 {
			return -1
		}
		return 5
	}), 3)
}

// TestLink: a prefill server sends one cache after another, so that it serves no more than its link
// does: with 50 ms for each cache 20 requests a second, however many clients there are and however
// fast it computes.
func TestLink(t *testing.T) {
	c := loop(deploy.Chunks, 256, 0)
	c.load.Requests, c.ranks = 0, 64
	if free := c.split(&c, fake{}, 1, 0, 0); free.Requests < 60 {
		t.Fatalf("without a link %v requests a second; the test shows nothing", free.Requests)
	}
	if p := c.split(&c, fake{}, 1, 0, 50e-3); p.Requests > 20*1.0001 || p.Requests < 19 {
		t.Errorf("%v requests a second", p.Requests)
	}
}

// TestPoll: an engine that looks for new requests at every 30th step keeps them waiting for 15 on
// average, not for a half.
func TestPoll(t *testing.T) {
	often, rarely := loop("first", 2, 1.004), loop("first", 2, 1.004)
	rarely.polls = 30
	p, q := often.aggregated(), rarely.aggregated()
	if more := q.TTFT - p.TTFT; more < 0.8*14.5*p.TPOT || more > 1.2*14.5*p.TPOT {
		t.Errorf("%v s more, a step being %v s", more, p.TPOT)
	}
}

// TestPollTogether: 20 others have a prompt each while one decodes 100 tokens. Found at every 50th
// step, ten at a time, they take five steps of two prompts, 21 ms each, twice.
func TestPollTogether(t *testing.T) {
	c := loop("first", 21, 1.004)
	c.polls = 50
	step := c.step(21)
	w := c.waves(c.decode, 21, 20, step)
	near(t, "prompts", w.delay(&c, 1), 2*5*(2*10e-3+1e-3))
	c.polls = 1
	w = c.waves(c.decode, 21, 20, step)
	if alone := w.delay(&c, 1); alone < 20*10e-3 || alone > 20*11e-3 {
		t.Errorf("one by one they take %v s", alone)
	}
}

// TestLeft: of even steps of 11 ms half is left on average. If one in ten is long, of 31 ms, one
// that comes at any time meets them 31 / 11 times as often: (0.9 · 11² + 0.1 · 31²) / 2 of the mean
// of 13 ms.
func TestLeft(t *testing.T) {
	even := lengths{short: 11e-3, long: 11e-3, mean: 11e-3}
	near(t, "even steps", even.left(), 5.5e-3)
	some := lengths{short: 11e-3, long: 31e-3, share: 0.1, mean: 13e-3}
	near(t, "some long ones", some.left(), (0.9*11e-3*11e-3+0.1*31e-3*31e-3)/2/13e-3)
}

// TestFilled: prompts of 800 tokens, all of one length, in steps of 2000. Where prompts are cut, a
// step holds two and a half of them, (2 + 0.5)·8 ms and one of the host; where they are not, two.
// Of two clients there are no more than two, and a prompt as long as a step fills it.
func TestFilled(t *testing.T) {
	for _, x := range []struct {
		prefill     deploy.Policy
		input       int
		clients     float64
		holds, each float64
	}{
		{deploy.Chunks, 800, 8, 2.5, 21e-3 / 2.5}, {deploy.First, 800, 8, 2.5, 21e-3 / 2.5}, {deploy.Prompts, 800, 8, 2, 17e-3 / 2},
		{deploy.Chunks, 800, 2, 2, 17e-3 / 2}, {deploy.Chunks, 2000, 8, 1, 21e-3}, {deploy.Chunks, 1999, 8, 2000. / 1999, 1999. / 2000 * 21e-3}, {deploy.Chunks, 4000, 8, 1, 42e-3},
	} {
		c := loop(x.prefill, 8, 1)
		c.load.Lengths.Input = x.input
		holds, each := c.filled(fake{}, x.clients, 0)
		near(t, string(x.prefill)+" prompts of a step", holds, x.holds)
		near(t, string(x.prefill)+" time of each", each, x.each)
	}
}

// TestServed: a server that only prefills, 11 ms for one prompt and 10 ms for each more. Of
// requests that come 10 times a second, e^(-0.11) steps are followed by none; the others wait for
// half of the step.
func TestServed(t *testing.T) {
	w := waves{alone: 11e-3, more: 0, full: 11e-3, holds: 1}
	busy := 0.11 / (0.11 + math.Exp(-0.11))
	near(t, "one by one", w.served(10, 10), 11e-3+busy*5.5e-3)
	near(t, "nobody comes", w.served(0, 0), 11e-3)
}

// TestCutsOnAverage: steps of 2000 tokens. Prompts of 2000 tokens take one; spread evenly up to
// twice as many, half of them take two.
func TestCutsOnAverage(t *testing.T) {
	c := loop(deploy.First, 1, 0)
	c.load.Lengths.Input = 2000
	near(t, "equal prompts", c.cuts(), 1)
	near(t, "their time", c.prompts(fake{}, 1, 0), 20e-3+1e-3)
	c.load.Lengths.Squares = 4.0 / 3 // of an even distribution from 0
	near(t, "spread prompts", c.cuts(), 1.5)
	near(t, "their time", c.prompts(fake{}, 1, 0), 20e-3+1.5e-3) // the host has half a step more
}

// sharing is fake, but for experts, which take half of the time of prompts where all ranks have
// them.
type sharing struct{ fake }

func (s sharing) Mixed(p Prompts, sequences, context float64) float64 {
	prefill := s.Prefill(p.Count, p.Tokens, p.Past)
	return s.fake.Mixed(p, sequences, context) - prefill/2*(1-p.share())
}

// TestPromptsOfOtherRanks: four ranks that share experts. A prompt of 10 ms takes 5 ms of attention
// and a quarter of 5 ms for experts by itself; each of another rank adds as much again.
func TestPromptsOfOtherRanks(t *testing.T) {
	c := loop(deploy.First, 32, 1.004)
	c.decode, c.ranks, c.together, c.shares = sharing{}, 4, 4, true
	step := c.step(8)
	w := c.waves(c.decode, 8, 7, step)
	near(t, "alone", w.alone, 5e-3+5e-3/4+1e-3)
	near(t, "another rank's", w.other, 5e-3/4)
	few := c
	few.load.Clients = 1 // three ranks have no client
	w1 := few.waves(c.decode, 1, 7, step)
	near(t, "the only client's", w1.alone, w.alone)
	few.load.Clients = 2
	w2 := few.waves(c.decode, 1, 7, step)
	near(t, "one of two clients'", w2.alone, w.alone)
	near(t, "the other one's", w2.other, w.other)
	_, longer := w.laden(1e-3, 4e-3)
	share := -math.Expm1(-4e-3)
	near(t, "longer", longer, max(0, share*(w.alone-step)+(4e-3-share)*w.other))
	// With 0.75 on each rank a quarter is behind another: 5 ms of its attention, besides a quarter
	// of 5 ms for every one of the three.
	w.step = 1e-3
	share, longer = w.laden(0.75, 3)
	near(t, "longer with many", longer, share*(w.alone-w.step)+(3-share)*5e-3/4+0.25*5e-3)
	c.load.Lengths.Input, c.rules.StepTokens = 20000, 20000 // prompts that take longer than the decode steps of others
	whole := c
	whole.shares = false
	if a, b := c.aggregated(), whole.aggregated(); !(a.TPOT < b.TPOT) {
		t.Errorf("TPOT %g, and %g where all ranks are taken to have prompts", a.TPOT, b.TPOT)
	}
}
