package lab

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"throughline/deploy"
	"throughline/internal/question"
)

// tuning changes what is known of an engine; nil: nothing.
type tuning = func(engine string, s *deploy.Scheduling)

// constant is a number of an engine that is fitted to serving runs.
type constant struct {
	name  string
	of    func(*deploy.Scheduling) *float64
	start float64 // seconds, the same for all engines
	most  level   // of those that it is sought among; 0: all
}

// constants are all of them. Tokenizers read 1.28 to 2.05 MB of text a second by one thread, 2 to 4
// us for a token of four to five bytes (github.com/huggingface/tokenizers, pull 1582).
var constants = [...]constant{
	{"step_seconds", func(s *deploy.Scheduling) *float64 { return &s.StepSeconds }, 0.5e-3, 0},
	{"sequence_seconds", func(s *deploy.Scheduling) *float64 { return &s.SequenceSeconds }, 6e-6, 0},
	{"first_seconds", func(s *deploy.Scheduling) *float64 { return &s.FirstSeconds }, 40e-3, 0},
	{"token_seconds", func(s *deploy.Scheduling) *float64 { return &s.TokenSeconds }, 4e-6, outermost},
	{"handover_seconds", func(s *deploy.Scheduling) *float64 { return &s.HandoverSeconds }, 100e-3, 0},
	{"wave_seconds", func(s *deploy.Scheduling) *float64 { return &s.WaveSeconds }, 200e-3, 0},
}

// block is constants chosen together, and the figure and mode of the runs that they affect.
type block struct {
	constants []int
	figure    int
	mode      question.Mode
	alike     bool // the same for all engines
}

// blocks in the order in which they are chosen.
var blocks = [...]block{
	{[]int{0, 1}, tpot, question.Aggregated, false},
	{[]int{2, 3, 5}, ttft, question.Aggregated, true},
	{[]int{3, 5}, ttft, question.Aggregated, false},
	{[]int{4}, ttft, question.Disaggregated, false},
}

// A constant is sought among none at all and its start times 2^(n/finer), up to outermost.
const (
	finer     = 3
	outermost = 3 * finer
	levels    = 2*outermost + 1
)

// level is a place among these; outermost is the start.
type level int

func (l level) times() float64 {
	if l == 0 {
		return 0
	}
	return math.Exp2(float64(l-outermost) / finer)
}

func (c *constant) at(l level) float64 { return c.start * l.times() }

// place is a level of each constant.
type place [len(constants)]level

func (p place) tune(s *deploy.Scheduling) {
	for i := range constants {
		*constants[i].of(s) = constants[i].at(p[i])
	}
}

var starts = func() (out place) {
	for i := range out {
		out[i] = outermost
	}
	return out
}()

// chosen are the constants of engines.
type chosen map[string]place

func (m chosen) tune(engine string, s *deploy.Scheduling) {
	if p, ok := m[engine]; ok {
		p.tune(s)
	}
}

// sampled are the levels of a constant at which runs are predicted, with the others at their
// starts. Figures are interpolated between them, and effects of several constants add up.
var sampled = []level{0, outermost - finer, outermost + 2*finer, levels - 1}

// surface is a figure of a run as it depends on the constants of its engine.
type surface struct {
	measured, start float64
	moved           [len(constants)][levels]float64 // what is added at a level of a constant
}

func (s *surface) at(p place) float64 {
	out := s.start
	for i, l := range p {
		out += s.moved[i][l]
	}
	return out
}

// thinned is how many runs of a group choose constants, so that large groups weigh no more.
const thinned = 4

