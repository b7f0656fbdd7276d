package estimate

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

// Summary is where the time of a step goes. The five times add up to the step.
type Summary struct {
	Compute, Memory float64 // of operators bound by either, without static latency
	Comm            float64 // exposed, with its latency
	Static          float64 // latency of computing operators
	Waiting         float64
	Engines         map[string]*Engine
}

func Sum(ops []Operator) *Summary {
	s := &Summary{Engines: map[string]*Engine{Cube: {}, Vector: {}, Comm: {}}}
	for i := range ops {
		o := &ops[i]
		e := s.Engines[o.Peak.Engine]
		if e == nil {
			s.Waiting += o.Takes()
			continue
		}
		e.Count += o.Times
		e.Flops += o.Times * o.Flops
		e.Bytes += o.Times * o.Bytes()
		e.Sent += o.Times * o.Sent
		e.Time += o.Takes()
		ofPeak, _ := o.Use()
		e.ideal += o.Takes() * ofPeak
		switch side := o.Times * (o.Exposed - o.Static); {
		case !o.Computes():
			s.Comm += o.Takes()
			continue
		case o.Memory > o.Compute:
			s.Memory += side
		default:
			s.Compute += side
		}
		s.Static += o.Times * o.Static
	}
	return s
}

func (s *Summary) Step() float64 { return s.Compute + s.Memory + s.Comm + s.Static + s.Waiting }
