package simulate

import (
	"fmt"

	"throughline/workload"
)

// Result is a simulated run and its terms.
type Result struct {
	*Record
	workload.Terms
}

// Seen is what clients saw.
func (r *Result) Seen() *Seen { return &Seen{Summary: &r.Record.Summary, Terms: r.Terms} }

// Holds reports whether the limits hold and the queue does not grow.
func (r *Result) Holds() bool { return r.Seen().Holds() }

// Saturated reports whether arrivals exceed the capacity.
func (r *Result) Saturated() bool { return r.Seen().Saturated() }

// Rising reports a load that still rises without a queue at the last arrival: the run is too short.
func (r *Result) Rising() bool { return r.Seen().Rising() }

// Block formats the result as sglang.bench_serving does.
func (r *Result) Block() string { return r.Seen().Block() }

// Utilisation is the busy share of the busiest pool.
func (r *Result) Utilisation() float64 {
	var most float64
	for i := range r.Pools {
		most = max(most, r.Busy(i))
	}
	return most
}

// Shares of the time that decide what is called the bottleneck.
const (
	hardlyWait = 0.1 // shorter waits are chance: arrivals come in bursts
	mostlyIdle = 0.5 // servers less busy limit nothing
	mostlySend = 0.9 // front ends that send for longer limit servers
)

// Bottleneck is the front end if it is always busy; what most requests wait for to be scheduled; if
// they hardly wait, the steps themselves; nothing if servers are mostly idle.
func (r *Result) Bottleneck() string {
	if share := r.Sending / (r.Duration() * float64(r.senders)); share > mostlySend {
		return fmt.Sprintf("the front end (it sends answers %.0f%% of the time)", 100*min(1, share))
	}
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

// servers appends the name of the pool to a text where there are several pools.
func (r *Result) servers(words string, pool int) string {
	if len(r.Pools) == 1 {
		return ""
	}
	return fmt.Sprintf("%s%s servers", words, r.Pools[pool].Role)
}

// Notes say what bounds the run, how busy it was, and how far its means can be trusted.
func (r *Result) Notes() []string {
	seen := r.Seen()
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
	out = append(out, r.energyNotes()...)
	if r.LookupTokens > 0 {
		host := ""
		if r.LoadedTokens > 0 {
			host = fmt.Sprintf(", %.1f%% on the host", 100*float64(r.LoadedTokens)/float64(r.LookupTokens))
		}
		note("prefix cache: %.1f%% of the prompt tokens that might share one were cached%s", 100*float64(r.HitTokens)/float64(r.LookupTokens), host)
	}
	return append(append(out, seen.Goodput()...), seen.Trust()...)
}

// Fields are those of the clients, then those of the servers.
func (r *Result) Fields() Fields {
	return append(append(r.Seen().Fields(),
		Field{"bottleneck", r.Bottleneck()},
		Field{"utilisation", orNil(r.Utilisation())},
		Field{"preemptions", r.Preemptions},
		Field{"steps", r.Steps},
		Field{"kv_blocks", r.Pools[len(r.Pools)-1].Blocks},
		Field{"peak_kv_blocks", r.PeakBlocks},
		Field{"prefix_hit_tokens", r.HitTokens},
		Field{"seed", r.Traffic.Seed}), r.energyFields()...)
}

// JSON is the fields as an object, in order.
func (r *Result) JSON() ([]byte, error) { return r.Fields().JSON() }
