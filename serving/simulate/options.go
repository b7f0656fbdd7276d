package simulate

import (
	"errors"
	"fmt"

	"throughline/deploy"
)

// Pool is a number of equal servers.
type Pool struct {
	Role    deploy.Role
	Servers int
	Ranks   int // per server, data-parallel and in lockstep
	// Shares: ranks share experts, which have less to do where few ranks have prompts. Ranks of a
	// prefill pool count as equally loaded.
	Shares bool
	// Scatters: a prompt goes to one of the ranks of a server at random.
	Scatters bool
	// Fewest: it goes to the one with the fewest requests.
	Fewest bool
	// Stages of the pipeline that as many servers share, each a batch in flight; 0 means 1.
	Stages int

	Policy Policy
	Times  Times
	Power  *Power // nil: not known, nor limited
}

// Options of a run.
type Options struct {
	// Pools: one for both phases, or one for prefill and one for decode.
	Pools   []Pool
	Routing deploy.Routing

	// Servers that have been warm for a while have no first-wave delay. WaveSeconds applies to the
	// first step with several prompts, since a single one warms a server up.
	deploy.FrontEnd
	// Compiling is of servers that have just started; Copied is the tokens of the prompt that they
	// have had copies of.
	Compiling deploy.Compiling
	Copied    int
	FrontEnds int // that take in requests; 0 for 1

	// Transfer is how long the cache of a prompt occupies the link between pools, and what is left
	// of that after the prefill if the link is free. HandoverSeconds is added.
	Transfer func(tokens int) (busy, left float64)

	Longest int // of request and answer, in tokens; 0: unlimited

	// Nothing is recorded until the first Skip requests have all ended. Count ends the run as many
	// ends later, or twice as many, up to Most, as long as means still move; 0: when all have
	// ended.
	Skip, Count, Most int64
	// Shortens: prompts that no cache has room for are cut, where they would end the run.
	Shortens bool

	Seed  uint64
	Clock Clock       // of a single server; nil: steps follow each other
	Watch func(*Step) // called for every step once its end is known; may be nil

	Each   func(*Ended) // called for every ended request; may be nil
	Tokens func(Token)  // called for tokens as they come out; may be nil
	Limits Limits       // that a good request keeps
	Every  float64      // interval of the timeline in seconds; 0: none

	meansOnly bool // distributions are not kept
	waiting   int  // size of a rank's queue before its backlog; 0: waitingJobs
}

// Step of a rank.
type Step struct {
	Server, Rank int
	Index        int // among the steps of the server
	Start, End   float64
	Work         *Work
	Queued       int // waiting before the step was scheduled
	Waiting      int // waiting after
	Running      int // in the step, or waiting for it to end
	Blocks       int // in use, those of the step included
	Preempted    int
	Watts        float64 // of a processor of the server, on average over the step; 0: unknown
}

// Token is tokens of a request that come out together.
type Token struct {
	Client, Server, Count int
	Cached                int // prompt tokens found in the prefix cache when first scheduled
	Time                  float64
}

func (o *Options) check() error {
	if len(o.Pools) == 0 || len(o.Pools) > 2 {
		return errors.New("a deployment has one pool or two")
	}
	for i := range o.Pools {
		p := &o.Pools[i]
		switch {
		case p.Servers < 1 || p.Ranks < 1:
			return fmt.Errorf("the %s pool needs at least 1 replica of 1 rank, not %d of %d", p.Role, p.Servers, p.Ranks)
		case p.Stages > 1 && p.Servers%p.Stages != 0:
			return fmt.Errorf("%d batches in flight are none of pipelines of %d stages", p.Servers, p.Stages)
		case p.Policy.StepTokens < 1 || p.Policy.Sequences < 1 || p.Policy.BlockTokens < 1:
			return errors.New("steps, running requests and blocks must be at least 1")
		case p.Policy.Blocks < 1:
			return errors.New("the KV cache has no room for a block")
		}
	}
	return nil
}
