package deploy

import "cmp"

// Engine is the facts of a serving engine for a deployment, which package engine applies.
type Engine struct {
	Name  string // sglang, vllm, trtllm; none for the generic one; empty: no engine applied
	Title string
	Scheduling
}

// Policy is how prompts share steps with decoding sequences.
type Policy string

const (
	Chunks  Policy = "chunks"  // in chunks beside them
	First   Policy = "first"   // prompts first, while the others wait
	Prompts Policy = "prompts" // complete prompts beside them
)

// Scheduling is how a server batches requests into steps, and its overhead.
type Scheduling struct {
	Prefill    Policy `json:"prefill" required:"true" enum:"chunks,first,prompts"`
	StepTokens int    `json:"step_tokens" required:"true"` // that a step may hold
	Sequences  int    `json:"sequences" required:"true"`   // that may run at a time on a data-parallel rank
	// StepsAhead is the steps scheduled before the current one has ended.
	StepsAhead     int  `json:"steps_ahead" required:"true"`
	ReservesOutput bool `json:"reserves_output" required:"true"` // the cache has room for the whole output from the start
	ReservesPrompt bool `json:"reserves_prompt"`                 // the cache has room for all chunks of a prompt before the first
	// FindsPreempted: preempted requests find what nobody has needed since of their blocks.
	FindsPreempted bool `json:"finds_preempted"`
	// PipelinesChunks: chunks of a prompt follow one another through the stages of a pipeline;
	// otherwise each waits until the one before has left.
	PipelinesChunks bool `json:"pipelines_chunks" required:"true"`
	// PollSteps is the steps between two polls for new requests, if set; 0 for 1.
	PollSteps int `json:"poll_steps"`
	// WaitSteps is how long prompts wait to fill a step while others decode, if set; BalanceSteps
	// how long data-parallel ranks of experts wait until each has a prompt.
	WaitSteps    int `json:"wait_steps"`
	BalanceSteps int `json:"balance_steps"`

	// FillsSteps: where prompts come first, the last of a step is cut to fill it.
	FillsSteps bool

	// ScattersPrompts: separate prefill servers give prompts to their data-parallel ranks at
	// random.
	ScattersPrompts bool `json:"scatters_prompts"`
	// FewestFirst: the data-parallel rank of a server that has the fewest requests takes a new one;
	// otherwise they take turns.
	FewestFirst bool `json:"fewest_first"`

	StepSeconds     float64 `json:"step_seconds" required:"true"`     // of the host, for each step
	SequenceSeconds float64 `json:"sequence_seconds" required:"true"` // and for each sequence in it, with drafts for each of its tokens
	// GroupSeconds per step, and GroupSequenceSeconds per sequence, for each further block table.
	GroupSeconds         float64 `json:"group_seconds" range:"[0,1]"`
	GroupSequenceSeconds float64 `json:"group_sequence_seconds" range:"[0,1]"`
	// HandedSeconds is added to the first step of a prompt for each of its tokens, cached or not,
	// which its worker makes an array of, and SentSeconds where several workers are sent them.
	HandedSeconds float64 `json:"handed_token_seconds" range:"[0,1]"`
	SentSeconds   float64 `json:"sent_token_seconds" range:"[0,1]"`
	// PreparedSeconds is added to a step that no other runs beside while it is prepared.
	PreparedSeconds float64 `json:"prepared_seconds" range:"[0,1]"`
	// DraftSeconds is added to a step with drafts that cannot be prepared during the previous one.
	DraftSeconds float64 `json:"draft_seconds" required:"true"`
	FrontEnd
	Compiling Compiling

	Memory Memory `json:"memory" required:"true"`
}

// Compiling is what a server that has just started compiles when requests first need it.
type Compiling struct {
	// Tile is the tokens of a tile of products of prompts, which are compiled in TileSeconds for
	// each number of tiles; 0: once for all.
	Tile        int     `json:"tile" range:"[0,65536]"`
	TileSeconds float64 `json:"tile_seconds" range:"[0,3600]"`
	// CutSeconds is what the first step waits for that has tokens of a prompt in the cache.
	CutSeconds float64 `json:"cut_seconds" range:"[0,3600]"`
	// Copies: the server has had copies of one prompt, all at once.
	Copies bool
}

// FrontEnd is the time of requests outside their steps.
type FrontEnd struct {
	FirstSeconds   float64 `json:"first_seconds" required:"true"`   // before a request is scheduled: HTTP, queue
	RequestSeconds float64 `json:"request_seconds" required:"true"` // of a front end for each request, one after another
	// TogetherSeconds of a front end for each request before that: all that are there are through
	// before any goes on.
	TogetherSeconds float64
	// TokenSeconds per prompt token before scheduling, which other requests wait for.
	TokenSeconds float64 `json:"token_seconds" required:"true"`
	// HandoverSeconds replaces FirstSeconds for separate pools: the router, both servers and the
	// way between them, besides the transfer.
	HandoverSeconds float64 `json:"handover_seconds" required:"true"`
	// AnswerSeconds of a front end for each sequence of a step, whose new tokens it passes on
	// before those of the next step; 0: not known.
	AnswerSeconds float64 `json:"answer_seconds" range:"[0,1]"`
	// WaveSeconds delays the first step of a cold server with several prompts, for which it
	// compiles kernels. Warm servers have none.
	WaveSeconds float64 `json:"wave_seconds" required:"true"`
}

