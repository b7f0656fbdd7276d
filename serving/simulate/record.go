package simulate

import (
	"throughline/deploy"
)

// Record is what a run was like.
type Record struct {
	Requests        int64 // that have ended
	Input, Output   int64 // tokens of these
	Computed        int64 // prompt tokens that were computed, again ones included
	Start, End      float64
	LastArrival     float64
	TTFT, TPOT, E2E Distribution // of requests
	ITL             Distribution // of tokens
	Queued          Distribution // from arrival to the first step
	Preemptions     int64
	Steps           int64
	Kinds           [3]int64 // steps that prefill, do both, decode
	Pools           []PoolRecord
	PeakBlocks      int // of a rank
	HitTokens       int64
	AskedTokens     int64 // of prompts, that might have been hits

	Residence float64 // seconds that requests were in the system, summed
	Present   float64 // integral of the requests in the system over time

	First BatchMeans // of the times to first tokens, in the order of ends
	Whole BatchMeans // of the times of requests

	Trend Trend // of what arriving requests found

	Good     int64     // requests that kept all limits
	Timeline *Timeline // nil: none

	each     func(*Ended)
	limits   Limits
	present  int64
	presentT float64
}

// PoolRecord is what the servers of a pool did.
type PoolRecord struct {
	Role           deploy.Role
	Servers, Ranks int // ranks of all servers
	Blocks         int // of the cache of a rank
	Busy           float64
	Steps          float64              // seconds of the steps of all ranks
	Cache          float64              // of them, times the share of the cache that was used
	PeakCache      float64              // the largest share
	Waits          [reasonCount]float64 // of them, those in which requests waited, by the reason
}

// Limits are those that a request keeps to be counted as good, in seconds; 0: none.
type Limits struct{ TTFT, TPOT, E2E float64 }

// Ended is a request that has ended.
type Ended struct {
	ID                                int64
	Arrival, Scheduled, First, Finish float64
	Input, Output, Preemptions        int
	Client, Server                    int // where it ended
}

func newRecord(o *Options) *Record {
	r := &Record{each: o.Each, limits: o.Limits}
	for i := range o.Pools {
		p := &o.Pools[i]
		r.Pools = append(r.Pools, PoolRecord{Role: p.Role, Servers: p.Servers, Ranks: p.Servers * p.Ranks, Blocks: p.Policy.Blocks})
	}
	if o.Every > 0 {
		r.Timeline = &Timeline{Every: o.Every}
	}
	return r
}

// arrived notes a request.
func (r *Record) arrived(q *Request, waiting int64) {
	r.moved(q.Arrival)
	r.Trend.add(q.Arrival, float64(r.present), float64(waiting))
	r.present++
	r.LastArrival = max(r.LastArrival, q.Arrival)
}

// moved notes that the number of requests in the system changes.
func (r *Record) moved(t float64) {
	if t > r.presentT {
		r.Present += float64(r.present) * (t - r.presentT)
		r.presentT = t
	}
}

func (r *Record) token(gap float64, count int) { r.ITL.Add(gap, count) }

// step notes a step that starts.
func (r *Record) step(s *server) {
	r.Steps++
	seconds := s.at - s.start
	pool := &r.Pools[s.which]
	pool.Busy += seconds
	kind := 0
	for _, k := range s.ranks {
		if !k.decodes && len(k.chunks) == 0 {
			continue
		}
		r.Preemptions += int64(k.preempted)
		for i := range k.work.Chunks {
			r.Computed += int64(k.work.Chunks[i].New)
		}
		r.PeakBlocks = max(r.PeakBlocks, k.used)
		share := float64(k.used) / float64(pool.Blocks)
		pool.PeakCache = max(pool.PeakCache, share)
		pool.Steps += seconds
		pool.Cache += share * seconds
		pool.Waits[k.blocked] += seconds
		if k.decodes {
			kind |= 1
		}
		if len(k.chunks) > 0 {
			kind |= 2
		}
	}
	switch kind {
	case 1:
		r.Kinds[2]++
	case 2:
		r.Kinds[0]++
	default:
		r.Kinds[1]++
	}
	if r.Timeline != nil {
		r.Timeline.step(s)
	}
}

func (r *Record) endStep(_ *server, t float64) { r.End = max(r.End, t) }

// ended notes the end of a request.
func (r *Record) ended(j *job, t float64) {
	r.moved(t)
	r.present--
	r.Requests++
	r.End = max(r.End, t)
	r.Input += int64(j.Input)
	r.Output += int64(j.Output)
	first, whole := j.first-j.Arrival, t-j.Arrival
	r.Residence += whole
	r.TTFT.Add(first, 1)
	r.E2E.Add(whole, 1)
	r.Queued.Add(j.scheduled-j.Arrival, 1)
	r.First.Add(first)
	r.Whole.Add(whole)
	tpot := 0.0
	if j.Output > 1 {
		tpot = (t - j.first) / float64(j.Output-1)
		r.TPOT.Add(tpot, 1)
	}
	l := &r.limits
	if (l.TTFT == 0 || first <= l.TTFT) && (l.TPOT == 0 || tpot <= l.TPOT) && (l.E2E == 0 || whole <= l.E2E) {
		r.Good++
	}
	if r.each != nil {
		r.each(&Ended{ID: j.id, Arrival: j.Arrival, Scheduled: j.scheduled, First: j.first, Finish: t, Input: j.Input, Output: j.Output,
			Preemptions: j.preemptions, Client: j.Client, Server: j.home.server.index})
	}
}

// dropped notes that a request left before its end.
func (r *Record) dropped(t float64) {
	r.moved(t)
	r.present--
}

// close completes the record when all has ended.
func (r *Record) close(run *run) {
	for _, s := range run.servers {
		for _, k := range s.ranks {
			if k.prefix != nil {
				r.HitTokens += k.prefix.hits
				r.AskedTokens += k.prefix.asked
			}
		}
	}
}

// Duration is the time from the start of the run to its end.
func (r *Record) Duration() float64 { return r.End - r.Start }

// Busy is the share of the time in which the servers of a pool were busy.
func (r *Record) Busy(pool int) float64 {
	p := &r.Pools[pool]
	return p.Busy / (r.Duration() * float64(p.Servers))
}
