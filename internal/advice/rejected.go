package advice

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/number"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
)

// Tried is the verdict on a deployment that practitioners would try.
type Tried struct {
	Name string  `json:"name"` // tp8, DEP16
	Mode Mode    `json:"mode"`
	Plan string  `json:"plan"`           // on all GPUs
	Rule string  `json:"rule"`           // that ruled it out; rank: none did
	By   string  `json:"by"`             // how much
	Lets []Let   `json:"lets"`           // what would let it through, each alone, but limits together; empty: unknown
	Rate float64 `json:"tokens_per_gpu"` // output tokens per second and GPU at its best batch; 0: none
}

// Let is a change that lets a deployment through: the value of a setting or, without one, a text.
type Let struct {
	Setting string `json:"setting,omitempty"`
	Value   string `json:"value"`
}

// Rules that reject deployments.
const (
	ruleShape  = "shape"
	ruleEngine = "engine"
	ruleMemory = "memory"
	ruleTPOT   = "TPOT"
	ruleTTFT   = "TTFT"
	ruleRank   = "rank"
)

// namedLayout is a layout that practitioners know by name, on instances of one size.
type namedLayout struct {
	name           string
	dp, pp, tp     int
	ep, moeTP      int
	size, prefills int // GPUs of an instance, and of a prefill pool of the same layout; 0 prefills: one pool for both
	overlap        plan.Overlap
}

// namedLayouts lists tensor parallelism within a node and over two, expert parallelism of
// data-parallel ranks on one node and more, and half of the GPUs for prefill.
func namedLayouts(experts bool, gpus int, mode Mode) []namedLayout {
	var all []namedLayout
	for tp := 1; tp <= 16; tp *= 2 {
		u := namedLayout{name: fmt.Sprintf("tp%d", tp), dp: 1, pp: 1, tp: tp, size: tp}
		if experts {
			u.ep, u.moeTP = 1, tp
		}
		all = append(all, u)
	}
	all = append(all, namedLayout{name: "tp8·pp2", dp: 1, pp: 2, tp: 8, ep: map[bool]int{true: 1}[experts], moeTP: map[bool]int{true: 8}[experts], size: 16})
	if experts {
		all = append(all, namedLayout{name: "tp8 EP8", dp: 1, pp: 1, tp: 8, ep: 8, moeTP: 1, size: 8})
		for n := 8; n <= 64; n *= 2 {
			all = append(all, namedLayout{name: fmt.Sprintf("DEP%d", n), dp: n, pp: 1, tp: 1, ep: n, moeTP: 1, size: n})
		}
	}
	var out []namedLayout
	for _, u := range all {
		if u.size <= gpus && mode != Disaggregated {
			out = append(out, u)
		}
		if half := gpus / 2; u.size <= half && mode != Aggregated && (u.size >= 4 || u.size == half) {
			u.prefills = half
			out = append(out, u)
		}
	}
	return out
}

// words returns the plan of a pool with count instances.
func (u *namedLayout) words(count int) string {
	s := fmt.Sprintf("%dx dp%d·pp%d·tp%d", count, u.dp, u.pp, u.tp)
	if u.ep > 0 {
		s += fmt.Sprintf(" ep%d·etp%d·edp1", u.ep, u.moeTP)
	}
	if mark := u.overlap.Word(); mark != "" {
		s += " " + mark
	}
	return s
}

// question asks for the layout at a batch; 0 clients: as many as fill it.
func (u *namedLayout) question(q question.Question, gpus, batch, clients int) question.Question {
	q.Phase, q.Batch, q.Concurrency, q.Drafts, q.Overlap, q.Redundant = "", batch, clients, 0, u.overlap.String(), 0
	if u.prefills > 0 {
		q.PrefillPlan, q.DecodePlan = u.words(u.prefills/u.size), u.words((gpus-u.prefills)/u.size)
		return q
	}
	n := gpus / u.size
	q.DP, q.PP, q.TP, q.CP = n*u.dp, u.pp, u.tp, 1
	if u.ep > 0 {
		q.EP, q.MoETP, q.MoEDP = u.ep, u.moeTP, n
	}
	return q
}

// Rejected explains for deployments that practitioners would try which rule or limit excludes them,
// by how much, and the nearest change that admits them.
func Rejected(ctx context.Context, l *question.Loaded, o *Options, got *Advice) ([]Tried, error) {
	w := verdicts{estimator: point.NewEstimator(), q: l.Question, o: o}
	if o.EachEngine {
		w.q.Engine = engine.Any // one deployment has one engine
	}
	w.q.Traffic.MemoryShare = cmp.Or(w.q.Traffic.MemoryShare, l.Assumptions.MemoryFraction) // as launch commands pass it
	limits := l.Limits()
	for i, ms := range []*float64{limits.TTFT, limits.TPOT} {
		if ms != nil {
			w.limits[i] = *ms / 1e3
		}
	}
	if w.ranked = got.Ranked; len(got.Ranked) > 0 {
		w.best = got.Ranked[0].PerGPU()
	}
	var out []Tried
	for _, u := range namedLayouts(l.Shape.IsMoE(), o.GPUs, o.Mode) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, w.try(&u))
	}
	return out, nil
}

