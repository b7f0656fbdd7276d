package engine

import (
	"cmp"
	"throughline/deploy"
	"throughline/hardware"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// unit is one server in the terms that engines share. Replicas that exchange nothing are separate
// servers: copies of a dense model, and the attention replicas around each copy of the experts.
type unit struct {
	*deploy.Deployment
	Shape *model.Model
	Role  deploy.Role
	Plan  *plan.Plan

	moe     bool
	maker   string // of the chips
	servers int    // of the deployment
	fits    bool   // the experts fill entire attention replicas of a stage

	dp, pp, tp, cp int // attention, in this server
	ep, etp        int // experts of a stage
	ranks          int // of a stage
	procs          int
	nodes          int
	perNode        int     // processors of a node
	batch          int     // sequences in flight on one attention replica
	step           int     // of these, the ones in one pass: all without a pipeline
	tokens         int     // per step of an attention replica, as priced
	share          float64 // of the memory
	drafted        int     // draft tokens per step, here or in the decode servers behind

	weights, cache string // number formats; may be empty

	attention, prefillAttention, decodeAttention string // the engine's names of requested backends

	quantization, cacheType string // values of the engine's options; may be empty
	checkpoint              string // empty: unknown
	placed                  bool   // script variables give its address and devices
}

// shape is the unit of a pool, passed by value so that checking refusals allocates nothing.
func shape(d *deploy.Deployment, p *deploy.Pool) unit {
	a, x := p.Plan.Attention, p.Plan.Experts
	u := unit{
		Deployment: d, Shape: d.Model, Role: p.Role, Plan: &p.Plan, moe: d.Model.IsMoE(),
		dp: max(1, a.DP), pp: max(1, a.PP), tp: max(1, a.TP), cp: a.Context(), ep: 1, etp: 1,
		weights: weightFormat(&d.Precision), cache: cacheFormat(d.Precision.Cache),
	}
	if p.System != nil {
		u.maker = p.System.Maker
	}
	split := u.dp // every replica of a dense model is a server
	u.fits = true
	if u.moe {
		u.ep, u.etp = max(1, x.EP), max(1, x.TP)
		replica := u.tp * u.cp
		split = max(1, u.dp*replica/(u.ep*u.etp))
		u.fits = u.ep*u.etp*split == u.dp*replica && u.dp%split == 0
	}
	u.dp = max(1, u.dp/split)
	u.servers = max(1, p.Count) * split
	u.ranks = u.dp * u.tp * u.cp
	u.procs = u.ranks * u.pp
	u.perNode = cmp.Or(d.GPUsPerNode, hardware.NodeSize)
	u.nodes = (u.procs + u.perNode - 1) / u.perNode
	u.drafted = p.Plan.Drafts
	if decode := d.Of(op.Decode); decode != nil {
		u.drafted = max(u.drafted, decode.Plan.Drafts) // prefill servers compute the cache of the draft layers, too
	}
	u.step = p.Plan.Sequences(u.moe)
	u.batch = max(1, p.Plan.Batch.Count) * p.Plan.InFlight() * u.step
	if u.pp == 1 {
		u.step = u.batch
	}
	return u
}

// replica is the processors of one attention replica.
func (u unit) replica() int { return u.pp * u.tp * u.cp }

// drafting is the tokens of a sequence in a decode step.
func (u unit) drafting() int { return 1 + u.Plan.Drafts }

// weightFormat names the number format of weights by their bytes and type, unless it has a name.
func weightFormat(p *plan.Precision) string {
	bytes, matrix := p.Weight, p.MatrixType
	switch {
	case p.Name != "":
		return p.Name
	case bytes == 2:
		return "bf16"
	case bytes == 1 && matrix == "int8":
		return "int8"
	case bytes == 1:
		return "fp8"
	case bytes == 0.5 && matrix == "float4":
		return "fp4"
	case bytes == 0.5:
		return "int4"
	}
	return ""
}

func cacheFormat(bytes float64) string {
	switch {
	case bytes == 2:
		return "bf16"
	case bytes == 1:
		return "fp8"
	case bytes == 34./32:
		return "q8_0"
	case bytes < 1:
		return "fp4"
	}
	return ""
}

// The conditions of options, limits and remarks.

func always(unit) bool           { return true }
func piped(u unit) bool          { return u.pp > 1 }
func replicated(u unit) bool     { return u.dp > 1 }
func spread(u unit) bool         { return u.ep > 1 }
func dispatched(u unit) bool     { return u.ep > 1 && u.dp > 1 && u.etp == 1 }
func sliced(u unit) bool         { return u.ep > 1 && u.etp > 1 }
func contextual(u unit) bool     { return u.cp > 1 }
func sequential(u unit) bool     { return u.Plan.SequenceParallel && u.tp > 1 }
func drafts(u unit) bool         { return u.Plan.Drafts > 0 }
func polls(u unit) bool          { return u.ServerOptions.PollSteps > 1 }
func cutsPrompts(u unit) bool    { return u.ServerOptions.ChunkedPrefill > 0 }
func waits(u unit) bool          { return u.dp == 1 && u.ServerOptions.WaitSteps > 0 }
func balances(u unit) bool       { return u.dp > 1 && u.ServerOptions.BalanceSteps > 0 }
func speculates(u unit) bool     { return u.drafted > 0 }
func placed(u unit) bool         { return u.placed }
func bare(u unit) bool           { return !u.placed }
func twoBatch(u unit) bool       { return u.Plan.Overlap == plan.TwoBatch }
func singleBatch(u unit) bool    { return u.Plan.Overlap == plan.SingleBatch }
func overlaps(u unit) bool       { return u.Plan.Overlap != plan.NoOverlap }
func redundant(u unit) bool      { return u.Plan.Redundant > 0 }
func split(u unit) bool          { return u.Role != deploy.Both }
func prefills(u unit) bool       { return u.Role == deploy.Prefill }
func decodes(u unit) bool        { return u.Role == deploy.Decode }
func graphs(u unit) bool         { return u.Role != deploy.Prefill }
func limitsGraphs(u unit) bool   { return graphs(u) && u.ServerOptions.Captured > 0 }
func chooses(u unit) bool        { return u.attention != "" }
func choosesPrefill(u unit) bool { return u.prefillAttention != "" }
func choosesDecode(u unit) bool  { return u.decodeAttention != "" }
func manyNodes(u unit) bool      { return u.nodes > 1 }
func latent(u unit) bool         { return u.Shape.Attention.Kind == model.Latent }
func batched(u unit) bool        { return u.batch > 0 }
func hasContext(u unit) bool     { return u.MaxContext > 0 }
func hasLimit(u unit) bool       { return hasContext(u) && u.Shape.Positions > 0 }
func hasFraction(u unit) bool    { return u.share > 0 }
func computes(u unit) bool       { return u.Role != deploy.Decode }
func quantized(u unit) bool      { return u.quantization != "" }
func narrowCache(u unit) bool    { return u.cacheType != "" && u.cache != "bf16" }
func both(a, b func(unit) bool) func(unit) bool {
	return func(u unit) bool { return a(u) && b(u) }
}

// captured is the largest captured step in the engine's unit: as set, or all steps.
func captured(u unit) int { return cmp.Or(u.ServerOptions.Captured, u.step) }
