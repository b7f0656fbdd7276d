package simulate

import (
	"math"

	"throughline/deploy"
	"throughline/workload"
)

// take is the rank that takes a new request.
func (r *run) take(q *workload.Request) target {
	to := r.route(r.entry, q, &r.turn[0])
	if n := len(to.server.ranks); to.server.pool.Scatters && n > 1 {
		to.rank = to.server.ranks[r.chance.IntN(n)]
	}
	return to
}

// route is the rank that the router gives a request to, or that its server does by itself.
func (r *run) route(to []target, q *workload.Request, turn *int) target {
	out := r.routed(to, q, turn)
	if out.server.pool.Fewest && r.Routing != deploy.PrefixAware {
		for _, k := range out.server.ranks {
			if k.expected() < out.expected() {
				out.rank = k
			}
		}
	}
	return out
}

func (r *run) routed(to []target, q *workload.Request, turn *int) target {
	if len(to) == 1 {
		return to[0]
	}
	*turn++
	first := (*turn - 1) % len(to)
	if r.Routing == deploy.RoundRobin || r.Routing == "" {
		return to[first]
	}
	least, low, high := first, math.MaxInt, 0
	for i := range to {
		at := (first + i) % len(to)
		load := to[at].expected()
		if load < low {
			least, low = at, load
		}
		high = max(high, load)
	}
	// SGLang's router (sgl-router, cache-aware policy): balance_abs_threshold 32 and
	// balance_rel_threshold 1.5 come before a hit, which cache_threshold 0.5 requires to be half.
	if r.Routing != deploy.PrefixAware || q.HashTokens == 0 || high-low > 32 && 2*high > 3*low {
		return to[least]
	}
	best, most := least, q.Hashed(q.Input)/2
	for i := range to {
		at := (least + i) % len(to)
		if k := to[at].prefix; k != nil {
			if n := k.match(q, q.Input); n > most {
				best, most = at, n
			}
		}
	}
	return to[best]
}
