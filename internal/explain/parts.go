package explain

import (
	"fmt"
	"math"
	"slices"

	"throughline/estimate"
	"throughline/internal/point"
	"throughline/op"
	"throughline/plan"
)

// Part is a share of a time that clients see; all parts of one add up to it.
type Part struct {
	Name string  `json:"name"`
	Ms   float64 `json:"ms"` // negative: saved
	Of   PartOf  `json:"of"`
}

// PartOf is what a part belongs to.
type PartOf string

const (
	OfAttention PartOf = "attention"
	OfMLP       PartOf = "mlp"
	OfDrafts    PartOf = "drafts"
	OfEnds      PartOf = "ends"
	OfExchange  PartOf = "exchange"
	OfWaiting   PartOf = "waiting"
	OfOffload   PartOf = "offload"
	OfOthers    PartOf = "others" // requests
	OfSaving    PartOf = "saving"
)

// Parts are those of TPOT and TTFT; nil where no clients are served.
type Parts struct {
	TPOT []Part `json:"tpot"`
	TTFT []Part `json:"ttft"`
}

// least is the share of a time below which a part is left to the rest.
const least = 1e-4

// PartsOf takes apart what clients see: the step that serves them, what others do meanwhile, and
// the rest, which the host and waiting take.
func PartsOf(a *point.Answer) (*Parts, error) {
	if a.Seen == nil {
		return nil, nil
	}
	out := &Parts{}
	for i := range a.Phases {
		c, err := newSubject(a, i)
		switch {
		case err != nil:
			return nil, err
		case c.Phase == op.Decode && a.Record.TPOT == 0: // requests end with their first token
			out.TPOT = []Part{}
		case c.Phase == op.Decode:
			out.TPOT = c.tokenParts()
		default:
			out.TTFT = c.firstParts()
		}
	}
	return out, nil
}

// sum collects parts of a time.
type sum struct {
	total float64
	parts []Part
}

func (s *sum) add(name string, seconds float64, of PartOf) {
	if math.Abs(seconds) > least*s.total {
		s.parts = append(s.parts, Part{name, 1e3 * seconds, of})
	}
}

// rest is what the parts leave, under a name of its own.
func (s *sum) rest(name string, of PartOf) []Part {
	left := 1e3 * s.total
	for _, p := range s.parts {
		left -= p.Ms
	}
	if left < 0 && of == OfWaiting {
		name, of = "steps of other sizes", OfSaving
	}
	if math.Abs(left) > 1e3*least*s.total || len(s.parts) == 0 {
		return append(s.parts, Part{name, left, of})
	}
	// What is too little to show goes to the largest part, so that the sum is exact.
	at := slices.IndexFunc(s.parts, func(p Part) bool {
		return p.Ms == slices.MaxFunc(s.parts, func(x, y Part) int { return int(math.Copysign(1, x.Ms-y.Ms)) }).Ms
	})
	s.parts[at].Ms += left
	return s.parts
}

func (s *sum) step(c *subject, sh *estimate.Shares) {
	mlp := "MLP"
	if c.Problem.Model.IsMoE() {
		mlp = "experts and MLP"
	}
	s.add("attention", sh.Attention, OfAttention)
	s.add(mlp, sh.MLP, OfMLP)
	s.add("draft module", sh.Drafts, OfDrafts)
	s.add("embedding, head", sh.Ends, OfEnds)
	s.add("exchange not hidden", sh.Communication, OfExchange)
	s.add("waiting in the step", sh.Waiting, OfWaiting)
	s.add("second memory tier", sh.Offload, OfOffload)
}

// tokenParts takes TPOT apart: a decode step, the tokens that it drafts, the sequences that it has,
// others' prompts, and the time between steps.
func (c *subject) tokenParts() []Part {
	seen := c.answer.Seen
	s := sum{total: seen.TPOT}
	s.step(c, &c.Shares)
	step, p := c.Estimate.StepTime, &c.Estimate.Plan
	tokens := estimate.TokensPerStep(c.answer.Deployment.Acceptance, p.Drafts)
	if tokens > 1 {
		s.add(fmt.Sprintf("%.1f tokens a step", tokens), step/tokens-step, OfSaving)
	}
	full := float64(max(1, p.Batch.Count) * p.Sequences(c.Problem.Model.IsMoE()))
	if batch := int(math.Round(seen.Batch * float64(p.Batch.Size) / full)); batch > 0 && batch != p.Batch.Size {
		var e estimate.Estimate
		c.evaluate(batch, &e)
		s.add(fmt.Sprintf("%.0f of %.0f in a batch", seen.Batch, full), (e.StepTime-step)/tokens, OfSaving)
	}
	if !c.answer.Deployment.Split() {
		s.add("others' prompts", seen.Prefilling*seen.TPOT, OfOthers)
	}
	return s.rest("between steps", OfWaiting)
}

// firstParts takes TTFT apart: a prefill step of one prompt, the move of its cache, the front end,
// and waiting.
func (c *subject) firstParts() []Part {
	seen, d := c.answer.Seen, &c.answer.Deployment
	s := sum{total: seen.TTFT}
	p := c.Estimate.Plan
	p.Batch = plan.Batch{Count: 1, Size: 1}
	own := c.evaluator.Contents(&p)
	s.step(c, &own.Shares)
	front := d.Engine.FirstSeconds
	if d.Split() {
		front = d.Engine.HandoverSeconds
	}
	s.add("front end", front, OfWaiting)
	return s.rest("waiting for others", OfWaiting)
}
