package simulate

import (
	"fmt"

	"throughline/workload"
)

// Result is a simulated run with what it was asked.
type Result struct {
	*Record
	workload.Terms
}

// seen is what clients saw of it.
func (r *Result) seen() *Seen { return &Seen{Summary: &r.Record.Summary, Terms: r.Terms} }

// Holds reports whether the limits hold, and the queue does not grow.
func (r *Result) Holds() bool { return r.seen().Holds() }

// Saturated reports whether arrivals exceed the capacity.
func (r *Result) Saturated() bool { return r.seen().Saturated() }

// Rising reports whether requests under way still become more when arrivals end, though none wait: the run is too short.
func (r *Result) Rising() bool { return r.seen().Rising() }

// Block is the result as sglang.bench_serving prints it.
func (r *Result) Block() string { return r.seen().Block() }

// Utilisation is the share of the time in which the servers of the busiest pool were busy.
func (r *Result) Utilisation() float64 {
	var most float64
	for i := range r.Pools {
		most = max(most, r.Busy(i))
	}
	return most
}

// Shares of the time from which something is called the bottleneck.
const (
	hardlyWait = 0.1 // requests that wait for less than this do so by chance, as arrivals come in heaps
	mostlyIdle = 0.5 // servers that are less busy bound nothing
)

// Bottleneck is what holds requests up: what most of them wait for to be scheduled; where they hardly wait, the steps
// themselves, which follow each other without a gap; nothing where servers are idle most of the time.
func (r *Result) Bottleneck() string {
	worst, where, share := Nothing, 0, hardlyWait
	for i := range r.Pools {
		for reason := Nothing + 1; reason < reasonCount; reason++ {
			if s := r.Pools[i].Waits[reason] / r.Pools[i].Steps; s > share {
				worst, where, share = reason, i, s
			}
		}
	}
	if worst != Nothing {
		return fmt.Sprintf("%s%s (requests wait for it %.0f%% of the time)", worst, r.servers(" of ", where), 100*share)
	}
	most := 0
	for i := range r.Pools {
		if r.Busy(i) > r.Busy(most) {
			most = i
		}
	}
	if r.Busy(most) < mostlyIdle {
		return fmt.Sprintf("none (servers are idle %.0f%% of the time, and requests hardly wait)", 100*(1-r.Busy(most)))
	}
	return fmt.Sprintf("the time of steps%s (servers are busy, and requests hardly wait)", r.servers(" of ", most))
}

// servers names the servers of a pool behind some words, where there are several pools.
func (r *Result) servers(words string, pool int) string {
	if len(r.Pools) == 1 {
		return ""
	}
	return fmt.Sprintf("%s%s servers", words, r.Pools[pool].Role)
}

// Notes are what is to be said besides: what bounds the run, how it was used, and how far its means can be trusted.
func (r *Result) Notes() []string {
	seen := r.seen()
	out := seen.Growth()
	note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	note("bottleneck: %s", r.Bottleneck())
	for i := range r.Pools {
		p := &r.Pools[i]
		note("utilisation%s: busy %.1f%% of the time; KV cache %.1f%% full on average, %.1f%% at most", r.servers(" of ", i), 100*r.Busy(i), 100*p.Cache/max(p.Steps, 1e-300), 100*p.PeakCache)
	}
	if r.Preemptions > 0 {
		note("preemptions: %d", r.Preemptions)
	}
	if r.AskedTokens > 0 {
		note("prefix cache: %.1f%% of the prompt tokens that might share one were cached", 100*float64(r.HitTokens)/float64(r.AskedTokens))
	}
	return append(append(out, seen.Goodput()...), seen.Trust()...)
}

// Fields are those that clients see, and some of the servers after them.
func (r *Result) Fields() Fields {
	return append(r.seen().Fields(),
		Field{"bottleneck", r.Bottleneck()},
		Field{"utilisation", known(r.Utilisation())},
		Field{"preemptions", r.Preemptions},
		Field{"steps", r.Steps},
		Field{"kv_blocks", r.Pools[len(r.Pools)-1].Blocks},
		Field{"peak_kv_blocks", r.PeakBlocks},
		Field{"prefix_hit_tokens", r.HitTokens},
		Field{"seed", r.Traffic.Seed})
}

// JSON is the fields as an object, in their order.
func (r *Result) JSON() ([]byte, error) { return r.Fields().JSON() }
