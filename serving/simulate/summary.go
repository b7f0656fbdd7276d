package simulate

import "slices"

// Summary is what clients saw of a run, filled alike by simulations and benchmarks of real servers.
type Summary struct {
	Requests        int64 // ended
	Input, Output   int64 // tokens of ended requests
	Start, End      float64
	LastArrival     float64
	TTFT, TPOT, E2E Distribution // per request
	ITL             Distribution // per token

	Residence float64 // seconds that requests were in the system, summed
	Present   float64 // integral of the requests in the system over time

	First   BatchMeans // times to first tokens, by end
	Latency BatchMeans // end-to-end latencies

	Trend Trend // what arriving requests found

	Limits Limits
	Good   int64 // requests that kept all limits

	present  int64
	presentT float64
}

// Limits in seconds that a good request keeps; 0: none.
type Limits struct{ TTFT, TPOT, E2E float64 }

// Ended is a request that has ended.
type Ended struct {
	ID                                int64
	Arrival, Scheduled, First, Finish float64
	Input, Output, Preemptions        int
	Client, Server                    int // where it ended
	Began, Ended                      Place
}

// Place is a rank of a server.
type Place struct{ Server, Rank int }

func (t target) place() Place {
	if t.server == nil {
		return Place{}
	}
	return Place{t.server.index, slices.Index(t.server.ranks, t.rank)}
}

// TPOT is the time per output token after the first, or 0.
func (e *Ended) TPOT() float64 {
	if e.Output < 2 {
		return 0
	}
	return (e.Finish - e.First) / float64(e.Output-1)
}

// Keep reports whether a request keeps the limits.
func (l *Limits) Keep(e *Ended) bool {
	return (l.TTFT == 0 || e.First-e.Arrival <= l.TTFT) && (l.TPOT == 0 || e.TPOT() <= l.TPOT) && (l.E2E == 0 || e.Finish-e.Arrival <= l.E2E)
}

// Arrived records a request, which finds this many waiting. Requests arrive in order.
func (s *Summary) Arrived(at float64, waiting int64) {
	s.moved(at)
	s.Trend.add(at, float64(s.present), float64(waiting))
	s.present++
	s.LastArrival = max(s.LastArrival, at)
}

// moved accounts for a change in the number of requests.
func (s *Summary) moved(t float64) {
	if t > s.presentT {
		s.Present += float64(s.present) * (t - s.presentT)
		s.presentT = t
	}
}

// Token records tokens that came this long after the previous one.
func (s *Summary) Token(gap float64, count int) {
	if !s.ITL.means { // of which there are most
		s.ITL.Add(gap, count)
	}
}

// Left records a request that left without an answer.
func (s *Summary) Left(t float64) {
	s.moved(t)
	s.present--
	s.End = max(s.End, t)
}

// Ended records the end of a request.
func (s *Summary) Ended(e *Ended) {
	s.Left(e.Finish)
	s.Requests++
	s.Input += int64(e.Input)
	s.Output += int64(e.Output)
	first, latency := e.First-e.Arrival, e.Finish-e.Arrival
	s.Residence += latency
	s.TTFT.Add(first, 1)
	s.E2E.Add(latency, 1)
	s.First.Add(first)
	s.Latency.Add(latency)
	if e.Output > 1 {
		s.TPOT.Add(e.TPOT(), 1)
	}
	if s.Limits.Keep(e) {
		s.Good++
	}
}

// Duration of the run.
func (s *Summary) Duration() float64 { return s.End - s.Start }
