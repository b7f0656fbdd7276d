package deploy

import (
	"fmt"
	"math"
	"sort"

	"throughline/assume"
	"throughline/estimate"
	"throughline/number"
	"throughline/op"
)

// Memory is how a server divides the memory of a processor.
type Memory struct {
	// Counts is what the memory share covers: "static", weights and cache, with steps on top;
	// "free", the cache alone, of what weights and steps leave; "all" of them.
	Counts string `json:"counts" required:"true" enum:"all,static,free"`
	// Option is the engine's name for that share.
	Option string `json:"option" required:"true"`
	// TakenGiB is gone before weights load, besides the reserve; GroupGiB more for several ranks.
	TakenGiB float64 `json:"taken_gib" required:"true"`
	GroupGiB float64 `json:"group_gib" required:"true"`
	// LogitBytes is taken while next tokens are chosen, per logit of as many sequences as may run.
	LogitBytes float64 `json:"logit_bytes" required:"true"`
	// Share is the default; 0: what Leaves leaves.
	Share  float64 `json:"share" required:"true"`
	Leaves *Leaves `json:"leaves"`
}

// Leaves is the memory in MiB that a server leaves by default for steps and graphs.
type Leaves struct {
	TokenMiB float64    `json:"token_mib" required:"true"` // for each token of a step
	RankMiB  float64    `json:"rank_mib" required:"true"`  // for each rank of a server
	Sizes    []LeavesOn `json:"sizes" required:"true"`     // of processors, the smallest first
}

// LeavesOn is what is added on processors of some size.
type LeavesOn struct {
	FromGiB    float64 `json:"from_gib" required:"true"`
	MiB        float64 `json:"mib" required:"true"`
	RanksMiB   float64 `json:"ranks_mib" required:"true"`   // more with manyRanks and more
	ReplicaMiB float64 `json:"replica_mib" required:"true"` // for each rank that is a replica of attention, where there are several
	LeastMiB   float64 `json:"least_mib" required:"true"`   // in all
	Tokens     int     `json:"tokens" required:"true"`      // default tokens of a step
}

// manyRanks of a server capture more sequences (SGLang's server_args.py, cuda_graph_max_bs).
const manyRanks = 4

// on selects by the memory of a processor.
func (l *Leaves) on(gib float64) *LeavesOn {
	last := 0
	for i := range l.Sizes {
		if gib >= l.Sizes[i].FromGiB {
			last = i
		}
	}
	return &l.Sizes[last]
}

// MemoryShare is the share of memory that servers take, as their engine counts it: as set or
// assumed, else its default. Recipes of separate pools set it, so the usual share is assumed there.
func (d *Deployment) MemoryShare(pool *Pool) float64 {
	assumed := d.Assume.MemoryFraction
	switch {
	case d.ServerOptions.MemoryShare > 0:
		return d.ServerOptions.MemoryShare
	case d.Split() || assumed != assume.Physical.MemoryFraction || d.Engine.Memory.Counts == "":
		return assumed
	}
	if own := d.ownShare(pool); own > 0 {
		return own
	}
	return assumed // no server leaves nothing
}

// ownShare is the engine's default share of memory, with three decimals.
func (d *Deployment) ownShare(pool *Pool) float64 {
	rule := &d.Engine.Memory
	l := rule.Leaves
	if l == nil {
		return rule.Share
	}
	replicas, gib := pool.Sharing(d.Model), pool.System.Memory.GiB // of a server
	on := l.on(gib)
	tokens := on.Tokens // shared by the replicas of a server by default
	if d.ServerOptions.StepTokens > 0 {
		tokens = d.ServerOptions.StepTokens * replicas
	}
	ranks := replicas * pool.Plan.Attention.Replica()
	left := on.MiB + l.TokenMiB*float64(tokens) + l.RankMiB*float64(ranks)
	if ranks >= manyRanks {
		left += on.RanksMiB
	}
	if replicas > 1 {
		left += on.ReplicaMiB * float64(replicas)
	}
	const mib, decimals = 1024, 1e3
	return math.Round(decimals*(1-max(left, on.LeastMiB)/(mib*gib))) / decimals
}

