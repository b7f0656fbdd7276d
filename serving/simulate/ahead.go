package simulate

import "throughline/deploy"

// ahead is a step under way, or one that follows it if no request reaches its server before.
// Between requests that come and end, servers decode alone: such steps are priced in one go and
// count once they have begun. A request that comes takes back those that have not.
type ahead struct {
	start, end             float64
	joules, worked, beyond float64
}

// mostAhead bounds what is priced in vain.
const mostAhead = 32

// looksAhead reports whether nothing asks for the steps of a run as they happen.
func (o *Options) looksAhead() bool {
	return o.Clock == nil && o.Watch == nil && o.Tokens == nil && o.Routing != deploy.PrefixAware
}

// lookAhead prices the steps of a server that follow the one just started, up to the first that
// depends on anything else: a request that ends or waits, an attention that has read up to its
// bound, room for a token.
func (r *run) lookAhead(s *server) {
	if !r.looks || r.online != nil || !s.onlyDecodes() || s.at >= r.arrive.next() || !s.decodesOn(1) {
		return
	}
	s.ahead, s.drawnAhead = s.ahead[:0], s.drawnAhead[:0]
	s.ahead, s.drawnAhead = append(s.ahead, ahead{s.start, s.at, s.joules, s.worked, s.beyond}), append(s.drawnAhead, s.drawn...)
	arrives := r.arrive.next()
	for n := 1; n == 1 || n <= mostAhead && s.at < arrives && s.decodesOn(n); n++ {
		for _, k := range s.ranks {
			k.sumAfter(n)
		}
		t := s.at
		pass, _ := s.seconds(t)
		s.at = t + pass
		joules, worked := s.draw(t)
		s.ahead, s.drawnAhead = append(s.ahead, ahead{t, s.at, joules, worked, s.beyond}), append(s.drawnAhead, s.drawn...)
	}
}

// onlyDecodes reports whether the step under way does nothing else, and no request waits.
func (s *server) onlyDecodes() bool {
	rules := &s.pool.Policy
	if s.pipe != nil || rules.Drafts > 0 || rules.BalanceSteps > 0 && len(s.ranks) > 1 {
		return false
	}
	for _, k := range s.ranks {
		if k.waiting.n > 0 || k.inbox.len() > 0 || k.partial != none || len(k.chunks) > 0 || k.extra > 0 {
			return false
		}
		k.more = 0
	}
	return true
}

// decodesOn reports whether ranks only decode in the nth step from the one under way on, as they
// do in those between.
func (s *server) decodesOn(n int) bool {
	for _, k := range s.ranks {
		if k.decoding == 0 {
			continue
		}
		tick := k.tick + int64(n)
		if k.wheel[tick%wheelSize] != none {
			return false
		}
		for i := range k.within {
			if k.within[i].reached(tick) {
				return false
			}
		}
		if !k.rules.ReservesOutput {
			if k.more += k.needAt(tick); k.more > k.free() {
				return false
			}
		}
	}
	return true
}

// sumAfter totals the decodes of the nth step from the one under way on.
func (r *rank) sumAfter(n int) {
	if !r.decodes {
		return
	}
	r.work.Context += int64(r.work.Decodes)
	for i := range r.within {
		r.work.Bounded[i] = r.within[i].keys(r.decoding, r.tick+int64(n))
	}
}

// catchUp counts the steps of a server that begin before a moment, or then, and takes the others
// back.
func (r *run) catchUp(s *server, t float64, then bool) {
	if len(s.ahead) == 0 {
		return
	}
	last := 0
	for i := 1; i < len(s.ahead); i++ {
		a := &s.ahead[i]
		if !(a.start < t || then && a.start == t) {
			break
		}
		r.proceed(s, a)
		last++
	}
	now, left := s.ahead[last], len(s.ahead)-1-last
	s.ahead = s.ahead[:0]
	if left == 0 {
		return
	}
	copy(s.drawn, s.drawnAhead[last*len(s.drawn):])
	r.unschedule(s)
	s.at, s.beyond = now.end, now.beyond
	r.schedule(s)
}

// catchUpAll is the same of all servers.
func (r *run) catchUpAll(t float64, then bool) {
	for _, s := range r.servers {
		r.catchUp(s, t, then)
	}
}

// proceed ends the step under way, and begins one that has been priced.
func (r *run) proceed(s *server, next *ahead) {
	r.record.endStep(s, next.start)
	r.passOn(s, next.start, func(i int) outcome { return outcome{decodes: s.ranks[i].decodes} })
	s.step++
	s.poll(next.start)
	for _, k := range s.ranks {
		k.decode()
		k.sum()
	}
	s.started(next.start, next.end)
	s.works = next.end - next.start
	s.joules, s.worked, s.beyond = next.joules, next.worked, next.beyond
	r.record.step(s)
}
