package deploy

import (
	"math"

	"throughline/estimate"
	"throughline/op"
)

// Memory is how a server of an engine divides the memory of a processor.
type Memory struct {
	// Counts is what the share that a server is told counts: "static", the weights and the cache, what steps take coming on top of
	// it; "free", the cache alone, of what the weights and the steps leave; "all" of them.
	Counts string `json:"counts" required:"true" enum:"all,static,free"`
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
	rule := &d.Engine.Memory
	if rule.Counts == "" {
		return d.Assume.Usable(pool.System.Memory.GiB) - m.WithoutCache()
	}
	taken := d.Assume.ReserveGiB + rule.TakenGiB
	if pool.Plan.Attention.Procs() > 1 {
		taken += rule.GroupGiB
	}
	weights := m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
	logits := rule.LogitBytes * float64(d.Engine.Sequences) * float64(d.Model.Vocab)
	working := max(m.WithoutCache()-weights, logits)
	share, all := d.Assume.MemoryFraction, (pool.System.Memory.GiB-taken)*estimate.GiB
	switch rule.Counts {
	case "static":
		return share*all - weights
	case "free":
		return share * (all - weights - working)
	}
	return all - (1-share)*pool.System.Memory.GiB*estimate.GiB - weights - working
}
