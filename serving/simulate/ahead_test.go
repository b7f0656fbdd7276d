package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"throughline/cost"
	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/test/long"
)

// drawPower is that of a chip on which some steps draw more than the limit, for which it has a
// window or none.
func drawPower(t *rapid.T, times Times) *Power {
	return &Power{
		Power: &hardware.Power{Rest: 80, On: 100, Busy: 50, Held: 0.95, Window: rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "window"),
			Clock: hardware.Clock{MHz: 2000, Lowest: 400, Knee: 0.5, Voltage: 0.7}},
		Limit: 400, Procs: 2,
		Effort: func(w *Work, out *cost.Effort) {
			seconds := times.Seconds(w)
			*out = cost.Effort{Clocked: 0.7 * seconds, Steady: 0.3 * seconds, Core: seconds * (200 + 40*float64(w.Decodes+w.Tokens()))}
		},
	}
}

// TestAhead: steps that are priced ahead of their time are those of a run that is watched step by
// step, for every request, and all that is recorded of them is the same.
func TestAhead(t *testing.T) {
	ahead := int64(0)
	long.Check(t, func(t *rapid.T) {
		traffic := drawTraffic(t)
		traffic.Rate = rapid.SampledFrom([]float64{1, 5, 100}).Draw(t, "requests per second")
		traffic.Output.Mean = rapid.IntRange(1, 200).Draw(t, "long output")
		o := Options{Seed: 7, Routing: deploy.Routing(rapid.SampledFrom(deploy.Routings).Draw(t, "routing")), Every: rapid.SampledFrom([]float64{0, 1}).Draw(t, "every")}
		o.AnswerSeconds = rapid.SampledFrom([]float64{0, 1e-4}).Draw(t, "answers")
		o.Shortens = true
		o.Pools = []Pool{drawPool(t)}
		if rapid.Bool().Draw(t, "split") {
			o.Pools[0].Role = deploy.Prefill
			decode := drawPool(t)
			decode.Role = deploy.Decode
			o.Pools = append(o.Pools, decode)
			o.Transfer = func(tokens int) (float64, float64) { return 1e-4 * float64(tokens), 1e-5 * float64(tokens) }
		}
		for i := range o.Pools {
			p := &o.Pools[i]
			p.Policy.Blocks = rapid.SampledFrom([]int{300, 800}).Draw(t, "tokens")/p.Policy.BlockTokens + 1
			if rapid.Bool().Draw(t, "power") {
				p.Power = drawPower(t, p.Times)
			}
		}
		if traffic.Clients > 0 && traffic.Turns == 0 && rapid.Bool().Draw(t, "steady") {
			traffic.Steady, traffic.Groups, traffic.Requests = true, 0, max(traffic.Requests, traffic.Clients)
			o.Settle(traffic)
		}
		run := func(watch func(*Step)) (*Record, []string) {
			var ends []string
			o.Watch = watch
			o.Each = func(e *Ended) { ends = append(ends, fmt.Sprintf("%+v", *e)) }
			r, err := Run(context.Background(), o, traffic.Source())
			if err != nil {
				t.Skip(err) // a request is longer than the cache
			}
			return r, ends
		}
		want, each := run(func(*Step) {})
		got, ends := run(nil)
		if !slices.Equal(ends, each) {
			t.Fatalf("requests end\n%s\nwatched they end\n%s", strings.Join(ends, "\n"), strings.Join(each, "\n"))
		}
		if a, b := counts(got), counts(want); a != b {
			t.Fatalf("%s\nwatched:\n%s", a, b)
		}
		watched := sums(want)
		for i, v := range sums(got) {
			if w := watched[i]; math.Abs(v-w) > 1e-9*math.Abs(w) {
				t.Fatalf("sum %d is %v, watched %v", i, v, w)
			}
		}
		ahead += got.Kinds[2]
	})
	if ahead == 0 {
		t.Error("no step only decodes")
	}
}

// counts are the whole numbers of a record.
func counts(r *Record) string {
	out := fmt.Sprintln(r.Steps, r.Kinds, r.Preemptions, r.Computed, r.PeakBlocks, r.ITL.Weight, r.Requests, r.Good, r.present, r.Start, r.End)
	if r.Timeline != nil {
		for _, p := range r.Timeline.Points {
			out += fmt.Sprintln(p.Steps, p.Tokens)
		}
	}
	return out
}

// sums are its other numbers, which steps of several servers add up to in any order.
func sums(r *Record) []float64 {
	out := []float64{r.ITL.Sum, r.ITL.Min, r.ITL.Max, r.Sending, r.Present, r.Residence}
	for i := range r.Pools {
		p := &r.Pools[i]
		out = append(append(out, p.Busy, p.Steps, p.Cache, p.PeakCache), p.Waits[:]...)
	}
	if r.Energy != nil {
		out = append(out, r.Energy.More, r.Energy.Worked, r.Energy.Beyond)
	}
	if r.Timeline != nil {
		for _, p := range r.Timeline.Points {
			out = append(out, p.Running, p.Waiting, p.Blocks, p.Joules)
		}
	}
	return out
}
