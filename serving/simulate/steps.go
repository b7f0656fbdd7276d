package simulate

import (
	"math"
	"slices"

	"throughline/cost"
	"throughline/deploy"
	"throughline/estimate"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
	"throughline/workload"
)

// StepTimes are the step times of a pool, from package estimate. Decode steps, nearly all, come
// from a lazily filled table over the sums of their operators: sequences, and keys read up to each
// bound of an attention. Others are evaluated directly.
type StepTimes struct {
	evaluator *estimate.Evaluator
	plan      plan.Plan
	bounds    []int
	one       op.Sums   // of a decoding sequence without its context
	slopes    []op.Sums // per key between two bounds
	table     map[place]cost.Effort
	near      [nearCells]cell // of the table
	alike     map[alike]cost.Effort
	mixed     []pricedAlike // the latest steps of prompts beside decodes, by the hash of each
	direct    bool          // more bounds than the table has axes for
	step      op.Step       // scratch
	fitted    *deploy.Fit   // nil: nothing corrects them
}

// mostBounds is how many bounds the table has axes for.
const mostBounds = 2

// place is a number of sequences and mean contexts between bounds, as bits, which hash faster.
type place struct {
	sequences, under int32
	mean             [mostBounds + 1]uint32
}

// cell is a place of the table and the next ones along each axis, with efforts that were asked for.
type cell struct {
	sequences, under int32
	low, step        [mostBounds + 1]float64
	known            uint8         // corners, as bits
	corners          []cost.Effort // the first axis being the highest bit
}

// nearCells is a power of two: steps of a run have hardly more numbers of sequences at a time, with
// contexts that hardly move.
const nearCells = 128

// NewStepTimes prepares the steps of a pool.
func NewStepTimes(d *deploy.Deployment, pool *deploy.Pool) (*StepTimes, error) {
	problem := d.Problem(op.Decode, pool.System, workload.Lengths{Input: 1, Output: 1})
	problem.Handover = nil
	e, err := estimate.NewEvaluator(&problem)
	if err != nil {
		return nil, err
	}
	s := &StepTimes{evaluator: e, plan: pool.Plan, table: map[place]cost.Effort{}, alike: map[alike]cost.Effort{}}
	if !d.Fitted.IsNone() {
		fitted := d.Fitted
		s.fitted = &fitted
	}
	s.plan.Batch = plan.Batch{Count: 1, Size: 1}
	s.bounds = boundsOf(d.Model, pool.Plan.Drafts)
	s.direct = len(s.bounds) > mostBounds
	s.prepare()
	return s, nil
}

