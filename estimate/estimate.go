// Package estimate adds up a phase: the time of a step, its memory, its throughput and where the
// time goes, as a function of the problem and the plan.
package estimate

import (
	"throughline/assume"
	"throughline/experts"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// GiB is the unit of capacities.
const GiB = 1 << 30

// Problem is what stays the same while plans vary.
type Problem struct {
	Model     *model.Model
	Settings  *model.Settings
	System    *hardware.System
	Lengths   workload.Lengths
	Precision plan.Precision
	Assume    *assume.Assumptions
	Phase     op.Phase
	// Offload is what lies in the second memory tier.
	Offload Offload
	// Visited is how often experts are visited; nil: as assumed, the same on all ranks.
	Visited *experts.Popularity
	// Handover is where the KV cache goes after a prefill; nil: it stays.
	Handover *Handover
	// Eager is the framework that runs the model operator by operator; nil: a serving engine.
	Eager *op.Eager
	// Acceptance is the share of drafted tokens that are accepted, by position in the draft.
	Acceptance []float64
}

// Estimate is what a search compares: times in seconds, sizes in bytes.
type Estimate struct {
	Plan   plan.Plan
	Memory Memory

	StepTime     float64 // all stages, all micro-batches, drafts
	StageTime    float64 // the layers of one pipeline stage, one micro-batch
	TransferTime float64 // of that: passing activations from stage to stage
	DraftTime    float64 // of that: drafting tokens
	EndsTime     float64 // of that: embedding, output projection, sampling
	WaitTime     float64 // of that: waiting for the slowest stage of a pipeline
	RanksTime    float64 // of that: waiting for the slowest of the ranks that exchange tokens
	MovingTime   float64 // of that: moving experts to other processors, averaged over steps
	LaunchTime   float64 // of that: waiting for a host that launches operators one by one
	OffloadTime  float64 // of that: waiting for the second memory tier
	// Latency is the time to the first token in prefill, the mean time per output token in decode.
	Latency    float64
	Throughput float64 // tokens per second of all processors: prompt tokens in prefill, output tokens in decode
	Requests   float64 // requests per second of all processors, including cache handovers

	// KV is the transfer of the cache after a prefill with a handover.
	KV Transfer
}

// Memory is what a processor must hold.
type Memory struct {
	Weights [op.BlockCount]float64
	Working [op.BlockCount]float64 // largest result of the block's operators
	Cache   float64
	Second  float64 // in the second tier
}

// WithoutCache is weights and working space.
func (m *Memory) WithoutCache() float64 {
	return m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock] + max(m.Working[op.AttentionBlock], m.Working[op.MLPBlock])
}

func (m *Memory) Total() float64 { return m.WithoutCache() + m.Cache }
