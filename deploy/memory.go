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

// Memory is how a server of an engine divides the memory of a processor.
type Memory struct {
	// Counts is what the share that a server is told counts: "static", the weights and the cache, what steps take coming on top of
	// it; "free", the cache alone, of what the weights and the steps leave; "all" of them.
	Counts string `json:"counts" required:"true" enum:"all,static,free"`
	// Option is what the engine calls that share.
	Option string `json:"option" required:"true"`
	// TakenGiB is gone before weights are loaded, besides the reserve that is assumed, and GroupGiB more where ranks work together.
	TakenGiB float64 `json:"taken_gib" required:"true"`
	GroupGiB float64 `json:"group_gib" required:"true"`
	// LogitBytes is taken while next tokens are chosen, for each logit of as many sequences as may run.
	LogitBytes float64 `json:"logit_bytes" required:"true"`
	// Share is what servers take that are told nothing; 0: what Leaves leaves.
	Share  float64 `json:"share" required:"true"`
	Leaves *Leaves `json:"leaves"`
}

// Leaves is the memory that a server leaves for steps and graphs where it is told no share, in MiB.
type Leaves struct {
	TokenMiB float64    `json:"token_mib" required:"true"` // for each token of a step
	RankMiB  float64    `json:"rank_mib" required:"true"`  // for each rank of a server
	Sizes    []LeavesOn `json:"sizes" required:"true"`     // of processors, the smallest first
}

// LeavesOn is what more is left on processors of some size.
type LeavesOn struct {
	FromGiB    float64 `json:"from_gib" required:"true"`
	MiB        float64 `json:"mib" required:"true"`
	ReplicaMiB float64 `json:"replica_mib" required:"true"` // for each rank that is a replica of attention, where there are several
	LeastMiB   float64 `json:"least_mib" required:"true"`   // in all
	Tokens     int     `json:"tokens" required:"true"`      // of a step of a server that is not told
}

// on is what is left on processors with so much memory.
func (l *Leaves) on(gib float64) *LeavesOn {
	last := 0
	for i := range l.Sizes {
		if gib >= l.Sizes[i].FromGiB {
			last = i
		}
	}
	return &l.Sizes[last]
}

// MemoryShare is the share of the memory that servers of a pool take, in what their engine counts: what they are told or, by
// an assumption other than the usual one, somebody says; else what the engine takes by itself. The recipes of separate pools
// tell their servers, so that the usual share is assumed of those.
func (d *Deployment) MemoryShare(pool *Pool) float64 {
	assumed := d.Assume.MemoryFraction
	switch {
	case d.Told.MemoryShare > 0:
		return d.Told.MemoryShare
	case d.Split() || assumed != assume.Physical.MemoryFraction || d.Engine.Memory.Counts == "":
		return assumed
	}
	if own := d.ownShare(pool); own > 0 {
		return own
	}
	return assumed // nobody starts a server that leaves nothing
}

// ownShare is the share of the memory that servers of a pool take by themselves. The rule of an engine has three decimals.
func (d *Deployment) ownShare(pool *Pool) float64 {
	rule := &d.Engine.Memory
	l := rule.Leaves
	if l == nil {
		return rule.Share
	}
	replicas, gib := pool.Sharing(d.Model), pool.System.Memory.GiB // of a server
	on := l.on(gib)
	tokens := on.Tokens // which the replicas of a server share that is not told
	if d.Told.StepTokens > 0 {
		tokens = d.Told.StepTokens * replicas
	}
	left := on.MiB + l.TokenMiB*float64(tokens) + l.RankMiB*float64(replicas*pool.Plan.Attention.Replica())
	if replicas > 1 {
		left += on.ReplicaMiB * float64(replicas)
	}
	const mib, decimals = 1024, 1e3
	return math.Round(decimals*(1-max(left, on.LeastMiB)/(mib*gib))) / decimals
}

// CacheBytes is what a server has for the cache of a processor that holds so much besides; less than 0 where it has none. Without an
// engine, memory that is usable holds all.
func (d *Deployment) CacheBytes(pool *Pool, m *estimate.Memory) float64 {
	if d.Engine.Memory.Counts == "" {
		return d.withoutEngine(pool) - m.WithoutCache()
	}
	v := d.divide(pool, m)
	return v.cache(d.MemoryShare(pool))
}

// Usable is the bytes of a processor that may be full where it holds so much besides the cache: what the server takes, of what there is.
func (d *Deployment) Usable(pool *Pool, m *estimate.Memory) float64 {
	if d.Engine.Memory.Counts == "" {
		return d.withoutEngine(pool)
	}
	v := d.divide(pool, m)
	return m.WithoutCache() + min(v.cache(d.MemoryShare(pool)), v.left())
}

// withoutEngine is the bytes of a processor that are usable where no engine divides them.
func (d *Deployment) withoutEngine(pool *Pool) float64 {
	assumed := *d.Assume
	assumed.MemoryFraction = d.MemoryShare(pool)
	return assumed.Usable(pool.System.Memory.GiB)
}

// NoRoom is why a server does not start: one request does not fit.
type NoRoom struct{ why string }

func (n *NoRoom) Error() string { return n.why }

// NoRoom says why a server does not start that holds so much with one request, and what would let it.
func (d *Deployment) NoRoom(pool *Pool, m *estimate.Memory) *NoRoom {
	plain := func(bytes float64) string { return number.Plain(bytes/estimate.GiB, 4) }
	why := fmt.Sprintf("one request does not fit: weights, working space and its cache need %s GiB of the %s GiB of %s", plain(m.Total()), number.Plain(pool.System.Memory.GiB, 4), pool.System.Name)
	if rule := &d.Engine.Memory; rule.Counts == "" {
		why += fmt.Sprintf(", of which %s are usable", plain(d.Usable(pool, m)))
	} else {
		why += fmt.Sprintf(", of which %s takes %s with %s %s", d.Engine.Name, plain(d.Usable(pool, m)), rule.Option, number.Plain(d.MemoryShare(pool), 4))
	}
	if lets := d.Lets(pool, m); lets != "" {
		why += "; with " + lets + " it does"
	}
	return &NoRoom{why}
}

// Lets is the least share of the memory with which a server holds so much, in the words of its engine; empty: none does, or it needs
// no other.
func (d *Deployment) Lets(pool *Pool, m *estimate.Memory) string {
	rule := &d.Engine.Memory
	if rule.Counts == "" {
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

// divide is the division of a processor of a pool.
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

// left is what there is for a cache beside weights and steps, whatever the share.
func (v *division) left() float64 { return v.free - v.weights - v.working }

// cache is what a server has for its cache that is told a share.
func (v *division) cache(share float64) float64 {
	switch v.counts {
	case "static": // steps come on top
		return share*v.free - v.weights
	case "free":
		return share * (v.free - v.weights - v.working)
	}
	return v.free - (1-share)*v.all - v.weights - v.working
}
