package simulate

import (
	"cmp"
	"slices"
)

// pipe is the stages of a pipeline. Each of the batches that go round it is a server here; all of them pass the same stages, one
// behind the other.
//
// A step takes pass seconds through all stages by itself, and pace seconds of the slowest of them. With as long in every stage, a step
// that enters at t leaves at max(t + pass, the last + pace), whatever is before it: where it has caught up with a longer one it follows
// that to the end. With unequal stages that is so for equal steps, of which m under way take max(pass, m · pace) each.
type pipe struct {
	stages int
	chunks bool      // those of a prompt follow one another through the stages
	enters float64   // when the first stage is free
	leaves float64   // when the last step leaves the last stage
	line   []*server // that wait for the first stage, in the order in which they came
}

// mayEnter reports whether the first stage of its pipeline is free for a server; if not, the server waits in the line for it.
func (r *run) mayEnter(s *server, t float64) bool {
	p := s.pipe
	if p == nil {
		return true
	}
	if !slices.Contains(p.line, s) {
		p.line = append(p.line, s)
	}
	if p.line[0] != s {
		return false // whoever is before it calls it
	}
	if p.enters > t {
		s.at = p.enters
		r.schedule(s)
		return false
	}
	return true
}

// leaveLine takes a server from the line, and calls the next.
func (r *run) leaveLine(s *server, t float64) {
	p := s.pipe
	if p == nil {
		return
	}
	i := slices.Index(p.line, s)
	if i < 0 {
		return
	}
	p.line = slices.Delete(p.line, i, i+1)
	if i == 0 && len(p.line) > 0 {
		p.line[0].at = max(t, p.enters)
		r.schedule(p.line[0])
	}
}

// enter lets a step into the first stage, and tells when it leaves the last.
func (p *pipe) enter(t, pass, pace float64) float64 {
	p.enters, p.leaves = t+pace, max(t+pass, p.leaves+pace)
	return p.leaves
}

// seconds is how long the step that the ranks of a server are about to start takes, and in a pipeline how long it keeps the slowest stage
// busy. The host is as busy with every stage as with the others.
func (s *server) seconds() (pass, pace float64) {
	mean, stages := s.meanTokens(), 1
	if s.pipe != nil {
		stages = s.pipe.stages
	}
	for _, k := range s.ranks {
		if k.work.Absent = 0; s.pool.Shares && len(k.chunks) > 0 {
			k.work.Absent = float64(k.work.Tokens()) - mean
		}
		if !k.decodes && len(k.chunks) == 0 {
			continue
		}
		host := k.rules.Host(float64(k.work.Sequences())) + k.extra
		k.work.Under = stages
		one := s.pool.Times.Seconds(&k.work) + host
		pace = max(pace, one/float64(stages))
		if stages > 1 {
			k.work.Under = 1
			one = s.pool.Times.Seconds(&k.work) + host
		}
		pass = max(pass, one)
	}
	return pass, pace
}

// flight is a step that is still in the pipeline when its server starts another, with the next chunk of a prompt: what somebody waits for.
type flight struct {
	time   float64
	server *server
	ranks  []outcome
}

// outcome is what a step brings to a rank.
type outcome struct {
	decodes bool
	ended   []int32 // prompts
}

// goesOn reports whether the next chunk of a prompt may follow the step that was scheduled.
func (s *server) goesOn() bool {
	if s.pipe == nil || !s.pipe.chunks {
		return false
	}
	return slices.ContainsFunc(s.ranks, func(k *rank) bool { return k.partial != none })
}

// awaited reports whether somebody waits for the end of the step that was scheduled, not only for its chunks to be computed.
func (s *server) awaited() bool {
	return slices.ContainsFunc(s.ranks, func(k *rank) bool {
		return k.decodes || slices.ContainsFunc(k.work.Chunks, func(c Chunk) bool { return c.Ends })
	})
}

// depart leaves a step to the pipeline, which it leaves at a time. Its server goes on with the prompt that is partly done, or waits.
func (r *run) depart(s *server, leaves float64, goesOn bool) {
	awaited, f := s.awaited(), flight{time: leaves, server: s}
	for _, k := range s.ranks {
		o := k.computed()
		o.ended = slices.Clone(o.ended)
		f.ranks = append(f.ranks, o)
	}
	if awaited {
		s.flights++
		i := len(r.flights)
		for i > 0 && r.flights[i-1].time > leaves {
			i--
		}
		r.flights = slices.Insert(r.flights, i, f)
	}
	s.step++
	if goesOn {
		s.state, s.at = pausing, s.pipe.enters
		r.schedule(s)
	}
}

// land ends the first of the steps that were left to their pipelines.
func (r *run) land(t float64) {
	f := r.flights[0]
	r.flights = slices.Delete(r.flights, 0, 1)
	s := f.server
	r.record.endStep(s, t)
	for i, k := range s.ranks {
		k.bring(f.ranks[i], t, r)
	}
	if s.flights--; s.flights > 0 {
		return
	}
	if s.state == busy {
		r.between(s, t)
	} else if r.online != nil {
		r.online.stepEnded(s, t)
	}
}

// delay lets the steps of a server that were left to its pipeline end later.
func (r *run) delay(s *server, seconds float64) {
	for i := range r.flights {
		if r.flights[i].server == s {
			r.flights[i].time += seconds
		}
	}
	slices.SortStableFunc(r.flights, func(a, b flight) int { return cmp.Compare(a.time, b.time) })
}