// boundsOf returns the contexts beyond which some attention of the model reads no more keys.
func boundsOf(m *model.Model, drafts int) []int {
	var out []int
	add := func(a *model.Attention) {
		queries, compress := 1+drafts, max(1, a.Compress)
		if a.Window > 0 {
			out = append(out, a.Window, a.Window+queries-1)
		}
		if a.IndexTopK > 0 {
			out = append(out, a.IndexTopK*compress, queries*a.IndexTopK*compress)
		}
	}
	add(&m.Attention)
	for i := range m.Mixed {
		add(&m.Mixed[i].Attention)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prepare finds what a key adds to the sums of a sequence between two bounds, where all is linear.
func (s *StepTimes) prepare() {
	at := func(context float64) op.Sums {
		var step op.Step
		s.evaluator.Add(&step, op.Group{Phase: op.Decode, Sequences: 1, New: float64(1 + s.plan.Drafts), Context: context})
		return step[op.Decode]
	}
	low := 0.0
	for i := 0; i <= len(s.bounds); i++ {
		high := low + 4096
		if i < len(s.bounds) {
			high = float64(s.bounds[i])
		}
		// Two points inside: near zero, contexts are shorter than the tokens of a step.
		a, b := low+(high-low)/2, high
		slope := at(b)
		first := at(a)
		addSums(&slope, -1, &first)
		scaleSums(&slope, 1/(b-a))
		slope.Sequences, slope.Tokens, slope.Wanted = 0, 0, 0
		s.slopes = append(s.slopes, slope)
		if i == 0 {
			s.one = at(b)
			addSums(&s.one, -b, &slope)
		}
		low = high
	}
}

// addSums adds a multiple of other sums.
func addSums(to *op.Sums, times float64, of *op.Sums) {
	to.Sequences += times * of.Sequences
	to.Tokens += times * of.Tokens
	to.Wanted += times * of.Wanted
	to.Context += times * of.Context
	addSeen(&to.One, times, &of.One)
	for i := range to.Seen {
		addSeen(&to.Seen[i], times, &of.Seen[i])
	}
}

func addSeen(to *op.Seen, times float64, of *op.Seen) {
	to.Pairs += times * of.Pairs
	to.Scored += times * of.Scored
	to.Read += times * of.Read
}

func scaleSums(s *op.Sums, times float64) {
	old := *s
	addSums(s, times-1, &old)
}

// Bounds of the attentions of the model.
func (s *StepTimes) Bounds() []int { return s.bounds }

// Seconds is the time of a step that runs over and over, at the clock of the power limit.
func (s *StepTimes) Seconds(w *Work) float64 {
	var effort cost.Effort
	s.Effort(w, &effort)
	sys := s.evaluator.System()
	if sys.Power == nil {
		return effort.Seconds(1)
	}
	return effort.Under(sys.Power, sys.Limit()).Seconds
}

// Power is what a rank draws in these steps, by its processors; nil: unknown.
func (s *StepTimes) Power(procs float64) *Power {
	sys := s.evaluator.System()
	if sys.Power == nil {
		return nil
	}
	return &Power{Power: sys.Power, Limit: sys.Limit(), Procs: procs, Effort: s.Effort}
}

// Effort of a step. Measurements of the deployment correct it at the full clock: steps that take
// longer than predicted take as much more energy.
func (s *StepTimes) Effort(w *Work, out *cost.Effort) {
	s.uncorrected(w, out)
	if s.fitted == nil {
		return
	}
	effort, seconds := *out, out.Seconds(1)
	corrected := s.fitted.Step(len(w.Chunks) > 0, w.Decodes > 0, seconds, func() float64 {
		decoding := *w
		decoding.Chunks = nil
		var alone cost.Effort
		s.uncorrected(&decoding, &alone)
		return alone.Seconds(1)
	})
	*out = cost.Effort{}
	out.Add(corrected/seconds, &effort)
}

// uncorrected is the effort before measurements of the deployment correct it.
func (s *StepTimes) uncorrected(w *Work, out *cost.Effort) {
	if len(w.Chunks) > 0 || s.direct {
		*out = s.recurring(w)
		return
	}
	// Mean keys of a sequence between two bounds.
	var mean, part [mostBounds + 1]float64
	n, below := float64(w.Decodes), int64(0)
	for i, b := range w.Bounded {
		mean[i] = float64(b-below) / n
		below = b
	}
	axes := len(w.Bounded) + 1
	mean[axes-1] = float64(w.Context-below) / n
	c := &s.near[(w.Decodes<<1|w.Under&1)%nearCells]
	if int(c.sequences) != w.Decodes || int(c.under) != w.Under || !c.around(mean[:axes], &part) {
		c.move(w, mean[:axes], &part)
	}
	*out = cost.Effort{}
	for i := range c.corners {
		times := 1.0
		for axis := range axes {
			if i>>(axes-1-axis)&1 == 0 {
				times *= 1 - part[axis]
			} else {
				times *= part[axis]
			}
		}
		if times > 0 {
			if c.known>>i&1 == 0 {
				c.known |= 1 << i
				c.corners[i] = s.at(c, i, axes)
			}
			out.Add(times, &c.corners[i])
		}
	}
}

// around reports whether means are within the cell, and where.
func (c *cell) around(mean []float64, part *[mostBounds + 1]float64) bool {
	for i, x := range mean {
		part[i] = (x - c.low[i]) / c.step[i]
		if !(part[i] >= 0 && part[i] < 1) {
			return false
		}
	}
	return true
}

// move takes the cell to other means.
func (c *cell) move(w *Work, mean []float64, part *[mostBounds + 1]float64) {
	c.sequences, c.under, c.known = int32(w.Decodes), int32(w.Under), 0
	if c.corners == nil {
		c.corners = make([]cost.Effort, 1<<len(mean))
	}
	for i, x := range mean {
		c.low[i], c.step[i], part[i] = newAxis(x, i == 0)
	}
}

// at is the effort at a corner of a cell.
func (s *StepTimes) at(c *cell, corner, axes int) cost.Effort {
	at := place{sequences: c.sequences, under: c.under}
	for i := range axes {
		mean := c.low[i]
		if corner>>(axes-1-i)&1 == 1 {
			mean += c.step[i]
		}
		at.mean[i] = math.Float32bits(float32(mean))
	}
	return s.place(&at)
}

// recurring is a step that may have come before: of prompts alone where these are alike, of others
// beside them where servers run alike.
func (s *StepTimes) recurring(w *Work) cost.Effort {
	at, ok := alikeOf(w)
	if !ok {
		return s.Direct(w)
	}
	if w.Decodes > 0 {
		if s.mixed == nil {
			s.mixed = make([]pricedAlike, recentMixed)
		}
		last := &s.mixed[at.slot()]
		if last.alike != at {
			*last = pricedAlike{at, s.Direct(w)}
		}
		return last.Effort
	}
	t, ok := s.alike[at]
	if !ok {
		t = s.Direct(w)
		s.alike[at] = t
	}
	return t
}

// alike is prompts that are all the same, but for the last, and sums of what decodes beside them.
type alike struct {
	count, ends, under int
	first, last        Chunk
	absent             float64
	decodes            int
	context            int64
	bounded            [mostBounds]int64
}

// pricedAlike is such a step and its effort.
type pricedAlike struct {
	alike
	cost.Effort
}

// recentMixed is a power of two.
const recentMixed = 1024

// alikeOf is the key of a step, if it has one.
func alikeOf(w *Work) (at alike, ok bool) {
	if len(w.Chunks) == 0 || len(w.Bounded) > mostBounds {
		return at, false
	}
	at = alike{count: len(w.Chunks), under: w.Under, first: w.Chunks[0], absent: w.Absent, decodes: w.Decodes, context: w.Context}
	copy(at.bounded[:], w.Bounded)
	for i, c := range w.Chunks {
		if c.Ends {
			at.ends++
		}
		if c != at.first {
			if i < len(w.Chunks)-1 {
				return at, false
			}
			at.last = c
		}
	}
	return at, true
}

// slot is where a step is kept among the recent ones.
func (at *alike) slot() int {
	h := uint64(at.context)<<16 ^ uint64(at.decodes)
	for _, v := range [...]int{at.first.New, at.first.Past, at.last.New, at.under} {
		h = h*0x9e3779b97f4a7c15 ^ uint64(v)
	}
	return int(h * 0x9e3779b97f4a7c15 >> 32 % recentMixed)
}

// perDoubling is the table places per octave of a mean.
const perDoubling = 8

// newAxis finds the places around a mean, equally many per octave from the least on, and where it
// is between them. Below that is 0, except for the first part of contexts, which are never empty.
func newAxis(x float64, front bool) (low, step, part float64) {
	least := 16.0
	if front {
		least = 1
		x = max(x, least)
	} else if x < least {
		return 0, least, x / least
	}
	// The least is a power of two: the exponent is the octave, leading bits are the place in it.
	const mantissa, places = 52, 3 // perDoubling = 2^places
	bits := math.Float64bits(x)
	low = math.Float64frombits(bits &^ (1<<(mantissa-places) - 1))
	step = math.Float64frombits(bits&^(1<<mantissa-1)) / perDoubling
	return low, step, (x - low) / step
}

// place returns the effort at a place of the table.
func (s *StepTimes) place(at *place) cost.Effort {
	effort, ok := s.table[*at]
	if !ok {
		var step op.Step
		s.decodes(at, &step)
		effort = s.priced(&step)
		s.table[*at] = effort
	}
	return effort
}

// decodes is the step at a place of the table.
func (s *StepTimes) decodes(at *place, step *op.Step) {
	n := float64(at.sequences)
	addSums(&step[op.Decode], n, &s.one)
	for i := range s.slopes {
		addSums(&step[op.Decode], n*float64(math.Float32frombits(at.mean[i])), &s.slopes[i])
	}
	s.plan.Under = int(at.under)
}

// priced is the effort of a step. A batch that passes a pipeline alone is only timed.
func (s *StepTimes) priced(step *op.Step) cost.Effort {
	if s.plan.Underway() < s.plan.InFlight() {
		return cost.Effort{Steady: s.evaluator.Full(&s.plan, step)}
	}
	return s.evaluator.Effort(&s.plan, step)
}

// Direct is the effort of a step without the table.
func (s *StepTimes) Direct(w *Work) cost.Effort {
	step := &s.step
	*step = op.Step{}
	for i := range w.Chunks {
		c := &w.Chunks[i]
		s.evaluator.Add(step, op.Group{Phase: op.Prefill, Sequences: 1, New: float64(c.New), Context: float64(c.Past + c.New), Ends: c.Ends})
	}
	step[op.Prefill].Absent = w.Absent
	if w.Decodes > 0 {
		addSums(&step[op.Decode], float64(w.Decodes), &s.one)
		below := int64(0)
		for i, b := range w.Bounded {
			addSums(&step[op.Decode], float64(b-below), &s.slopes[i])
			below = b
		}
		addSums(&step[op.Decode], float64(w.Context-below), &s.slopes[len(w.Bounded)])
	}
	s.plan.Under = w.Under
	return s.priced(step)
}
