package deploy

import "cmp"

// Engine is the facts of a serving engine that hold for a deployment. Package engine knows them and applies them.
type Engine struct {
	Name  string // sglang, vllm, trtllm; none for the generic one; empty where no engine has been applied
	Title string
	Scheduling
}

// Policy is how prompts share the steps of a server with the sequences that decode.
type Policy string

const (
	Chunks  Policy = "chunks"  // in chunks beside them
	First   Policy = "first"   // prompts first, while the others wait
	Prompts Policy = "prompts" // whole prompts beside them
)

// Scheduling is how a server of an engine puts requests together in steps, and the time it takes besides that of the
// processors.
type Scheduling struct {
	Prefill    Policy `json:"prefill" required:"true" enum:"chunks,first,prompts"`
	StepTokens int    `json:"step_tokens" required:"true"` // that a step may hold
	Sequences  int    `json:"sequences" required:"true"`   // that may run at a time on a data-parallel rank
	// StepsAhead is the steps that are scheduled before the one under way has ended: a request that comes meanwhile is not
	// among them.
	StepsAhead     int  `json:"steps_ahead" required:"true"`
	ReservesOutput bool `json:"reserves_output" required:"true"` // the cache has room for the whole output from the start
	// PipelinesChunks: the chunks of a prompt follow one another through the stages of a pipeline; otherwise each waits until
	// the one before has passed them all.
	PipelinesChunks bool `json:"pipelines_chunks" required:"true"`
	// PollSteps is the steps between two looks for new requests, where the server is told so; 0 for 1.
	PollSteps int `json:"poll_steps"`
	// WaitSteps is the steps for which prompts wait for others to fill a step while some decode, where the server is told so.
	// BalanceSteps is those for which the data-parallel ranks of experts wait until each of them has a prompt.
	WaitSteps    int `json:"wait_steps"`
	BalanceSteps int `json:"balance_steps"`

	StepSeconds     float64 `json:"step_seconds" required:"true"`     // of the host, for each step
	SequenceSeconds float64 `json:"sequence_seconds" required:"true"` // and for each sequence in it, with drafts for each of its tokens
	// GroupSeconds and GroupSequenceSeconds are what it adds to a step, and for each sequence in it, for each further table of blocks that
	// a sequence has.
	GroupSeconds         float64 `json:"group_seconds" range:"[0,1]"`
	GroupSequenceSeconds float64 `json:"group_sequence_seconds" range:"[0,1]"`
	// CachedSeconds is what it adds for each token of a prompt that is found in the prefix cache, in the first step of the prompt.
	CachedSeconds float64 `json:"cached_token_seconds" range:"[0,1]"`
	// DraftSeconds is what the host adds to a step with drafts, which it cannot prepare while the one before runs.
	DraftSeconds float64 `json:"draft_seconds" required:"true"`
	FrontEnd

	Memory Memory `json:"memory" required:"true"`
}

// FrontEnd is the time that requests take besides that of the steps they are in.
type FrontEnd struct {
	FirstSeconds   float64 `json:"first_seconds" required:"true"`   // before a request is scheduled: HTTP, queue
	RequestSeconds float64 `json:"request_seconds" required:"true"` // for each of many requests that come at once, one after another
	// TokenSeconds is for each token of a prompt before it is scheduled; requests that come at once wait for those of the others.
	TokenSeconds float64 `json:"token_seconds" required:"true"`
	// HandoverSeconds is what servers of one phase take in place of FirstSeconds: the router, both servers and the way between
	// them, besides the transfer.
	HandoverSeconds float64 `json:"handover_seconds" required:"true"`
	// WaveSeconds is what the first requests of a run wait besides, which all come at once to a server that has seen no such steps:
	// it compiles and tunes kernels for them. WaveRequestSeconds is what each of them adds to the wait of the next. A server that has
	// served for a while takes neither.
	WaveSeconds        float64 `json:"wave_seconds" required:"true"`
	WaveRequestSeconds float64 `json:"wave_request_seconds" required:"true"`
}

