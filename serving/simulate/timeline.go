package simulate

// Timeline is what ranks did, in intervals of equal length.
type Timeline struct {
	From   float64 // when what is counted began
	Every  float64 // seconds
	Points []Point
}

// Point is an interval. Values are sums over steps, weighted by their seconds in the interval;
// steps and tokens count where they start.
type Point struct {
	Running, Waiting, Blocks float64
	Joules                   float64 // beyond those of waiting
	Steps, Tokens            int64
}

const mostPoints = 1 << 16

// step adds a step of a server.
func (l *Timeline) step(s *server) {
	start, end := max(0, s.start-l.From), max(0, s.at-l.From)
	last := int(end / l.Every)
	for last >= mostPoints { // join neighbours to bound memory
		for i := range (len(l.Points) + 1) / 2 {
			p := l.Points[2*i]
			if 2*i+1 < len(l.Points) {
				p.add(&l.Points[2*i+1])
			}
			l.Points[i] = p
		}
		l.Points = l.Points[:(len(l.Points)+1)/2]
		l.Every *= 2
		last = int(end / l.Every)
	}
	for len(l.Points) <= last {
		l.Points = append(l.Points, Point{})
	}
	var p Point
	for _, k := range s.ranks {
		p.Running += float64(k.work.Sequences())
		p.Waiting += float64(k.waiting.n + k.inbox.len())
		p.Blocks += float64(k.used)
		p.Tokens += int64(k.work.Decodes + len(k.work.Chunks))
	}
	first := int(start / l.Every)
	for i := first; i <= last; i++ {
		seconds := max(0, min(end, float64(i+1)*l.Every)-max(start, float64(i)*l.Every))
		part := Point{Running: seconds * p.Running, Waiting: seconds * p.Waiting, Blocks: seconds * p.Blocks}
		if s.at > s.start {
			part.Joules = s.joules * seconds / (s.at - s.start)
		}
		l.Points[i].add(&part)
	}
	l.Points[first].add(&Point{Steps: 1, Tokens: p.Tokens})
}

func (p *Point) add(q *Point) {
	p.Running += q.Running
	p.Waiting += q.Waiting
	p.Blocks += q.Blocks
	p.Joules += q.Joules
	p.Steps += q.Steps
	p.Tokens += q.Tokens
}

// Means are the running and waiting requests and used blocks of all ranks over the interval.
func (p *Point) Means(every float64) (running, waiting, blocks float64) {
	return p.Running / every, p.Waiting / every, p.Blocks / every
}
