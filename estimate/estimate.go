// Package estimate adds up a phase: the time of a step, its memory, its throughput and where the time goes. It chooses
// nothing.
package estimate

import (
	"throughline/assume"
	"throughline/cost"
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
	// Handover is where the KV cache goes after a prefill; nil: it stays.
	Handover *Handover
	// Acceptance is the share of drafted tokens that are accepted, by position in the draft.
	Acceptance []float64
}

// Estimate is what one plan does. Times are in seconds, sizes in bytes.
type Estimate struct {
	Plan plan.Plan

	Stage  Breakdown // one pipeline stage, one step
	Memory Memory

	StepTime     float64 // all stages, all micro-batches, drafts
	TransferTime float64 // of that: handing activations from stage to stage
	DraftTime    float64 // of that: drafting tokens
	EndsTime     float64 // of that: embedding, output projection, sampling
	WaitTime     float64 // of that: waiting for the slowest stage of a pipeline
	OffloadTime  float64 // of that: waiting for the second memory tier
	// Latency is the time to the first token in prefill, the mean time per output token in decode.
	Latency    float64
	Throughput float64 // tokens per second of all processors: prompt tokens in prefill, output tokens in decode
	Requests   float64 // requests per second of all processors, the handing over of their cache included

	// KV is the transfer of the cache after a prefill with a handover.
	KV Transfer

	// Comm is the communication of all stages, by what it is for: the time of a step, the bytes of a whole request.
	Comm [op.TrafficCount]cost.Comm
}

// Breakdown is where the time of a stage goes.
type Breakdown struct {
	Block [op.BlockCount]cost.Totals
}

// Time of the stage.
func (b *Breakdown) Time() float64 {
	return b.Block[op.AttentionBlock].Time() + b.Block[op.MLPBlock].Time()
}

// BoundBy is the time of the operators that a resource bounds.
func (b *Breakdown) BoundBy(r cost.Bound) float64 {
	var t float64
	for i := range b.Block {
		for c := range b.Block[i].Bound {
			t += b.Block[i].Bound[c][r]
		}
	}
	return t
}

// ClassTime is the time of one class of operators.
func (b *Breakdown) ClassTime(c op.Class) float64 {
	var t float64
	for i := range b.Block {
		t += b.Block[i].Bound[c][cost.Compute] + b.Block[i].Bound[c][cost.Memory]
	}
	return t
}

// Exposed is the communication that is not hidden.
func (b *Breakdown) Exposed() float64 {
	return b.Block[op.AttentionBlock].Exposed() + b.Block[op.MLPBlock].Exposed()
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

// Total is all of it.
func (m *Memory) Total() float64 { return m.WithoutCache() + m.Cache }
