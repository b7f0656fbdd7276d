package opdetail

// Engine is what the operators of an engine do in a step.
type Engine struct {
	Count float64 // executions
	Flops float64
	Bytes float64 // in device memory
	Sent  float64
	Time  float64 // that they add to the step
	ideal float64 // of their operations at peak
}

// Utilisation is the operations over what the engine could have done in the time.
func (e *Engine) Utilisation() float64 {
	if e.Time == 0 {
		return 0
	}
	return e.ideal / e.Time
}

// Summary is where the time of a step goes. The five times are the step.
type Summary struct {
	Compute, Memory float64 // of operators that a side of the roofline bounds, without their static latency
	Comm            float64 // exposed, with its latency
	Static          float64 // latency of computing operators
	Waiting         float64
	Engines         map[string]*Engine
}

// Sum adds up rows.
func Sum(rows []Row) *Summary {
	s := &Summary{Engines: map[string]*Engine{Cube: {}, Vector: {}, Comm: {}}}
	for i := range rows {
		r := &rows[i]
		e := s.Engines[r.Engine]
		if e == nil {
			s.Waiting += r.Time()
			continue
		}
		e.Count += r.Repeat
		e.Flops += r.Repeat * r.Flops
		e.Bytes += r.Repeat * r.Bytes
		e.Sent += r.Repeat * r.Sent
		e.Time += r.Time()
		if r.Engine == Comm {
			s.Comm += r.Time()
			continue
		}
		if r.ProcessTime > 0 {
			e.ideal += r.Repeat * r.PeakTime
		}
		s.Static += r.Repeat * r.Static
		if side := r.Repeat * (r.ProcessTime - r.Static); r.MemTime > r.FlopsTime {
			s.Memory += side
		} else {
			s.Compute += side
		}
	}
	return s
}

// Step is the time of the step.
func (s *Summary) Step() float64 { return s.Compute + s.Memory + s.Comm + s.Static + s.Waiting }