// verdicts holds the state of these verdicts.
type verdicts struct {
	estimator *point.Estimator
	q         question.Question
	o         *Options
	limits    [2]float64 // on TTFT and TPOT in seconds; 0: none
	best      float64    // output tokens per second and GPU of the first row
	ranked    []Candidate
}

// row is the best ranked deployment of the layout, if there is one: it has been tried already.
func (w *verdicts) row(u *namedLayout) *Candidate {
	same := func(p *deploy.Pool, count int) bool {
		at := plan.Split{DP: u.dp, PP: u.pp, TP: u.tp}
		experts := plan.ExpertSplit{}
		if p.Role == deploy.Both {
			at.DP, count = at.DP*count, 1
		}
		if u.ep > 0 {
			experts = plan.ExpertSplit{EP: u.ep, TP: u.moeTP, DP: at.DP / u.dp}
		}
		split := p.Plan.Attention
		split.CP = at.CP
		return split == at && p.Plan.Attention.Context() == 1 && p.Plan.Experts == experts && p.Count == count
	}
	for i := range w.ranked {
		c := &w.ranked[i]
		d := &c.Deployment
		if d.Split() != (u.prefills > 0) || c.Spare > 0 || d.Of(op.Decode).Plan.Drafts > 0 {
			continue
		}
		if same(d.Of(op.Decode), (w.o.GPUs-u.prefills)/u.size) && (u.prefills == 0 || same(d.Of(op.Prefill), u.prefills/u.size)) {
			return c
		}
	}
	return nil
}

func (w *verdicts) try(u *namedLayout) Tried {
	out := Tried{Name: u.name, Mode: Aggregated, Plan: w.plan(u)}
	if u.prefills > 0 {
		out.Mode = Disaggregated
	}
	a, err := w.answer(w.q, u, 1)
	switch {
	case err != nil:
		out.Rule, out.By = ruleShape, oneLine(err)
		if why, ok := strings.CutPrefix(out.By, "engine: "); ok {
			out.Rule, out.By = ruleEngine, why
		}
		return out
	case a.Deployment.Engine.Name == engine.Generic.Name && w.q.Engine != engine.Generic.Name:
		out.Rule, out.By = ruleEngine, strings.TrimPrefix(a.Remark, point.WithoutEngine)
		return out
	}
	if over := w.over(a); over > 0 {
		out.Rule = ruleMemory
		out.By = fmt.Sprintf("%s GiB more on a GPU", number.Plain(over/estimate.GiB, 3))
		out.Lets = w.fits(u)
		return out
	}
	if a.Seen == nil {
		out.Rule, out.By = ruleMemory, a.Remark
		out.Lets = w.fits(u)
		return out
	}
	if rule, by, lets := w.late(a); rule != "" {
		out.Rule, out.By, out.Lets = rule, by, lets
		return out
	}
	var clients int
	var rate float64
	if c := w.row(u); c != nil {
		clients, rate = c.Clients, c.PerGPU()
	} else {
		clients, rate = w.search(u, a, &out)
	}
	out.Rule, out.Rate = ruleRank, rate
	out.By = fmt.Sprintf("%s tokens/s/GPU with %s", number.Plain(rate, 3), number.Count(clients, "client"))
	switch {
	case w.best > 1.01*rate:
		out.By += fmt.Sprintf("; the first row does %.0f%% more", 100*(w.best/rate-1))
	case rate > 1.01*w.best && w.best > 0: // an objective other than throughput
		out.By += fmt.Sprintf("; the first row does %.0f%% less", 100*(1-w.best/rate))
	case w.best > 0:
		out.By += "; so does the first row"
	}
	return out
}

// search finds the clients that serve the most, without or with overlaps.
func (w *verdicts) search(u *namedLayout, a *point.Answer, out *Tried) (clients int, rate float64) {
	clients, rate = w.fullest(u, a)
	for _, overlap := range w.o.Overlaps {
		other := *u
		if other.overlap = overlap; overlap == plan.NoOverlap || u.dp < 2 || u.ep < 2 {
			continue
		}
		if a, err := w.answer(w.q, &other, overlap.Least()); err == nil && a.Seen != nil && a.Deployment.Engine.Name != engine.Generic.Name && w.over(a) <= 0 {
			if n, r := w.fullest(&other, a); r > rate {
				clients, rate, out.Plan = n, r, w.plan(&other)
			}
		}
	}
	return clients, rate
}

func (w *verdicts) plan(u *namedLayout) string {
	if u.prefills > 0 {
		return fmt.Sprintf("P %s, D %s", u.words(u.prefills/u.size), u.words((w.o.GPUs-u.prefills)/u.size))
	}
	return u.words(w.o.GPUs / u.size)
}

// answer estimates a deployment under the clients that fill a batch.
func (w *verdicts) answer(q question.Question, u *namedLayout, batch int) (*point.Answer, error) {
	return w.under(q, u, batch, 0)
}

