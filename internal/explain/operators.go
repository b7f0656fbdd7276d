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
)

// Operator is one operator of a step. What it does is counted over all layers of the stage, and over micro-batches that overlap.
type Operator struct {
	Name   string `json:"name"`
	Part   string `json:"part"`   // attention, mlp, draft, ends, pipeline, host, memory
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

// operators lists what the step consists of.
func (c *subject) operators() []Operator {
	out := make([]Operator, len(c.step.Items))
	for i := range c.step.Items {
		out[i] = c.operator(&c.step.Items[i])
	}
	return out
}

// operator tells about an item of the step. The shape is that of one execution; of micro-batches that overlap, all are counted.
func (c *subject) operator(item *estimate.Item) Operator {
	out := Operator{
		Name: item.Name, Part: item.Block, Repeat: 1, Times: item.Times, Time: item.Adds * 1e6, Share: item.Time() / c.step.StepTime,
		Lane: item.Lane.String(), Start: item.Start * 1e6, End: item.End * 1e6,
	}
	switch {
	case item.Op != nil:
		c.work(item, &out)
	case !item.Waits():
		out.Engine, out.Bound, out.Collective = "network", "network", c.collective(hardware.PointToPoint, c.stages(), 0)
	}
	return out
}

// work fills in what an operator does.
func (c *subject) work(item *estimate.Item, out *Operator) {
	o, batches := item.Op, 1.0
	if item.Part == estimate.StagePart {
		batches = c.step.Plan.Overlap.Batches()
	}
	repeat := batches * o.Repeat
	t := repeat * o.Exposed
	out.Repeat, out.Times, out.Time = repeat, item.Times/repeat, t*1e6
	out.M, out.N, out.K, out.Flops, out.Bytes = o.M, o.N, o.K, repeat*o.Flops, repeat*o.Bytes()
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
		return
	}
	out.Engine, out.Bound = opdetail.PeakOf(&c.problem, o).Engine, boundNames[o.Bound]
	out.OfPeak, out.OfBandwidth = c.use(o)
}

// use is what an operator reaches of the peak rate of its engine and of the memory bandwidth; its time is also that of the
// operators fused with it. Nothing and communication reach neither.
func (c *subject) use(o *estimate.Operator) (ofPeak, ofBandwidth float64) {
	if o == nil || o.Class == op.Comm || o.Exposed == 0 {
		return 0, 0
	}
	bandwidth := c.problem.System.Memory.GBps * c.problem.Assume.BytesPerGB
	return (o.Flops + o.Fused.Flops) / (o.Exposed * opdetail.PeakOf(&c.problem, o).Flops), (o.Bytes() + o.Fused.Bytes) / (o.Exposed * bandwidth)
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
	p := &c.step.Plan
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

// memory divides the memory. Of all weights the same share lies in the second tier.
func (c *subject) memory() Memory {
	m := &c.step.Memory
	held := map[string]float64{}
	for i := range c.step.Items {
		if item := &c.step.Items[i]; item.Op != nil {
			held[item.Block] += (1 - c.problem.Offload.Weights) * item.Op.Repeat * item.Op.Resident
		}
	}
	gib := func(bytes float64) float64 { return bytes / estimate.GiB }
	capacity := c.problem.System.Memory.GiB
	return Memory{
		Attention: gib(held["attention"]), MLP: gib(held["mlp"]), Draft: gib(held["draft"]), Ends: gib(held["ends"]),
		Working: gib(max(m.Working[op.AttentionBlock], m.Working[op.MLPBlock])), Cache: gib(m.Cache),
		Free: gib(c.Usable - m.Total()), Reserved: capacity - gib(c.Usable), Capacity: capacity,
	}
}
