package difference

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/document"
	"throughline/internal/explain"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/profile"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
	"throughline/workload"
)

type planRow struct {
	answer *point.Answer
	gpus   int     // requested, including spare ones
	perGPU float64 // output tokens per second
	costs  []cost  // of an output token
	held   float64 // GiB of the fullest processor
}

// cost is the processor time that a class of operators takes per output token.
type cost struct {
	phase op.Phase
	class string
	ms    float64
}

func (c cost) name() string {
	if c.class == idle || c.class == shared {
		return c.class
	}
	return c.phase.Name() + " " + c.class
}

// idle is the rest: waits for requests, for the host, for the other pool, and spare processors.
const idle = "waiting and spare"

// shared is what prompts save in steps that decode anyway, where the rest is negative.
const shared = "steps in common"

func readPlan(in *files.Door, ref, file, number string) (*side, error) {
	q := question.DefaultOf(question.Explain)
	q.In = in
	if err := q.TakeRow(file+"#"+number, func(string) bool { return false }); err != nil {
		var problems *document.Error
		if errors.As(err, &problems) && len(problems.Problems) > 0 { // settings mean nothing here
			err = errors.New(problems.Problems[0].Message)
		}
		return nil, err
	}
	gpus, err := question.PlannedGPUs(in, file, number)
	if err != nil {
		return nil, err
	}
	return deployed(ref, &q, gpus)
}

// deployed estimates the deployment that a question fixes; gpus counts spare ones, too.
func deployed(ref string, q *question.Question, gpus int) (*side, error) {
	answer, err := point.NewExaminer().Answer(q)
	if err != nil {
		return nil, err
	}
	if answer.Seen == nil {
		return nil, fmt.Errorf("%s: no client can be served: %s", ref, answer.Remark)
	}
	r := &planRow{answer: answer, gpus: max(gpus, answer.Deployment.Procs()), held: answer.Held / estimate.GiB}
	output := float64(answer.Load.Lengths.Output)
	r.perGPU = answer.Seen.Requests * output / float64(r.gpus)
	s := &side{name: ref, kind: aPlan, row: r}
	s.clients(r)
	for i := range answer.Phases {
		if err := s.phase(r, i); err != nil {
			return nil, err
		}
	}
	used := 0.0
	for _, c := range r.costs {
		used += c.ms
	}
	rest := 1e3/r.perGPU - used
	r.costs = append(r.costs, cost{class: idle, ms: max(0, rest)}, cost{class: shared, ms: min(0, rest)})
	for _, c := range r.costs {
		s.figures = append(s.figures, Figure{"GPU ms/token " + c.name(), c.ms})
	}
	return s, nil
}

// clients adds the deployment and what clients see.
func (s *side) clients(r *planRow) {
	d, seen := &r.answer.Deployment, r.answer.Seen
	add := func(field string, v any) { s.figures = append(s.figures, Figure{field, v}) }
	add("model", d.Model.Name)
	add("weights", d.Stored.String())
	add("mode", string(map[bool]question.Mode{true: question.Disaggregated, false: question.Aggregated}[d.Split()]))
	for _, phase := range []op.Phase{op.Prefill, op.Decode} { // one pool for both phases has the same
		p, name := d.Of(phase), phase.Name()
		add(name+" system", p.System.Name)
		add(name+" plan", result.Instances(p.Count, &p.Plan))
		if d.Model.IsMoE() {
			add(name+" overlap", p.Plan.Overlap.String())
			add(name+" redundant experts", float64(p.Plan.Redundant))
		}
	}
	add("engine", d.Engine.Name)
	add("GPUs", float64(r.gpus))
	add("batch", float64(d.Of(op.Decode).Plan.Batch.Size))
	add("clients", float64(r.answer.Load.Clients))
	add("TTFT ms", 1e3*seen.TTFT)
	add("TPOT ms", 1e3*seen.TPOT)
	add("request s", seen.Latency)
	add("requests/s", seen.Requests)
	add("tokens/s/user", 1/seen.TPOT)
	add("tokens/s/GPU", r.perGPU)
	add("memory GiB", r.held)
	if e := r.answer.Energy; e != nil {
		add("power limit W", e.Limit)
		add("W per GPU", e.Watts)
		add("J per output token", e.Output)
		add("J per input token", e.Input)
	}
}