// ServerOptions is the launch settings of a server that replace defaults of the engine; 0: default.
type ServerOptions struct {
	StepTokens, Sequences, PollSteps, WaitSteps, BalanceSteps int
	// MemoryShare is the share of the memory that a server takes, as its engine counts it.
	MemoryShare float64
	// Captured is the largest captured decode step of a rank, as the engine counts it.
	Captured int
	// CapturedPrompts is the tokens of the largest captured step with prompts.
	CapturedPrompts int
	// ChunkedPrefill, if 1: prompts are cut to fill steps where the engine would wait for room, or
	// let others wait.
	ChunkedPrefill int
	// Products is the kernels of 8-bit block-scaled products, by the engine's name, if set.
	Products string
	// Exchange is how tokens of data-parallel ranks reach their experts, by the engine's name;
	// "none": they are gathered; empty: its choice. PrefillExchange is that of prefill servers.
	Exchange, PrefillExchange string
	// SharedApart: shared experts do not run among the routed ones.
	SharedApart bool
	// Unprepared: the host does not prepare a step with drafts during the previous one.
	Unprepared bool
	// FillsSteps: the last prompt of a step is cut to fill it.
	FillsSteps bool
	// Warmed: the server has had a load of this kind before; Copied: copies of one prompt.
	Warmed, Copied bool
	// Chat: requests are messages, of which the server makes prompts.
	Chat bool
	// Attention is the attention backend, or that of one phase.
	Attention, PrefillAttention, DecodeAttention string
}

// Backend is the attention backend of a phase; empty: the engine's.
func (t *ServerOptions) Backend(prefill bool) string {
	if prefill {
		return cmp.Or(t.PrefillAttention, t.Attention)
	}
	return cmp.Or(t.DecodeAttention, t.Attention)
}

func (t *ServerOptions) Gathers(r Role) (gathers, set bool) {
	name := t.Exchange
	if r == Prefill {
		name = cmp.Or(t.PrefillExchange, name)
	}
	return name == "none", name != ""
}

// Of applies the settings to the scheduling of a server.
func (t *ServerOptions) Of(s Scheduling) Scheduling {
	s.StepTokens, s.Sequences = cmp.Or(t.StepTokens, s.StepTokens), cmp.Or(t.Sequences, s.Sequences)
	s.PollSteps, s.WaitSteps, s.BalanceSteps = cmp.Or(t.PollSteps, s.PollSteps), cmp.Or(t.WaitSteps, s.WaitSteps), cmp.Or(t.BalanceSteps, s.BalanceSteps)
	if t.ChunkedPrefill > 0 {
		s.Prefill = Chunks
	}
	return s
}

// Drafting is the scheduling of steps with drafts, each of which takes cache and host time.
func (s *Scheduling) Drafting(drafts int) *Scheduling {
	if drafts == 0 {
		return s
	}
	out := *s
	out.StepSeconds += s.DraftSeconds
	out.SequenceSeconds *= float64(1 + drafts)
	return &out
}

func (s *Scheduling) Host(sequences float64) float64 {
	return s.StepSeconds + sequences*s.SequenceSeconds
}

// Alone is the host time of a step without prompts beside it: of sequences with this many block
// tables.
func (s *Scheduling) Alone(sequences float64, groups int) float64 {
	return s.Host(sequences) + float64(groups-1)*(s.GroupSeconds+sequences*s.GroupSequenceSeconds)
}

// Handing is what the host of a step with new prompts takes besides, with no other step under way:
// the scheduler hands their tokens to its workers.
func (s *Scheduling) Handing(tokens float64, workers int) float64 {
	each := s.HandedSeconds
	if workers > 1 {
		each += s.SentSeconds
	}
	return s.PreparedSeconds + tokens*each
}

// Delay adds to the time of requests outside their steps, or subtracts from it.
func (f *FrontEnd) Delay(seconds float64) {
	f.FirstSeconds, f.HandoverSeconds = max(0, f.FirstSeconds+seconds), max(0, f.HandoverSeconds+seconds)
}

// Chunk is the most prompt tokens of one step.
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

// PerStep is how many complete prompts a step holds.
func (s *Scheduling) PerStep(input int) int { return max(1, s.StepTokens/input) }

// Entry is the time before a request is scheduled. HandoverSeconds has the rest for separate pools.
func (f *FrontEnd) Entry(tokens int, split bool) float64 {
	read := float64(tokens) * f.TokenSeconds
	if split {
		return read
	}
	return f.FirstSeconds + read
}

// Cold is the extra time of a server's first step with several prompts, in HandoverSeconds if
// split.
func (f *FrontEnd) Cold(split bool) float64 {
	if split {
		return 0
	}
	return f.WaveSeconds
}

// Each is how long a request keeps a front end busy, which others wait for.
func (f *FrontEnd) Each(tokens int) float64 {
	return f.RequestSeconds + float64(tokens)*f.TokenSeconds
}
