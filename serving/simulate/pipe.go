package simulate

import (
	"cmp"
	"slices"

	"throughline/cost"
)

// pipe is the stages of a pipeline. Each batch in flight is a server; all pass the same stages.
//
// A step alone takes pass seconds through all stages, and pace seconds in the slowest. With equal
// stages, one that enters at t leaves at max(t + pass, the last + pace), as it cannot overtake.
// With unequal stages that holds for equal steps: m of them take max(pass, m · pace) each.
type pipe struct {
	stages int
	chunks bool      // chunks of a prompt follow one another through the stages
	enters float64   // when the first stage is free
	leaves float64   // when the last stage is free
	sends  float64   // when its front end is
	line   []*server // waiting for the first stage, in order of arrival
	drawn  []average // of a stage's processors
}

// mayEnter reports whether the first stage is free for a server, which otherwise queues for it.
func (r *run) mayEnter(s *server, t float64) bool {
	p := s.pipe
	if p == nil {
		return true
	}
	if !slices.Contains(p.line, s) {
		p.line = append(p.line, s)
	}
	if p.line[0] != s {
		return false // the one before it wakes it
	}
	if p.enters > t {
		s.at = p.enters
		r.schedule(s)
		return false
	}
	return true
}

// leaveLine takes a server off the queue and wakes the next.
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

// enter admits a step to the first stage and returns when it leaves the last.
func (p *pipe) enter(t, pass, pace float64) float64 {
	p.enters, p.leaves = t+pace, max(t+pass, p.leaves+pace)
	return p.leaves
}

// seconds is the time of the next step and of its slowest stage; all stages keep the host as busy.
func (s *server) seconds(t float64) (pass, pace float64) {
	mean, stages := 0.0, 1
	if s.pool.Shares {
		mean = s.meanTokens()
	}
	if s.pipe != nil {
		stages = s.pipe.stages
	}
	for i, k := range s.ranks {
		if k.work.Absent = 0; s.pool.Shares && len(k.chunks) > 0 {
			k.work.Absent = float64(k.work.Tokens()) - mean
		}
		if !k.works() {
			continue
		}
		host := k.rules.Host(float64(k.work.Sequences())) + k.extra
		k.work.Under = stages
		one, slower := s.priced(i, t)
		one += host
		if stages > 1 {
			pace = max(pace, one/float64(stages))
			k.work.Under = 1
			one = s.alone(k) + slower + host
		}
		pass = max(pass, one)
	}
	if stages == 1 {
		pace = pass
	}
	return pass, pace
}

// alone is the time of the next step of a rank at the full clock, or as its table has it.
func (s *server) alone(k *rank) float64 {
	if s.pool.Power == nil {
		return s.pool.Times.Seconds(&k.work)
	}
	s.pool.Power.Effort(&k.work, &k.effort)
	return k.effort.Seconds(1)
}

// priced is the time of the next step of a rank as often as a pipeline has stages, and by how much
// the power limit slows one down that passes all stages.
func (s *server) priced(rank int, t float64) (seconds, slower float64) {
	k, p := s.ranks[rank], s.pool.Power
	if p == nil {
		return s.pool.Times.Seconds(&k.work), 0
	}
	p.Effort(&k.work, &k.effort)
	stages, full := float64(k.work.Under), k.effort
	if stages > 1 {
		k.effort = cost.Effort{}
		k.effort.Add(1/stages, &full)
	}
	k.spent = s.averages()[rank].spent(t, p, &k.effort)
	seconds = stages * k.spent.Seconds
	if stages > 1 {
		slower = seconds - full.Seconds(1)
	}
	return seconds, slower
}

// flight is a step still in the pipeline when its server starts the next chunk of the prompt.
type flight struct {
	time   float64
	server *server
	ranks  []outcome
}

// outcome is what a step yields on a rank.
type outcome struct {
	decodes bool
	ended   []int32 // prompts completed
}

// goesOn reports whether the next chunk of a prompt may follow the scheduled step.
func (s *server) goesOn() bool {
	if s.pipe == nil || !s.pipe.chunks {
		return false
	}
	return slices.ContainsFunc(s.ranks, func(k *rank) bool { return k.partial != none })
}

// awaited reports whether a sequence needs the result of the scheduled step, beyond its chunks.
func (s *server) awaited() bool {
	return slices.ContainsFunc(s.ranks, func(k *rank) bool {
		return k.decodes || slices.ContainsFunc(k.work.Chunks, func(c Chunk) bool { return c.Ends })
	})
}

// depart leaves a step to the pipeline; its server goes on with the partial prompt, or waits.
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

// land ends the first of the steps in pipelines.
func (r *run) land(t float64) {
	f := r.flights[0]
	r.flights = slices.Delete(r.flights, 0, 1)
	s := f.server
	r.record.endStep(s, t)
	r.passOn(s, t, func(i int) outcome { return f.ranks[i] })
	if s.flights--; s.flights > 0 {
		return
	}
	if s.state == busy {
		r.between(s, t)
	} else if r.online != nil {
		r.online.stepEnded(s, t)
	}
}

// delay postpones the steps of a server that are in its pipeline.
func (r *run) delay(s *server, seconds float64) {
	for i := range r.flights {
		if r.flights[i].server == s {
			r.flights[i].time += seconds
		}
	}
	slices.SortStableFunc(r.flights, func(a, b flight) int { return cmp.Compare(a.time, b.time) })
}