// under estimates a deployment at a batch under a number of clients.
func (w *verdicts) under(q question.Question, u *namedLayout, batch, clients int) (*point.Answer, error) {
	p := u.question(q, w.o.GPUs, batch, clients)
	return w.estimator.Serve(&p)
}

// over returns the bytes per processor that are missing, as the search counts them.
func (w *verdicts) over(a *point.Answer) float64 {
	d := &a.Deployment
	p, err := serving.NewPredictor(d)
	if err != nil {
		return math.Inf(1)
	}
	return max(0, -p.Free(d, a.Load.Lengths))
}

// late names the limit that an answer misses at its smallest batch, if any.
func (w *verdicts) late(a *point.Answer) (rule, by string, lets []Let) {
	var rules, bys []string
	for i, c := range []struct {
		rule, setting string
		seconds       float64
	}{{ruleTTFT, "ttft", a.Seen.TTFT}, {ruleTPOT, "tpot", a.Seen.TPOT}} {
		if limit := w.limits[i]; limit > 0 && c.seconds > limit {
			rules = append(rules, c.rule)
			bys = append(bys, fmt.Sprintf("%s %s ms > %s ms", c.rule, number.Plain(1e3*c.seconds, 4), number.Plain(1e3*limit, 4)))
			lets = append(lets, Let{c.setting, number.Plain(math.Ceil(1e3*c.seconds), 6)})
		}
	}
	return strings.Join(rules, ", "), strings.Join(bys, ", "), lets
}

// fits tries narrower weights and larger instances until a deployment fits.
func (w *verdicts) fits(u *namedLayout) (found []Let) {
	for _, format := range []string{"fp8", "nvfp4"} {
		q := w.q
		q.Formats.Weights = format
		if a, err := w.answer(q, u, 1); err == nil && a.Seen != nil && w.over(a) <= 0 && a.Deployment.Precision.Narrowest() < w.narrowest(u) {
			found = append(found, Let{"weights", format})
			break
		}
	}
	for more := 2; more <= 8; more *= 2 {
		wider := *u
		wider.size *= more
		wider.prefills *= more
		if u.dp > 1 {
			wider.dp, wider.ep = more*u.dp, more*u.ep
		} else {
			wider.pp *= more
		}
		larger := *w
		o := *w.o
		o.GPUs = max(o.GPUs, wider.size, 2*wider.prefills)
		larger.o = &o
		if a, err := larger.answer(w.q, &wider, 1); err == nil && a.Seen != nil && w.over(a) <= 0 {
			found = append(found, Let{Value: fmt.Sprintf("%d GPUs for an instance", wider.size)})
			break
		}
	}
	return found
}

// narrowest returns the bytes of the narrowest weights.
func (w *verdicts) narrowest(u *namedLayout) float64 {
	if a, err := w.answer(w.q, u, 1); err == nil {
		return a.Deployment.Precision.Narrowest()
	}
	return math.Inf(1)
}

// fullest finds the client count with the highest rate within memory and limits, to 1/128.
func (w *verdicts) fullest(u *namedLayout, one *point.Answer) (best int, rate float64) {
	rateOf := func(a *point.Answer) float64 {
		return a.Seen.Requests * float64(a.Load.Lengths.Output) / float64(w.o.GPUs)
	}
	full, batch := one.Load.Clients, one.Deployment.Of(op.Decode).Plan.Batch.Size
	within := func(n int) (float64, bool) {
		a, err := w.under(w.q, u, (n*batch+full-1)/full, n)
		if err != nil || a.Seen == nil || w.over(a) > 0 {
			return 0, false
		}
		if rule, _, _ := w.late(a); rule != "" {
			return 0, false
		}
		return rateOf(a), true
	}
	best = full
	if rule, _, _ := w.late(one); rule == "" {
		rate = rateOf(one)
	}
	take := func(n int) bool {
		r, ok := within(n)
		if ok && r > rate {
			best, rate = n, r
		}
		return ok
	}
	// The closed form finds the neighbourhood, of which simulations are asked: of loads that all
	// ranks share alike, where there are many.
	w.estimator.Rough = true
	near := between(full, 2*full, func(n int) bool { _, ok := within(n); return ok })
	w.estimator.Rough = false
	unit := 1
	if near >= 16*full {
		unit = full
	}
	each := func(n int) bool { return take(n * unit) }
	near /= unit
	least, step := full/unit, max(1, near/16)
	if each(near) {
		between(near, near+step, each)
		return best, rate
	}
	for near > least+step && !each(near-step) {
		near -= step
	}
	between(max(least, near-step), near, each)
	return best, rate
}

// between finds, to a 128th, the last number that holds: the low one does, and the high one is
// doubled while it does.
func between(low, high int, holds func(int) bool) int {
	for most := low << 14; high <= most && holds(high); high *= 2 {
		low = high
	}
	for high-low > max(1, low/128) {
		if mid := (low + high) / 2; holds(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// oneLine returns the first of several problems.
func oneLine(err error) string {
	text, _, more := strings.Cut(err.Error(), "\n")
	if more {
		text += ", and others"
	}
	return text
}
