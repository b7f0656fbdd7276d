package simulate

// schedule and unschedule keep a heap of servers by the time of their next event, then by index.

func (r *run) less(a, b *server) bool { return a.at < b.at || a.at == b.at && a.index < b.index }

func (r *run) schedule(s *server) {
	s.place = len(r.events)
	r.events = append(r.events, s)
	r.up(s.place)
}

func (r *run) unschedule(s *server) {
	at, last := s.place, len(r.events)-1
	r.swap(at, last)
	r.events = r.events[:last]
	s.place = none
	if at < last {
		r.down(at)
		r.up(at)
	}
}

func (r *run) swap(i, j int) {
	r.events[i], r.events[j] = r.events[j], r.events[i]
	r.events[i].place, r.events[j].place = i, j
}

func (r *run) up(i int) {
	for i > 0 && r.less(r.events[i], r.events[(i-1)/2]) {
		r.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (r *run) down(i int) {
	for {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(r.events) && r.less(r.events[c], r.events[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		r.swap(i, least)
		i = least
	}
}