// phase adds the time of a step by class of operators, and its memory.
func (s *side) phase(r *planRow, i int) error {
	why, err := explain.Of(r.answer, i, workload.Limits{})
	if err != nil {
		return err
	}
	p := &r.answer.Phases[i]
	name := p.Phase.Name()
	step := 1e3 * p.Estimate.StepTime
	s.figures = append(s.figures, Figure{name + " step ms", step})
	shares := map[string]float64{}
	var classes []string
	for k := range why.Operators {
		o := &why.Operators[k]
		class := cmp.Or(profile.OperatorClass(o.Name), o.Block)
		if _, seen := shares[class]; !seen {
			classes = append(classes, class)
		}
		shares[class] += o.Share
	}
	output := float64(r.answer.Load.Lengths.Output)
	token := 1e3 * float64(p.Procs) / (p.Estimate.Requests * output) // of all operators
	for _, class := range classes {
		s.figures = append(s.figures, Figure{name + " ms " + class, step * shares[class]})
		r.costs = append(r.costs, cost{p.Phase, class, token * shares[class]})
	}
	m := &why.Memory
	for _, part := range []struct {
		name string
		gib  float64
	}{{"weights", m.Attention + m.MLP + m.Draft + m.Ends}, {"KV cache", m.Cache}, {"working space", m.Working}, {"free", m.Free}} {
		s.figures = append(s.figures, Figure{name + " GiB " + part.name, part.gib})
	}
	return nil
}

// whyRows tells which of two rows does more per processor, and why.
func whyRows(a, b string, x, y *planRow) []string {
	if x.perGPU == y.perGPU && x.answer.Seen.TPOT == y.answer.Seen.TPOT && x.answer.Seen.TTFT == y.answer.Seen.TTFT {
		return []string{fmt.Sprintf("%s and %s do the same.", a, b)}
	}
	better, worse, one, other := a, b, x, y
	if y.perGPU > x.perGPU {
		better, worse, one, other = b, a, y, x
	}
	plain := func(v float64) string { return number.Plain(v, 3) }
	more := fmt.Sprintf("%.1f%% more than", 100*(one.perGPU/other.perGPU-1))
	if ratio := one.perGPU / other.perGPU; ratio >= 2 {
		more = plain(ratio) + " times as many as"
	}
	out := []string{fmt.Sprintf("%s does %s tokens/s/GPU, %s %s with %s: TPOT is %s against %s, TTFT %s against %s.",
		better, plain(one.perGPU), more, worse, plain(other.perGPU),
		number.Time(one.answer.Seen.TPOT, 3), number.Time(other.answer.Seen.TPOT, 3), number.Time(one.answer.Seen.TTFT, 3), number.Time(other.answer.Seen.TTFT, 3))}
	parts := contributions(one, other)
	var terms []string
	for _, c := range parts[:min(3, len(parts))] {
		terms = append(terms, fmt.Sprintf("%s %s", c.name(), signed(c.ms)))
	}
	out = append(out, fmt.Sprintf("An output token takes %s ms of a GPU, not %s: %s ms.", plain(1e3/one.perGPU), plain(1e3/other.perGPU), strings.Join(terms, ", ")))
	each := func(r *planRow) string { return plain(float64(r.answer.Load.Clients) / float64(r.gpus)) }
	return append(out, fmt.Sprintf("%s has %s clients on a GPU and holds %s GiB on the fullest, %s has %s and holds %s.",
		better, each(one), plain(one.held), worse, each(other), plain(other.held)))
}

// contributions returns the cost differences of two rows, largest first.
func contributions(one, other *planRow) []cost {
	var out []cost
	add := func(c cost, sign float64) {
		at := slices.IndexFunc(out, func(o cost) bool { return o.phase == c.phase && o.class == c.class })
		if at < 0 {
			at = len(out)
			out = append(out, cost{phase: c.phase, class: c.class})
		}
		out[at].ms += sign * c.ms
	}
	for _, c := range one.costs {
		add(c, 1)
	}
	for _, c := range other.costs {
		add(c, -1)
	}
	slices.SortStableFunc(out, func(a, b cost) int { return cmp.Compare(math.Abs(b.ms), math.Abs(a.ms)) })
	return out
}

func signed(v float64) string {
	if v < 0 {
		return "−" + number.Plain(-v, 2)
	}
	return "+" + number.Plain(v, 2)
}
