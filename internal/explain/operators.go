package explain

import (
	"encoding/json"
	"fmt"
	"slices"

	"throughline/estimate"
	"throughline/op"
)

// Operators are those of a step; JSON counts work and times over all layers of a stage and all
// overlapping micro-batches.
type Operators []estimate.Operator

// collective is a communication operator in JSON.
type collective struct {
	Name   string  `json:"name"`
	Group  int     `json:"group"`
	Levels []int   `json:"levels"` // of the network that it uses
	Bytes  float64 `json:"message_bytes"`
}

func (all Operators) MarshalJSON() ([]byte, error) {
	type object struct {
		Name   string `json:"name"`
		Part   string `json:"part"`   // attention, mlp, draft, ends, pipeline, host, memory
		Engine string `json:"engine"` // cube, vector, network; empty for waits
		// M, N and K are the shape of a matrix product: tokens, outputs, inputs.
		M           float64     `json:"m,omitempty"`
		N           float64     `json:"n,omitempty"`
		K           float64     `json:"k,omitempty"`
		Repeat      float64     `json:"repeat"`
		Flops       float64     `json:"flops"`
		Bytes       float64     `json:"bytes"` // moved in memory; of a collective, sent
		Time        float64     `json:"time_us"`
		Times       float64     `json:"times"` // executions per step
		Share       float64     `json:"share"` // of the step
		OfPeak      float64     `json:"of_peak"`
		OfBandwidth float64     `json:"of_bandwidth"`
		Bound       string      `json:"bound"`            // compute, memory, network, hidden
		Joules      float64     `json:"joules,omitempty"` // of a processor in a step; absent: not known
		Collective  *collective `json:"collective,omitempty"`
		Lane        string      `json:"lane"`
		Start       float64     `json:"start_us"`
		End         float64     `json:"end_us"`
	}
	out := make([]object, len(all))
	for i := range all {
		o := &all[i]
		n := o.Executions()
		out[i] = object{
			Name: o.Name, Part: o.Block, Engine: engineOf(o), M: o.M, N: o.N, K: o.K, Repeat: n, Flops: n * o.Computed(), Bytes: n * o.Traffic(),
			Time: n * o.Exposed * 1e6, Times: o.Times / n, Share: o.Share, Bound: o.BoundBy(), Joules: o.Joules, Lane: o.Lane.String(), Start: o.Start * 1e6, End: o.End * 1e6,
		}
		out[i].OfPeak, out[i].OfBandwidth = o.Use()
		if len(o.Levels) > 0 {
			out[i].Collective = &collective{o.Collective.String(), int(o.Group), o.Levels, o.Moved}
		}
	}
	return json.Marshal(out)
}

// Shown are the operators for people: kernels that do the work of several operators are one row,
// which has the energy of all, and names that differ in their layers alone say how many have them.
// Others are the names of those without a row.
func (all Operators) Shown() (shown Operators, others []string) {
	for i := range all {
		o := all[i]
		o.Name = all.NameOf(&all[i])
		if o.Computes() && o.Exposed == 0 && len(all) > 1 {
			at := len(shown) - 1
			for at > 0 && (shown[at].Block != o.Block || shown[at].Repeat != o.Repeat || !shown[at].Computes()) {
				at--
			}
			if o.Joules == 0 || at >= 0 {
				if at >= 0 {
					shown[at].Joules += o.Joules
				}
				if !slices.Contains(others, all[i].Name) {
					others = append(others, all[i].Name)
				}
				continue
			}
		}
		shown = append(shown, o)
	}
	return shown, others
}

// NameOf is the name of an operator among others: with its layers where some have it differently.
func (all Operators) NameOf(o *estimate.Operator) string {
	for i := range all {
		if other := &all[i]; other != o && other.Name == o.Name && other.Block == o.Block && other.Repeat != o.Repeat {
			return fmt.Sprintf("%s, %.0f layers", o.Name, o.Repeat)
		}
	}
	return o.Name
}

// engineOf is the unit in JSON, in the words of the tables of the reference tool.
func engineOf(o *estimate.Operator) string {
	if o.Peak.Engine == estimate.Comm {
		return "network"
	}
	return o.Peak.Engine
}

// UnitOf names the unit of a chip that an operator runs on.
func UnitOf(o *estimate.Operator) string {
	if name, ok := unitNames[o.Peak.Engine]; ok {
		return name
	}
	return o.Peak.Engine
}

// unitNames are the words of people for those of the tables of the reference tool.
var unitNames = map[string]string{estimate.Cube: "matrix", estimate.Comm: "network"}

// Memory is what a processor holds, in GiB.
type Memory struct {
	Attention float64 `json:"attention_weights"`
	MLP       float64 `json:"mlp_weights"`
	Draft     float64 `json:"draft_weights"`
	Ends      float64 `json:"embeddings_and_output_head"`
	Working   float64 `json:"working_space"`
	Cache     float64 `json:"kv_cache"`
	Free      float64 `json:"free"`     // of the usable; negative where it does not fit
	Reserved  float64 `json:"reserved"` // not usable
	Capacity  float64 `json:"capacity"`
}

func (m *Memory) Share(gib float64) float64 { return gib / m.Capacity }

// memory splits the memory; the same share of all weights lies in the second tier.
func (c *subject) memory() Memory {
	m := &c.Memory
	held := map[string]float64{}
	for i := range c.Operators {
		o := &c.Operators[i]
		held[o.Block] += (1 - c.Problem.Offload.Weights) * o.Repeat * o.Resident
	}
	gib := func(bytes float64) float64 { return bytes / estimate.GiB }
	capacity := c.Problem.System.Memory.GiB
	return Memory{
		Attention: gib(held["attention"]), MLP: gib(held["mlp"]), Draft: gib(held["draft"]), Ends: gib(held["ends"]),
		Working: gib(max(m.Working[op.AttentionBlock], m.Working[op.MLPBlock])), Cache: gib(m.Cache),
		Free: gib(c.Usable - m.Total()), Reserved: capacity - gib(c.Usable), Capacity: capacity,
	}
}
