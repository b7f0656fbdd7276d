package simulate

// Timeline is what ranks did, by intervals of equal length.
type Timeline struct {
	Every  float64 // seconds
	Points []Point
}

// Point is an interval. Numbers are sums over the steps that started in it, each times its seconds.
type Point struct {
	Running, Waiting, Blocks float64
	Steps, Tokens            int64
}

const mostPoints = 1 << 16

// step adds a step of a server.
func (l *Timeline) step(s *server) {
	at := int(s.start / l.Every)
	for at >= mostPoints { // join neighbours: memory stays bounded
		for i := range (len(l.Points) + 1) / 2 {
			p := l.Points[2*i]
			if 2*i+1 < len(l.Points) {
				p.add(&l.Points[2*i+1])
			}
			l.Points[i] = p
		}
		l.Points = l.Points[:(len(l.Points)+1)/2]
		l.Every *= 2
		at = int(s.start / l.Every)
	}
	for len(l.Points) <= at {
		l.Points = append(l.Points, Point{})
	}
	seconds := s.at - s.start
	var p Point
	for _, k := range s.ranks {
		p.Running += seconds * float64(k.work.Sequences())
		p.Waiting += seconds * float64(k.waiting.n+len(k.inbox))
		p.Blocks += seconds * float64(k.used)
		p.Tokens += int64(k.work.Decodes + len(k.work.Chunks))
	}
	p.Steps = 1
	l.Points[at].add(&p)
}

func (p *Point) add(q *Point) {
	p.Running += q.Running
	p.Waiting += q.Waiting
	p.Blocks += q.Blocks
	p.Steps += q.Steps
	p.Tokens += q.Tokens
}

// Means are the running and waiting requests and the used blocks of all ranks, on average over an interval of so many
// seconds. A step counts where it started.
func (p *Point) Means(every float64) (running, waiting, blocks float64) {
	return p.Running / every, p.Waiting / every, p.Blocks / every
}
