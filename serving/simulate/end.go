package simulate

// passOn applies a step of a server: every sequence whose tokens are all cached gets one more,
// which clients see when the front end has passed on those of earlier steps. Servers of one phase
// are behind a front end of another kind, and a live one waits for none.
func (r *run) passOn(s *server, t float64, of func(rank int) outcome) {
	each, seen := r.AnswerSeconds, t
	if r.split() || r.online != nil {
		each = 0
	}
	if each > 0 {
		seen = max(t, *s.sends)
	}
	answers := 0
	for i, k := range s.ranks {
		o := of(i)
		if answers += len(o.ended); o.decodes {
			answers += k.decoding
		}
		k.apply(o, seen, r)
	}
	*s.sends = seen + float64(answers)*each
	r.record.Sending += float64(answers) * each
}

// computed caches the prompt tokens of a step and returns what the step yields when it ends.
func (r *rank) computed() outcome {
	r.ended = r.ended[:0]
	for i, at := range r.chunks {
		j := r.jobs.at(at)
		if j.cached += r.work.Chunks[i].New; j.cached >= j.target() {
			r.ended = append(r.ended, at)
		}
	}
	return outcome{r.decodes, r.ended}
}

// apply ends a step with this outcome, which clients see at t.
func (r *rank) apply(o outcome, t float64, to *run) {
	tick := r.tick
	if o.decodes {
		if r.rules.Drafts > 0 {
			r.advanceEach(t, to)
		} else {
			r.advance(t, to)
		}
	}
	for _, at := range o.ended {
		if r.prefix != nil {
			r.prefix.offer(r.jobs.at(at), r.rules.BlockTokens)
		}
		r.emitFirst(at, t, to)
	}
	if r.tick > tick {
		r.lastEnd = t
	}
}

// emitFirst emits the token of a prefill: the first, or the next one of a preempted request.
func (r *rank) emitFirst(at int32, t float64, to *run) {
	j := r.jobs.at(at)
	if to.handOver(r, at, t) {
		return
	}
	if j.first < 0 {
		j.first = t
	} else {
		to.record.Token(t-j.last, 1)
	}
	j.emitted++
	to.emit(j, 1, t)
	if j.emitted >= j.Output {
		r.finish(at, t, to)
		return
	}
	r.start(at, t)
}

// advance gives every decoding sequence its next token.
func (r *rank) advance(t float64, to *run) {
	old := r.decoding
	for _, g := range r.joins {
		if g.count > 0 {
			to.record.Token(t-g.time, g.count)
			old -= g.count
		}
	}
	r.joins = r.joins[:0]
	if old > 0 {
		to.record.Token(t-r.lastEnd, old)
	}
	r.tick++
	r.context += int64(r.decoding)
	for i := range r.within {
		r.within[i].advance(r.tick)
	}
	r.lastEnd = t
	if to.Tokens != nil {
		r.emitAll(t, to)
	}
	for at := r.wheel[r.tick%wheelSize]; at != none; {
		j := r.jobs.at(at)
		next := j.wnext
		if j.base+int64(j.Output-j.emitted) == r.tick {
			r.now(j)
			r.stop(at)
			r.finish(at, t, to)
		}
		at = next
	}
}

// emitAll reports the token that every sequence got.
func (r *rank) emitAll(t float64, to *run) {
	for at := r.head; at != none; {
		j := r.jobs.at(at)
		if j.decodes {
			to.emit(j, 1, t)
		}
		at = j.next
	}
}

// advanceEach gives every sequence its next token, and the accepted draft tokens.
func (r *rank) advanceEach(t float64, to *run) {
	r.tick++
	for at := r.head; at != none; {
		j := r.jobs.at(at)
		next := j.next
		if j.decodes {
			n := 1
			for n <= r.rules.Drafts && r.random.Float64() < r.rules.Acceptance[n-1] {
				n++
			}
			n = min(n, j.Output-j.emitted)
			// Several tokens at once share the gap evenly, as in sglang.bench_serving.
			to.record.Token((t-j.last)/float64(n), n)
			j.last = t
			j.emitted += n
			j.cached += n
			r.context += int64(n)
			to.emit(j, n, t)
			if j.emitted >= j.Output {
				r.stop(at)
				r.finish(at, t, to)
			}
		}
		at = next
	}
}

func (r *rank) finish(at int32, t float64, to *run) {
	j := r.jobs.at(at)
	if r.prefix != nil {
		r.prefix.offer(j, r.rules.BlockTokens)
	}
	r.leave(at)
	r.release(j)
	to.finished(at, t)
}