// Told is what a server is told of its scheduling, in place of what the engine has by itself; 0: nothing.
type Told struct {
	StepTokens, Sequences, PollSteps, WaitSteps, BalanceSteps int
	// MemoryShare is the share of the memory that a server takes, in what its engine counts.
	MemoryShare float64
	// Captured is the largest decode step of a data-parallel rank that is captured as a graph, in what the engine counts.
	Captured int
	// CapturedPrompts is the tokens of the largest step with prompts that is.
	CapturedPrompts int
	// Products is the kernels of products of blocks of 8 bits, as the engine calls them; empty: those that it chooses.
	Products string
	// Exchange is how tokens of data-parallel ranks come to their experts, as the engine calls it; "none": they are gathered; empty: as the
	// engine does it. PrefillExchange is that of servers that prefill alone.
	Exchange, PrefillExchange string
	// SharedApart: shared experts are not run among the routed ones.
	SharedApart bool
	// Unprepared: the host does not prepare a step with drafts while the one before runs.
	Unprepared bool
	// Attention is the attention backend, of one phase where that is told apart.
	Attention, PrefillAttention, DecodeAttention string
}

// Backend is the attention backend of a phase; empty: the engine's.
func (t *Told) Backend(prefill bool) string {
	if prefill {
		return cmp.Or(t.PrefillAttention, t.Attention)
	}
	return cmp.Or(t.DecodeAttention, t.Attention)
}

// Gathers is whether the servers of a pool are told to gather the tokens of data-parallel ranks, and whether they are told anything.
func (t *Told) Gathers(r Role) (gathers, told bool) {
	name := t.Exchange
	if r == Prefill {
		name = cmp.Or(t.PrefillExchange, name)
	}
	return name == "none", name != ""
}

// Of is the rules of a server that is told so.
func (t *Told) Of(s Scheduling) Scheduling {
	s.StepTokens, s.Sequences = cmp.Or(t.StepTokens, s.StepTokens), cmp.Or(t.Sequences, s.Sequences)
	s.PollSteps, s.WaitSteps, s.BalanceSteps = cmp.Or(t.PollSteps, s.PollSteps), cmp.Or(t.WaitSteps, s.WaitSteps), cmp.Or(t.BalanceSteps, s.BalanceSteps)
	return s
}

// Drafting is the rules of steps with so many drafts: each of them has a place in the cache and is looked at when it has been
// verified, as the token before them.
func (s *Scheduling) Drafting(drafts int) *Scheduling {
	if drafts == 0 {
		return s
	}
	out := *s
	out.StepSeconds += s.DraftSeconds
	out.SequenceSeconds *= float64(1 + drafts)
	return &out
}

// Host is what the host adds to a step of so many sequences.
func (s *Scheduling) Host(sequences float64) float64 {
	return s.StepSeconds + sequences*s.SequenceSeconds
}

// Alone is what the host adds to a step that no other runs beside: of so many sequences with so many tables of blocks, whose prompts
// have found so many tokens in the prefix cache.
func (s *Scheduling) Alone(sequences, cached float64, groups int) float64 {
	further := float64(groups - 1)
	return s.Host(sequences) + further*(s.GroupSeconds+sequences*s.GroupSequenceSeconds) + cached*s.CachedSeconds
}

// Delay adds to the time that requests take besides their steps, or takes it away.
func (f *FrontEnd) Delay(seconds float64) {
	f.FirstSeconds, f.HandoverSeconds = max(0, f.FirstSeconds+seconds), max(0, f.HandoverSeconds+seconds)
}

// Chunk is the tokens of a prompt that one step computes at most.
func (s *Scheduling) Chunk(input int) int {
	if s.Prefill == Prompts {
		return input
	}
	return min(input, s.StepTokens)
}

// Cuts is how many steps a prompt takes.
func (s *Scheduling) Cuts(input int) int {
	chunk := s.Chunk(input)
	return (input + chunk - 1) / chunk
}

// PerStep is how many whole prompts a step holds at most.
func (s *Scheduling) PerStep(input int) int { return max(1, s.StepTokens/input) }

// Entry is the time before a request with a prompt of so many tokens is scheduled. What servers of one phase take besides is in
// HandoverSeconds.
func (f *FrontEnd) Entry(tokens int, split bool) float64 {
	read := float64(tokens) * f.TokenSeconds
	if split {
		return read
	}
	return f.FirstSeconds + read
}

// Cold is what the first requests of a run wait besides, once and for each of them before. The former of servers of one phase is in
// HandoverSeconds.
func (f *FrontEnd) Cold(split bool) (once, each float64) {
	if split {
		return 0, f.WaveRequestSeconds
	}
	return f.WaveSeconds, f.WaveRequestSeconds
}

// Each is what each of many requests that come at once adds to that of the next.
func (f *FrontEnd) Each(tokens int) float64 {
	return f.RequestSeconds + float64(tokens)*f.TokenSeconds
}