// CacheBytes is the room for the cache besides m, possibly negative; all usable without an engine.
func (d *Deployment) CacheBytes(pool *Pool, m *estimate.Memory) float64 {
	if d.Engine.Memory.Counts == "" {
		return d.withoutEngine(pool) - m.WithoutCache()
	}
	v := d.divide(pool, m)
	return v.cache(d.MemoryShare(pool))
}

// Usable is the bytes of a processor that the server may fill besides what m holds.
func (d *Deployment) Usable(pool *Pool, m *estimate.Memory) float64 {
	if d.Engine.Memory.Counts == "" {
		return d.withoutEngine(pool)
	}
	v := d.divide(pool, m)
	return m.WithoutCache() + min(v.cache(d.MemoryShare(pool)), v.left())
}

// withoutEngine is the usable bytes of a processor where no engine divides them.
func (d *Deployment) withoutEngine(pool *Pool) float64 {
	assumed := *d.Assume
	assumed.MemoryFraction = d.MemoryShare(pool)
	return assumed.Usable(pool.System.Memory.GiB)
}

// NoRoom is why a server does not start: one request does not fit.
type NoRoom struct{ why string }

func (n *NoRoom) Error() string { return n.why }

// NoRoom says why a server that needs this much for one request does not start, and a remedy.
func (d *Deployment) NoRoom(pool *Pool, m *estimate.Memory) *NoRoom {
	plain := func(bytes float64) string { return number.Plain(bytes/estimate.GiB, 4) }
	why := fmt.Sprintf("one request does not fit: weights, working space and its cache need %s GiB of the %s GiB of %s", plain(m.Total()), number.Plain(pool.System.Memory.GiB, 4), pool.System.Name)
	if rule := &d.Engine.Memory; rule.Counts == "" {
		why += fmt.Sprintf(", of which %s are usable", plain(d.Usable(pool, m)))
	} else if rule.Option == "" {
		why += fmt.Sprintf(", of which %s takes %s", d.Engine.Name, plain(d.Usable(pool, m)))
	} else {
		why += fmt.Sprintf(", of which %s takes %s with %s %s", d.Engine.Name, plain(d.Usable(pool, m)), rule.Option, number.Plain(d.MemoryShare(pool), 4))
	}
	if lets := d.Lets(pool, m); lets != "" {
		why += "; with " + lets + " it does"
	}
	return &NoRoom{why}
}

// Lets is the least memory share that suffices, in the engine's terms; empty if none helps.
func (d *Deployment) Lets(pool *Pool, m *estimate.Memory) string {
	rule := &d.Engine.Memory
	if rule.Counts == "" || rule.Option == "" {
		return ""
	}
	const most = 999 // shares have three decimals
	v := d.divide(pool, m)
	if v.left() < m.Cache {
		return ""
	}
	at := sort.Search(most, func(i int) bool { return v.cache(float64(i)/(most+1)) >= m.Cache })
	share := float64(at) / (most + 1)
	if at == most || share <= d.MemoryShare(pool) {
		return ""
	}
	return fmt.Sprintf("%s %[2]s (memory-share %[2]s)", rule.Option, number.Plain(share, 3))
}

// division is the memory of a processor as an engine divides it, in bytes.
type division struct {
	counts                      string
	all, free, weights, working float64
}

func (d *Deployment) divide(pool *Pool, m *estimate.Memory) division {
	rule, gib := &d.Engine.Memory, pool.System.Memory.GiB
	taken := d.Assume.ReserveGiB + rule.TakenGiB
	if pool.Plan.Attention.Procs() > 1 {
		taken += rule.GroupGiB
	}
	weights := m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
	logits := rule.LogitBytes * float64(d.Engine.Sequences) * float64(d.Model.Vocab)
	return division{rule.Counts, gib * estimate.GiB, (gib - taken) * estimate.GiB, weights, max(m.WithoutCache()-weights, logits)}
}

// left is what weights and steps leave for a cache, whatever the share.
func (v *division) left() float64 { return v.free - v.weights - v.working }

func (v *division) cache(share float64) float64 {
	switch v.counts {
	case "static": // steps come on top
		return share*v.free - v.weights
	case "free":
		return share * (v.free - v.weights - v.working)
	}
	return v.free - (1-share)*v.all - v.weights - v.working
}