// choosing are the runs that constants are chosen by: a few of each group and mode, spread evenly,
// or, of separate pools, with the fewest clients: of TTFT of many, nearly all is waiting for steps.
func (h *Held) choosing() (out []*judged) {
	found := map[string][]*judged{}
	for _, j := range h.runs {
		if key := j.group() + " " + j.mode + " " + h.by.of(j); !j.drafts && j.told {
			found[key] = append(found[key], j)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		list := found[key]
		n := min(thinned, len(list))
		if list[0].mode == string(question.Disaggregated) {
			slices.SortStableFunc(list, func(a, b *judged) int { return a.clients - b.clients })
			list = list[:n]
		}
		for i := range n {
			out = append(out, list[i*len(list)/n])
		}
	}
	return out
}

// surfaces are by run and figure; nil if a figure is unknown or unfit to judge predictions.
func (h *Held) surfaces(ctx context.Context) (map[*judged]*[2]*surface, error) {
	list := h.choosing()
	at := func(p place) (map[*judged][figureCount]float64, error) {
		figures := map[*judged][figureCount]float64{}
		tune := func(_ string, s *deploy.Scheduling) { p.tune(s) }
		err := h.predict(ctx, list, tune, func(j *judged, f *[figureCount]float64) { figures[j] = *f })
		return figures, err
	}
	start, err := at(starts)
	if err != nil {
		return nil, err
	}
	out := map[*judged]*[2]*surface{}
	for _, j := range list {
		out[j] = new([2]*surface)
		for f := range out[j] {
			if p := start[j]; !math.IsNaN(j.error(f, &p)) {
				out[j][f] = &surface{measured: j.measured[f], start: p[f]}
			}
		}
	}
	for c := range constants {
		samples := map[level]map[*judged][figureCount]float64{outermost: start}
		for _, l := range sampled {
			p := starts
			p[c] = l
			if samples[l], err = at(p); err != nil {
				return nil, err
			}
		}
		known := slices.Sorted(maps.Keys(samples))
		for j, both := range out {
			for f, s := range both {
				if s != nil {
					s.draw(c, known, func(l level) float64 { return samples[l][j][f] })
				}
			}
		}
	}
	return out, nil
}

// draw is what a constant changes at all levels, by straight lines between some.
func (s *surface) draw(c int, known []level, figure func(level) float64) {
	for n := range known[:len(known)-1] {
		a, b := known[n], known[n+1]
		from, to := figure(a), figure(b)
		for l := a; l <= b; l++ {
			way := (l.times() - a.times()) / (b.times() - a.times())
			s.moved[c][l] = from + way*(to-from) - s.start
		}
	}
}

// badness of an error, in logs, under noise with Cauchy's long tails, so that runs with other
// trouble, such as stalls of seconds, decide nothing.
func badness(predicted, measured float64, figure int) float64 {
	usual := [2]float64{ttft: 0.15, tpot: 0.1}[figure]
	e := math.Log(max(predicted, 1e-9)/measured) / usual
	return math.Log1p(e * e)
}

// grouped is runs of one engine, model, system and part: their figures that each block shows in.
type grouped struct {
	engine, part string
	figures      [len(blocks)][]*surface
	known        map[tabled][]float64
}

// tabled is a table of a block, with the constants of the others at a place.
type tabled struct {
	block int
	at    place
}

// groups are the groups of runs, in the order of their names.
func (h *Held) groups(surfaces map[*judged]*[2]*surface) []*grouped {
	found := map[string]*grouped{}
	for _, j := range h.runs {
		both := surfaces[j]
		if both == nil {
			continue
		}
		key := j.group() + " " + h.by.of(j)
		if found[key] == nil {
			found[key] = &grouped{engine: j.engine, part: h.by.of(j), known: map[tabled][]float64{}}
		}
		for b := range blocks {
			if s := both[blocks[b].figure]; s != nil && j.mode == string(blocks[b].mode) {
				found[key].figures[b] = append(found[key].figures[b], s)
			}
		}
	}
	var out []*grouped
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}

// cellsOf are the places that differ in the constants of a block.
func cellsOf(b int, from place) (out []place) {
	out = []place{from}
	for _, c := range blocks[b].constants {
		var next []place
		for _, p := range out {
			for l := range cmp.Or(constants[c].most, levels-1) + 1 {
				p[c] = l
				next = append(next, p)
			}
		}
		out = next
	}
	return out
}

// table is how bad the figures of a group are in each of the cells of a block.
func (g *grouped) table(b int, from place) []float64 {
	for _, c := range blocks[b].constants {
		from[c] = 0
	}
	if t, ok := g.known[tabled{b, from}]; ok {
		return t
	}
	list := cellsOf(b, from)
	t := make([]float64, len(list))
	for i, p := range list {
		for _, s := range g.figures[b] {
			t[i] += badness(s.at(p), s.measured, blocks[b].figure)
		}
	}
	g.known[tabled{b, from}] = t
	return t
}

// drawn are candidate costs, in badness, of an engine's constant being e times the common one; the
// last ties them together.
var drawn = []float64{0.3, 1, 3, 10, 30, 100, 1e9}

// choose first finds constants common to all engines, then those of each engine, drawn to the
// former. An engine without runs of a kind keeps the common ones.
func choose(groups []*grouped) chosen {
	out := chosen{}
	for _, g := range groups {
		out[g.engine] = starts
	}
	for b := range blocks {
		all, each := sums(b, groups, out)
		common := leastOf(all, func(int) float64 { return 0 })
		draw := drawn[len(drawn)-1]
		if !blocks[b].alike {
			draw = drawing(b, groups, out)
		}
		for engine, p := range out {
			at := cellsOf(b, p)
			out[engine] = at[nearest(b, each[engine], at, common, draw)]
		}
	}
	return out
}

// sums are the badness of groups in each cell of a block: of all, and of each engine.
func sums(b int, groups []*grouped, of chosen) (all []float64, each map[string][]float64) {
	all, each = make([]float64, len(cellsOf(b, starts))), map[string][]float64{}
	for engine := range of {
		each[engine] = make([]float64, len(all))
	}
	for _, g := range groups {
		for i, v := range g.table(b, of[g.engine]) {
			all[i] += v
			each[g.engine][i] += v
		}
	}
	return all, each
}

// nearest is the best cell of an engine that is drawn to one.
func nearest(b int, bad []float64, at []place, to int, draw float64) int {
	return leastOf(bad, func(i int) (cost float64) {
		for _, c := range blocks[b].constants {
			far := float64(at[i][c]-at[to][c]) * math.Ln2 / finer
			cost += draw * far * far
		}
		return cost
	})
}

// leastOf is the place of the least sum.
func leastOf(list []float64, more func(int) float64) int {
	best, sum := 0, math.Inf(1)
	for i, v := range list {
		if v += more(i); v < sum {
			best, sum = i, v
		}
	}
	return best
}

// drawing is how strongly engines are tied in a block for groups to predict each other best.
func drawing(b int, groups []*grouped, of chosen) float64 {
	all, each := sums(b, groups, of)
	at := cellsOf(b, starts)
	bad := make([]float64, len(drawn))
	for _, g := range groups {
		if len(g.figures[b]) == 0 {
			continue
		}
		t := g.table(b, of[g.engine])
		rest, own := make([]float64, len(t)), make([]float64, len(t))
		for i := range t {
			rest[i], own[i] = all[i]-t[i], each[g.engine][i]-t[i]
		}
		common := leastOf(rest, func(int) float64 { return 0 })
		for d := range drawn {
			bad[d] += t[nearest(b, own, at, common, drawn[d])]
		}
	}
	return drawn[leastOf(bad, func(int) float64 { return 0 })]
}
