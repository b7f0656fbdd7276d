package explain

import (
	"fmt"
	"slices"

	"throughline/estimate"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
)

// Exchange is the dispatch and combine of tokens, and how much of it the step exposes.
type Exchange struct {
	Overlap string  `json:"overlap"`    // off, two-batch, single-batch
	Busy    float64 `json:"busy_us"`    // of the network, in a step
	Exposed float64 `json:"exposed_us"` // waits of the step, including compute slowed down by the overlap
	// Busiest is the load of the busiest rank over the mean, on average and by layer.
	Busiest   float64   `json:"busiest_rank"`
	ByLayer   []float64 `json:"busiest_rank_by_layer,omitempty"`
	Redundant int       `json:"redundant_experts"`
	// Layer is the timeline of a layer in the middle of the stage.
	Layer []Turn `json:"layer,omitempty"`
}

// Turn is one execution of an operator.
type Turn struct {
	Operator string  `json:"operator"`
	Micro    int     `json:"micro_batch"` // of two that overlap
	Lane     string  `json:"lane"`
	Start    float64 `json:"start_us"`
	End      float64 `json:"end_us"`
	Exposed  float64 `json:"exposed_us"`
}

// exchange describes the exchange between experts, or is nil without one.
func (c *subject) exchange() *Exchange {
	p := &c.Plan
	out := &Exchange{Overlap: p.Overlap.String(), Redundant: p.Redundant}
	for i := range c.Operators {
		if o := &c.Operators[i]; o.Part == estimate.StagePart && o.Exchanges() {
			out.Busy += 1e6 * o.Times * o.Time
			out.Exposed += 1e6 * o.Takes()
		}
	}
	if out.Busy == 0 {
		return nil
	}
	out.Busiest, out.ByLayer = c.evaluator.Busiest(p)
	if p.Overlap != plan.NoOverlap {
		out.Layer = c.layer()
	}
	return out
}

// layer returns the timeline of a layer in the middle of the first stage and batch.
func (c *subject) layer() (out []Turn) {
	for i := range c.Spans {
		if m := &c.Spans[i]; m.Batch == 0 && m.Stage == 0 && m.Layer == c.Depth()/2 {
			out = append(out, Turn{c.Running(m).Name, m.Micro, m.Lane.String(), m.Start * 1e6, m.End * 1e6, m.Exposed * 1e6})
		}
	}
	return out
}

// layers describes how far layers are apart.
func (e *Exchange) layers() string {
	if len(e.ByLayer) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2f to %.2f by layer)", slices.Min(e.ByLayer), slices.Max(e.ByLayer))
}

// Lines describes the exchange for people.
func (e *Exchange) Lines() []string {
	if e == nil {
		return nil
	}
	out := []string{
		fmt.Sprintf("Exchange between experts: %s ms on the network, of which the step waits for %s ms (overlap %s)", number.Plain(e.Busy/1e3, 4), number.Plain(e.Exposed/1e3, 4), e.Overlap),
		fmt.Sprintf("Busiest rank: %.2f times the mean load%s, with %d redundant experts", e.Busiest, e.layers(), e.Redundant),
	}
	if len(e.Layer) == 0 {
		return out
	}
	out = append(out, "A layer, in µs from its start:")
	from := e.Layer[0].Start
	for _, t := range e.Layer {
		from = min(from, t.Start)
	}
	exchange := func(name string) bool { return name == op.Dispatch.String() || name == op.Combine.String() }
	// Consecutive operators of one micro-batch share a line.
	for i := 0; i < len(e.Layer); {
		first := e.Layer[i]
		what, last := first.Operator, first
		for i++; !exchange(first.Operator) && i < len(e.Layer) && e.Layer[i].Micro == first.Micro && !exchange(e.Layer[i].Operator); i++ {
			last = e.Layer[i]
		}
		if last != first {
			what += " to " + last.Operator
		}
		out = append(out, fmt.Sprintf("  %8.1f to %8.1f  micro-batch %d  %s", first.Start-from, last.End-from, first.Micro+1, what))
	}
	return out
}
