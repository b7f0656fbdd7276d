package point

import (
	"errors"
	"fmt"

	"throughline/deploy"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/result"
	"throughline/op"
)

// Mover answers for one bare step on a system whose numbers change: the deployment stays as the
// engine runs it.
type Mover struct {
	evaluator  *estimate.Evaluator
	system     *hardware.System // a copy, whose numbers move
	parameters []hardware.Parameter
	present    []float64 // values of the parameters in the file
	deployment *deploy.Deployment
	pool       deploy.Pool
	result     *Result
	record     *result.Record
	step       estimate.Estimate
}

// Mover prepares the step of an answer for other values of some numbers of its system.
func (a *Answer) Mover(paths []string) (*Mover, error) {
	if len(a.Phases) != 1 || a.Seen != nil || a.Energy != nil && a.Energy.Limit > 0 {
		return nil, errors.New("point: only one bare step moves")
	}
	r := &a.Phases[0]
	m := &Mover{system: r.Problem.System.Clone(), deployment: &a.Deployment, pool: *a.Deployment.Of(r.Phase), result: r, record: a.Record}
	for _, path := range paths {
		p, ok := m.system.Parameter(path)
		if !ok || p.Whole {
			return nil, fmt.Errorf("point: %s does not move", path)
		}
		m.parameters, m.present = append(m.parameters, p), append(m.present, p.Of(m.system))
	}
	var err error
	m.evaluator, err = estimate.NewEvaluator(&r.Problem)
	m.pool.System = m.system
	return m, err
}

func (m *Mover) GPUs() int { return m.record.Procs }

// Moved is a step on other hardware.
type Moved struct {
	Seconds, Tokens, Requests float64
	Memory                    float64 // bytes
	Fits                      bool
	Ongoing                   bool // a step at some context has no requests
}

// At is the step at some values of the parameters, of which relative ones are multiples.
func (m *Mover) At(values []float64, relative []bool) (Moved, error) {
	for i := range m.parameters {
		v := values[i]
		if relative[i] {
			v *= m.present[i]
		}
		if p := &m.parameters[i]; v < p.Low || v > p.High {
			return Moved{}, fmt.Errorf("sys.%s must be from %g to %g, not %g", p.Name, p.Low, p.High, v)
		}
		m.parameters[i].Set(m.system, v)
	}
	if err := m.evaluator.On(m.system); err != nil {
		return Moved{}, err
	}
	m.evaluator.Evaluate(&m.result.Estimate.Plan, &m.step)
	held := m.step.Memory.Total()
	return Moved{m.step.StepTime, m.step.Throughput, m.step.Requests, held, held <= m.deployment.Usable(&m.pool, &m.step.Memory), m.result.Ongoing && m.result.Phase == op.Decode}, nil
}
