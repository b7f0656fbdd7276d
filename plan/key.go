package plan

// Key identifies how a plan lays a model out over processors. Two plans with the same key are the same deployment,
// whichever engine runs it. The rest of a Plan is either behaviour, which an engine or the load decides, or a variant of
// the layout (batch, redundant experts, overlap), of which a search keeps the best.
type Key struct {
	Attention           Layout
	Experts             ExpertLayout
	SharedReplicas      int
	SharedPerCard       bool
	SequenceParallel    bool
	Drafts              int
	WideDense, WideHead bool
	Pipelined           bool
}

// Key is the layout of the plan.
func (p *Plan) Key() Key {
	return Key{
		Attention: p.Attention, Experts: p.Experts, SharedReplicas: p.SharedReplicas, SharedPerCard: p.SharedPerCard,
		SequenceParallel: p.SequenceParallel, Drafts: p.Drafts, WideDense: p.WideDense, WideHead: p.WideHead, Pipelined: p.Pipelined,
	}
}
