package deploy

import (
	"fmt"
	"math"
	"sort"

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
	MiB        float64 `json:"mib" required:"true"`
	TokenMiB   float64 `json:"token_mib" required:"true"`   // for each token of a step
	RankMiB    float64 `json:"rank_mib" required:"true"`    // for each rank of a server
	ReplicaMiB float64 `json:"replica_mib" required:"true"` // for each rank that is a replica of attention, where there are several
	LeastMiB   float64 `json:"least_mib" required:"true"`
	// Processors of LargeGiB and more compute LargeTokens at a time where a server is not told.
	LargeGiB    float64 `json:"large_gib" required:"true"`
	LargeTokens int     `json:"large_tokens" required:"true"`
}

// ServerShare is the share of the memory that servers of a pool take by themselves. The rule of an engine has three decimals.
func (d *Deployment) ServerShare(pool *Pool) float64 {
	rule := &d.Engine.Memory
	l := rule.Leaves
	if l == nil {
		return rule.Share
	}
	cut, gib := &pool.Plan.Attention, pool.System.Memory.GiB
	tokens := d.Engine.StepTokens * cut.DP
	if gib >= l.LargeGiB && d.Told.StepTokens == 0 {
		tokens = l.LargeTokens
	}
	left := l.MiB + l.TokenMiB*float64(tokens) + l.RankMiB*float64(cut.Procs())
	if cut.DP > 1 {
		left += l.ReplicaMiB * float64(cut.DP)
	}
	const mib, decimals = 1024, 1e3
	return math.Round(decimals*(1-max(left, l.LeastMiB)/(mib*gib))) / decimals
}

// CacheBytes is what a server has for the cache of a processor that holds so much besides; less than 0 where it has none. Without an
// engine, memory that is usable holds all.
func (d *Deployment) CacheBytes(pool *Pool, m *estimate.Memory) float64 {
	if d.Engine.Memory.Counts == "" {
		return d.Assume.Usable(pool.System.Memory.GiB) - m.WithoutCache()
	}
	v := d.divide(pool, m)
	return v.cache(d.Assume.MemoryFraction)
}

// Usable is the bytes of a processor that may be full where it holds so much besides the cache: what the server takes, of what there is.
func (d *Deployment) Usable(pool *Pool, m *estimate.Memory) float64 {
	if d.Engine.Memory.Counts == "" {
		return d.Assume.Usable(pool.System.Memory.GiB)
	}
	v := d.divide(pool, m)
	return m.WithoutCache() + min(v.cache(d.Assume.MemoryFraction), v.left())
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
		why += fmt.Sprintf(", of which %s takes %s with %s %s", d.Engine.Name, plain(d.Usable(pool, m)), rule.Option, number.Plain(d.Assume.MemoryFraction, 4))
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
	if at == most || share <= d.Assume.MemoryFraction {
		return ""
	}
	return fmt.Sprintf("%s %[2]s (assume memory-fraction=%[2]s)", rule.Option, number.Plain(share, 3))
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
