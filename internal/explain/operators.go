package explain

import (
	"fmt"
	"strings"

	"throughline/collective"
	"throughline/cost"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/opdetail"
	"throughline/op"
	"throughline/schedule"
)

// Operator is one operator of a step. What it does is counted over all layers of the stage, and over micro-batches that overlap.
type Operator struct {
	Name   string `json:"name"`
	Part   string `json:"part"`   // attention, mlp, draft, ends, pipeline, memory
	Engine string `json:"engine"` // cube, vector, network; none of waiting
	// M, N and K are the shape of a matrix product: tokens, outputs, inputs.
	M      float64 `json:"m,omitempty"`
	N      float64 `json:"n,omitempty"`
	K      float64 `json:"k,omitempty"`
	Repeat float64 `json:"repeat"`
	Flops  float64 `json:"flops"`
	Bytes  float64 `json:"bytes"` // moved in memory; of a collective, sent
	Time   float64 `json:"time_us"`
	Times  float64 `json:"times"` // that a step executes it
	Share  float64 `json:"share"` // of the step
	// Of the peak rate of its engine and of the memory bandwidth, both without calibration; with the work of operators that
	// are fused with it, whose time is part of its own.
	OfPeak      float64     `json:"of_peak"`
	OfBandwidth float64     `json:"of_bandwidth"`
	Bound       string      `json:"bound"` // compute, memory, network, hidden
	Collective  *Collective `json:"collective,omitempty"`
	// Lane is the resource it runs on: matrix, vector, a level of the network, second tier; or waiting.
	Lane string `json:"lane"`
	// Start of its first execution in the step, and End of its last.
	Start float64 `json:"start_us"`
	End   float64 `json:"end_us"`
}

// Collective is how processors communicate.
type Collective struct {
	Name   string  `json:"name"`
	Group  int     `json:"group"`
	Levels []int   `json:"levels"` // of the network that it uses
	Bytes  float64 `json:"message_bytes"`
}

