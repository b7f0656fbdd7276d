package simulate

import (
	"throughline/deploy"
)

// Record is what clients saw of a run, and what the servers did.
type Record struct {
	Summary
	Computed     int64        // prompt tokens, recomputed ones included
	Queued       Distribution // from arrival to the first step
	Preemptions  int64
	Steps        int64
	Sending      float64  // seconds of front ends, for answers
	Kinds        [3]int64 // prefill only, mixed, decode only
	Pools        []PoolRecord
	senders      int // front ends
	PeakBlocks   int // of a rank
	HitTokens    int64
	LookupTokens int64 // looked up in the prefix cache
	LoadedTokens int64 // of those found, loaded from the host

	Energy   *Energy   // nil: not asked for, or not known
	Timeline *Timeline // may be nil

	each func(*Ended)
}

// PoolRecord is what the servers of a pool did.
type PoolRecord struct {
	Role           deploy.Role
	Servers, Ranks int // ranks over all servers
	Blocks         int // per rank
	Busy           float64
	Steps          float64              // seconds, over all ranks
	Cache          float64              // of them, weighted by the used share of the cache
	PeakCache      float64              // largest used share
	Waits          [reasonCount]float64 // of them, those in which requests waited, by reason
}

func newRecord(o *Options) *Record {
	r := &Record{Summary: Summary{Limits: o.Limits}, each: o.Each}
	for _, d := range [...]*Distribution{&r.TTFT, &r.TPOT, &r.E2E, &r.ITL, &r.Queued} {
		d.means = o.meansOnly
	}
	for i := range o.Pools {
		p := &o.Pools[i]
		r.senders += p.Servers / max(1, p.Stages)
		r.Pools = append(r.Pools, PoolRecord{Role: p.Role, Servers: p.Servers, Ranks: p.Servers * p.Ranks, Blocks: p.Policy.Blocks})
	}
	if watts, known := o.waitingWatts(); known {
		r.Energy = &Energy{Waiting: watts}
		for i := range o.Pools {
			r.Energy.Procs += float64(o.Pools[i].Servers*o.Pools[i].Ranks) * o.Pools[i].Power.Procs
		}
	}
	if o.Every > 0 {
		r.Timeline = &Timeline{Every: o.Every}
	}
	return r
}

// restart forgets all before.
func (r *Record) restart(o *Options, t float64) {
	present := r.present
	*r = *newRecord(o)
	r.Start, r.End, r.present, r.presentT = t, t, present, t
	if r.Timeline != nil {
		r.Timeline.From = t
	}
}

// step records the start of a step.
func (r *Record) step(s *server) {
	r.Steps++
	seconds := s.works
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
		if share > pool.PeakCache { // the built-in max is slower
			pool.PeakCache = share
		}
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
	if r.Energy != nil {
		r.Energy.More += s.joules
		r.Energy.Worked += s.worked
		r.Energy.Beyond = max(r.Energy.Beyond, s.beyond)
	}
	if r.Timeline != nil {
		r.Timeline.step(s)
	}
}

func (r *Record) endStep(_ *server, t float64) { r.End = max(r.End, t) }

// ended records the end of a request.
func (r *Record) ended(j *job, t float64) {
	e := Ended{ID: j.id, Arrival: j.Arrival, Scheduled: j.scheduled, First: j.first, Finish: t, Input: j.Input, Output: j.Output,
		Preemptions: j.preemptions, Client: j.Client, Server: j.home.server.index}
	r.Ended(&e)
	r.Queued.Add(j.scheduled-j.Arrival, 1)
	if r.each != nil {
		e := e // a request that nobody asks for stays off the heap
		e.Began, e.Ended = j.began.place(), j.home.place()
		r.each(&e)
	}
}

// dropped records a request that left early.
func (r *Record) dropped(t float64) {
	r.moved(t)
	r.present--
}

// close completes the record.
func (r *Record) close(run *run) {
	for _, s := range run.servers {
		for _, k := range s.ranks {
			if k.prefix != nil {
				r.HitTokens += k.prefix.hits
				r.LookupTokens += k.prefix.lookups
				r.LoadedTokens += k.prefix.loaded
			}
		}
	}
}

// Busy is the share of the time in which the servers of a pool worked.
func (r *Record) Busy(pool int) float64 {
	p := &r.Pools[pool]
	return p.Busy / (r.Duration() * float64(p.Servers))
}
