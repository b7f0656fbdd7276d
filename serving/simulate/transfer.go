package simulate

import (
	"throughline/deploy"
)

// move is the transfer of a job's cache between pools.
type move struct {
	time     float64
	job      int32
	from, to target
}

// handOver sends a prompt's cache from a prefill to a decode rank; false if the rank decodes.
func (r *run) handOver(k *rank, at int32, t float64) bool {
	if !r.split() {
		return false
	}
	j := r.jobs.at(at)
	from := j.home
	if from.server.pool.Role == deploy.Decode {
		return false // a preempted request that is recomputed here
	}
	k.leave(at)
	if len(r.decode) == 0 {
		k.release(j)
		r.online.lose(at, t)
		return true
	}
	to := r.route(r.decode, &j.Request, &r.turn[1])
	busy, left := r.Transfer(j.Input)
	done := max(t+left, r.links[from.rank]+busy, r.links[to.rank]+busy)
	r.links[from.rank], r.links[to.rank] = done, done
	m := move{time: done + r.HandoverSeconds, job: at, from: from, to: to}
	j.home = target{}
	to.coming++
	i := len(r.moves)
	for i > 0 && r.moves[i-1].time > m.time {
		i--
	}
	r.moves = append(r.moves, move{})
	copy(r.moves[i+1:], r.moves[i:])
	r.moves[i] = m
	return true
}

// arrived ends a transfer: the request waits for room to decode. Its first token comes out of the
// decode server, which clients are connected to, when it is admitted there.
func (r *run) arrived(t float64) {
	m := r.moves[0]
	r.moves = append(r.moves[:0], r.moves[1:]...)
	j := r.jobs.at(m.job)
	m.from.release(j)
	m.to.coming--
	r.wake(m.from.server, t)
	if j.gone {
		r.forget(m.job, t)
		return
	}
	r.decodeAt(m.to, m.job, t)
}

// decodeAt lets a decode rank go on with a request that has its first token.
func (r *run) decodeAt(to target, at int32, t float64) {
	j := r.jobs.at(at)
	j.home, j.emitted = to, 1
	if j.emitted >= j.Output {
		j.first, j.last = t, t
		r.emit(j, 1, t)
		r.finished(at, t)
		return
	}
	j.elsewhere, j.sent, j.named = true, true, 0
	r.give(to, at, t)
}