func (c *Collective) String() string {
	levels := fmt.Sprintf("network %d", c.Levels[0])
	if len(c.Levels) > 1 {
		levels = fmt.Sprintf("networks %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Levels), " ", "+"), "[]"))
	}
	return fmt.Sprintf("%s over %d, %s", c.Name, c.Group, levels)
}

var collectiveNames = [hardware.CollectiveCount]string{
	hardware.PointToPoint: "point to point", hardware.ReduceScatter: "reduce-scatter", hardware.AllGather: "all-gather",
	hardware.AllReduce: "all-reduce", hardware.AllToAll: "all-to-all",
}

// place says when an operator runs.
func (o *Operator) place(s schedule.Span) {
	o.Lane, o.Start, o.End = s.Lane.String(), s.Start*1e6, s.End*1e6
}

// operators lists the operators of a step in their order.
func (c *subject) operators() []Operator {
	var out []Operator
	spans := opdetail.Spans(c.evaluator.Timeline(&c.now.Plan))
	for kind := range c.parts {
		part := &c.parts[kind]
		for i := range part.Ops {
			o := &part.Ops[i]
			told := c.operator(estimate.PartKind(kind), o)
			told.place(spans[opdetail.SpanOf(estimate.PartKind(kind), i)])
			out = append(out, told)
		}
	}
	if t := c.now.TransferTime; t > 0 {
		told := Operator{
			Name: "stage transfer", Part: "pipeline", Engine: "network", Repeat: 1, Time: t * 1e6, Times: 1, Share: t / c.now.StepTime, Bound: "network",
			Collective: c.collective(hardware.PointToPoint, c.stages(), 0),
		}
		told.place(spans[opdetail.Key{Part: schedule.HandOnPart}])
		out = append(out, told)
	}
	for _, w := range []struct {
		name, part string
		time       float64
		in         schedule.Part
	}{
		{"moving experts", "mlp", c.now.MovingTime, schedule.MovingPart},
		{"waiting for the slowest rank", "mlp", c.now.RanksTime, schedule.RanksPart},
		{"waiting for launches", "host", c.now.LaunchTime, schedule.LaunchPart},
		{"waiting for the last stage", "pipeline", c.now.WaitTime, schedule.WaitPart},
		{"waiting for the second tier", "memory", c.now.OffloadTime, schedule.SecondPart},
	} {
		if w.time > 0 {
			told := Operator{Name: w.name, Part: w.part, Repeat: 1, Time: w.time * 1e6, Times: 1, Share: w.time / c.now.StepTime}
			told.place(spans[opdetail.Key{Part: w.in}])
			out = append(out, told)
		}
	}
	return out
}

// operator tells about one operator of a part. The shape is that of one execution; of micro-batches that overlap, all are counted.
func (c *subject) operator(kind estimate.PartKind, o *estimate.Operator) Operator {
	batches := 1.0
	if kind == estimate.StagePart {
		batches = c.now.Plan.Overlap.Batches()
	}
	repeat, times := batches*o.Repeat, c.parts[kind].Times/batches
	t := repeat * o.Exposed
	out := Operator{
		Name: o.Kind.String(), Part: opdetail.BlockOf(kind, o), Repeat: repeat, M: o.M, N: o.N, K: o.K,
		Flops: repeat * o.Flops, Bytes: repeat * o.Bytes(),
		Time: t * 1e6, Times: times, Share: times * t / c.now.StepTime,
	}
	if o.Class == op.Comm {
		out.Engine, out.Bound = "network", "network"
		out.Flops, out.Bytes = 0, repeat*o.Sent
		if t == 0 {
			out.Bound = "hidden"
		}
		if o.Group > 1 {
			out.Collective = c.collective(o.Collective, o.Members(), o.Moved)
		} else {
			out.Bound = "" // alone there is nothing to send
		}
		return out
	}
	peak := opdetail.PeakOf(&c.problem, o)
	out.Engine = peak.Engine
	if t > 0 {
		// Its time is also that of the operators fused with it.
		out.OfPeak = repeat * (o.Flops + o.Fused.Flops) / (t * peak.Flops)
		out.OfBandwidth = repeat * (o.Bytes() + o.Fused.Bytes) / (t * c.problem.System.Memory.GBps * c.problem.Assume.BytesPerGB)
	}
	out.Bound = boundNames[o.Bound]
	return out
}

var boundNames = [cost.BoundCount]string{cost.Compute: "compute", cost.Memory: "memory"}

// collective tells which levels of the network a group uses: from the one inside which two members lie to the one that
// holds them all. A transfer between two uses the last.
func (c *subject) collective(kind hardware.Collective, m hardware.Members, bytes float64) *Collective {
	net := collective.NewNet(c.problem.System, c.problem.Assume.BytesPerGB)
	return &Collective{Name: collectiveNames[kind], Group: m.Group, Bytes: bytes, Levels: net.Levels(kind, m)}
}

// stages are where the stages of the pipeline lie.
func (c *subject) stages() hardware.Members {
	p := &c.now.Plan
	return hardware.Members{Group: p.Attention.PP, Span: p.StageSpan(c.problem.Model.IsMoE()), World: p.Attention.Procs()}
}

// Memory is what a processor holds, in GiB.
type Memory struct {
	Attention float64 `json:"attention_weights"`
	MLP       float64 `json:"mlp_weights"`
	Draft     float64 `json:"draft_weights"`
	Ends      float64 `json:"embeddings_and_output_head"`
	Working   float64 `json:"working_space"`
	Cache     float64 `json:"kv_cache"`
	Free      float64 `json:"free"`     // of the usable; less than 0 where it does not fit
	Reserved  float64 `json:"reserved"` // not usable
	Capacity  float64 `json:"capacity"`
}

// Share is the part of the capacity that some GiB are.
func (m *Memory) Share(gib float64) float64 { return gib / m.Capacity }

// memory divides the memory.
func (c *subject) memory() Memory {
	m := &c.now.Memory
	weights := m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
	var stage [op.BlockCount]float64
	for i := range c.parts[estimate.StagePart].Ops {
		o := &c.parts[estimate.StagePart].Ops[i]
		stage[o.Kind.Info().Block] += o.Repeat * o.Resident
	}
	var draft float64
	for i := range c.parts[estimate.DraftPart].Ops {
		o := &c.parts[estimate.DraftPart].Ops[i]
		draft += o.Repeat * o.Resident
	}
	attention, mlp := stage[op.AttentionBlock], stage[op.MLPBlock]
	gib := func(bytes float64) float64 { return bytes / estimate.GiB }
	capacity := c.problem.System.Memory.GiB
	out := Memory{
		Attention: gib(attention), MLP: gib(mlp), Draft: gib(draft),
		Working: gib(m.WithoutCache() - weights), Cache: gib(m.Cache),
		Free: gib(c.Usable - m.Total()), Reserved: capacity - gib(c.Usable), Capacity: capacity,
	}
	if c.problem.Assume.Ends {
		out.Ends = gib(weights - attention - mlp - draft)
	}
	return out
}
