package published

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"throughline/assume"
	"throughline/collective"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware/kernel"
	"throughline/internal/catalogue"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/validate"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// Predict predicts every row that is compared.
func (t *Table) Predict(ctx context.Context) error {
	p := predictor{ctx: ctx, points: point.NewEstimator(), shapes: map[string]*model.Model{}}
	for i := range t.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if row := &t.Rows[i]; row.asks != nothing {
			row.Predicted, row.Reason = p.row(row)
		}
	}
	return nil
}

// predictor keeps what rows share.
type predictor struct {
	ctx    context.Context
	points *point.Estimator
	shapes map[string]*model.Model
}

// row is the figure of a row as predicted, or why there is none.
func (p *predictor) row(row *Row) (float64, string) {
	list, err := sides(inputs{row.Cells}, row.asks)
	if err != nil {
		return 0, err.Error()
	}
	var values []float64
	for i := range list {
		v, err := p.best(&list[i])
		if err != nil {
			return 0, strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		values = append(values, v)
	}
	if len(values) == 2 {
		return values[0] / values[1], ""
	}
	if c := &list[0]; c.stated() {
		row.stated = c
	}
	return values[0], ""
}

// value is what a deployment does in the figure's unit; for a side of a ratio, per processor.
func (p *predictor) value(c *config) (float64, error) {
	m, err := p.shape(c.point.Model)
	if err != nil {
		return 0, err
	}
	c.lay(m)
	// Recipes set the servers' share of the memory, or their versions' own share is not known.
	c.point.Traffic.MemoryShare = assume.Physical.MemoryFraction
	if c.run.requests > 0 {
		return p.benchmark(c)
	}
	if c.saturated {
		if err := p.fill(c); err != nil {
			return 0, err
		}
	}
	if c.stated() {
		metric, err := validate.FindMetric(metrics[c.asks])
		if err != nil {
			return 0, err
		}
		return metric.Value(p.points, &c.point, c.unit)
	}
	a, err := p.points.Answer(&c.point)
	if err != nil {
		return 0, err
	}
	switch r := &a.Phases[0]; c.asks {
	case dispatchTime, dispatchRate:
		return c.exchanged(c.sent(r, op.Dispatch), m), nil
	case combineTime, combineRate:
		return c.exchanged(c.sent(r, op.Combine), m), nil
	case layerPart:
		return 1e3 * layer(r)[partNames[c.part]], nil
	}
	// Longer batches stood for the drafts: the host prepared none.
	return c.rate(validate.StepRate(a, 0)), nil
}

// stated reports whether one question of the program states all of it.
func (c *config) stated() bool {
	return metrics[c.asks] != "" && !c.simulated && c.run.requests == 0 && len(c.others) == 0
}

// benchmark is what a run of requests prints.
func (p *predictor) benchmark(c *config) (float64, error) {
	q := c.point
	q.Concurrency, q.Batch = 0, 1
	if c.run.clients > 0 && q.Traffic.StepTokens == 0 {
		e, err := engine.Find(q.Engine)
		if err != nil {
			return 0, err
		}
		q.Traffic.StepTokens = e.DefaultStepTokens(q.DP)
	}
	a, err := p.points.Answer(&q)
	if err != nil {
		return 0, err
	}
	n := a.Load.Lengths
	r, err := c.run.simulated(p.ctx, a.Deployment, n)
	if err != nil {
		return 0, err
	}
	latency := r.Residence / float64(r.Requests)
	switch c.asks {
	case userRate:
		return float64(n.Output) / latency, nil
	case requestTime:
		return 1e3 * latency, nil
	}
	return c.rate(float64(r.Output) / r.Duration()), nil
}

func (p *predictor) shape(name string) (*model.Model, error) {
	if m := p.shapes[name]; m != nil {
		return m, nil
	}
	f, err := question.Find("model", name, model.Catalogue, catalogue.Places{})
	if err != nil {
		return nil, err
	}
	m, _, doc := model.Read(f.Name, f.Source)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	p.shapes[name] = m
	return m, nil
}

// lay puts the layout into the point, with experts only where the model has them.
func (c *config) lay(m *model.Model) {
	q, l := &c.point, c.cut
	q.DP, q.TP = l.dp, l.tp
	if !m.IsMoE() {
		return
	}
	if l.attentionDP {
		q.DP, q.TP = l.tp, 1
	}
	q.EP, q.MoETP = l.ep, l.etp
	// Groups of experts are equal: with the copies that the source has, else with the fewest.
	routed := m.Experts.Routed
	if (routed+c.redundant)%l.ep == 0 && l.ep > 1 {
		q.Redundant = c.redundant
	} else {
		q.Redundant = (l.ep - routed%l.ep) % l.ep
	}
}

// endless is a batch that no memory and no engine has room for.
const endless = 1 << 16

// fill makes the batch as large as the memory allows.
func (p *predictor) fill(c *config) error {
	q := c.point
	q.Phase, q.Batch = "", endless
	p.points.Rough = true // room is not what simulations are for
	a, err := p.points.Serve(&q)
	p.points.Rough = false
	if err != nil {
		return err
	}
	if a.Seen == nil {
		return fmt.Errorf("%s", a.Remark)
	}
	c.point.Batch = max(1, int(a.Seen.Room))
	return nil
}

// rate turns tokens per second of all processors into the unit of the figure.
func (c *config) rate(all float64) float64 {
	each := all / float64(c.cut.procs())
	switch c.unit {
	case perGPU:
		return each
	case perNodeOf8:
		return perNode * each
	}
	return all
}

// stageOf is the operators of the layers, with their prices.
func stageOf(r *point.Result) []estimate.Operator {
	e, err := estimate.NewEvaluator(&r.Problem)
	if err != nil {
		panic(err) // the problem has been evaluated before
	}
	return slices.DeleteFunc(e.Operators(&r.Plan), func(o estimate.Operator) bool { return o.Part != estimate.StagePart })
}

// timeOf is one execution of an operator.
func timeOf(r *point.Result, kind op.Kind) float64 {
	for _, o := range stageOf(r) {
		if o.Kind == kind {
			return o.Busy.Time
		}
	}
	return 0
}

// Parts of an expert layer, in the order of reports.
const (
	wholeLayer = iota
	expertPart
	gemmPart
	attentionPart
	dispatchPart
	combinePart
	otherPart
	partCount
)

// PartNames are the columns of a breakdown.
var PartNames = [partCount]string{"layer", "experts", "GEMM", "attention", "dispatch", "combine", "other"}

var partNames = map[string]int{
	"overall": wholeLayer, "moe": expertPart, "gemm": gemmPart, "attention": attentionPart, "dispatch": dispatchPart,
	"combine": combinePart, "other": otherPart,
}

// layer is the parts of one layer with experts, in seconds. The layers without repeat less often.
func layer(r *point.Result) (out [partCount]float64) {
	ops := stageOf(r)
	repeat, times := 0.0, 1.0
	if r.Estimate.Plan.Overlap == plan.TwoBatch {
		times = 2 // the operators are those of one of two micro-batches
	}
	for i := range ops {
		if part(&ops[i]) == expertPart {
			repeat = ops[i].Repeat
		}
	}
	for i := range ops {
		o := &ops[i]
		if o.Repeat >= repeat {
			out[part(o)] += times * o.Busy.Time
			out[wholeLayer] += times * o.Exposed
		}
	}
	out[wholeLayer] += r.Estimate.RanksTime / float64(r.Problem.Model.Layers)
	return out
}

// part is where a profile would count an operator.
func part(o *estimate.Operator) int {
	switch o.Kind {
	case op.Dispatch:
		return dispatchPart
	case op.Combine:
		return combinePart
	case op.ExpertGateUp, op.ExpertUp, op.ExpertActivation, op.ExpertGateMultiply, op.ExpertDown:
		return expertPart
	case op.FusedAttention, op.Scores, op.Softmax, op.Values, op.ScoreAdd, op.IndexScores:
		return attentionPart
	}
	if o.Class == op.Linear {
		return gemmPart
	}
	return otherPart
}

// nodesOfToken is the most nodes a token goes to in DeepEP's tests, where each node holds a group
// of experts (num_topk_groups in tests/test_internode.py); within a node there is no limit.
const nodesOfToken = 4

// sent is the time of one direction of an exchange, by the library of the row if the catalogue
// lacks its kernels.
func (c *config) sent(r *point.Result, kind op.Kind) float64 {
	r = c.routed(r)
	library, ok := collective.FindLibrary(c.library)
	if !ok {
		return timeOf(r, kind)
	}
	e := &r.Problem.Model.Experts
	shape := kernel.Shape{
		M: c.counted.tokens, N: float64(e.TopK), K: float64(r.Problem.Model.Hidden), Group: int32(c.counted.ranks), Nodes: int16(c.counted.nodes()),
		Experts: int32(e.Routed), Groups: int16(e.Groups), Limit: int16(e.TopGroups),
	}
	mode := library.Mode(c.counted.tokens)
	format, bytes := mode.Dispatch, r.Problem.Precision.Dispatch
	if kind == op.Combine {
		format, bytes = mode.Combine, r.Problem.Precision.Combine
	}
	format.Element = bytes
	return mode.Seconds(r.Problem.System, "", &shape, format)
}

// routed is the result with tokens routed as the tests of exchanges do, which is not how models do.
func (c *config) routed(r *point.Result) *point.Result {
	out, shape := *r, *r.Problem.Model
	shape.Experts.Groups, shape.Experts.TopGroups = 0, 0
	if nodes := c.counted.nodes(); c.counted.limited && nodes > nodesOfToken {
		shape.Experts.Groups, shape.Experts.TopGroups = nodes, nodesOfToken
	}
	out.Problem.Model = &shape
	return &out
}

// perNode is the processors of a node of the sources that count by nodes.
const perNode = 8

// counted is the tokens that the bandwidth of an exchange counts.
type counted struct {
	tokens  float64
	ranks   int
	narrow  bool // elements of 8 bits with their scales
	limited bool // a token goes to four nodes at most
}

func (c *counted) nodes() int { return max(1, c.ranks/perNode) }

// bytes is what DeepEP counts for its bandwidth (tests/test_intranode.py and test_internode.py):
// each token once per rank of a node, or per node, with one of its experts, itself included.
func (c *counted) bytes(m *model.Model) float64 {
	groups, experts := float64(c.ranks), float64(m.Experts.Routed)
	if nodes := c.nodes(); nodes > 1 {
		groups = float64(nodes)
		if c.limited && groups > nodesOfToken {
			experts *= nodesOfToken / groups
			groups = nodesOfToken
		}
	}
	model := kernel.ExchangeModel{Element: 2}
	if c.narrow {
		model.Element = 1 + 4.0/128
	}
	shape := kernel.Shape{N: float64(m.Experts.TopK), Experts: int32(experts)}
	reached := model.Copies(&shape, groups, 1) * groups / (groups - 1)
	return c.tokens * reached * model.Width(float64(m.Hidden))
}

// exchanged is the time of an exchange in the unit of the figure.
func (c *config) exchanged(seconds float64, m *model.Model) float64 {
	if c.asks == dispatchRate || c.asks == combineRate {
		return c.counted.bytes(m) / seconds / 1e9
	}
	return 1e6 * seconds
}
