package validate

import (
	"errors"

	"throughline/deploy"
	"throughline/serving/simulate"
)

// runTimer knows how long the steps of recorded runs take.
type runTimer struct {
	options RequestsOptions
	dir     string
}

// pool is the server of a run, and its clock; nil: steps follow each other.
func (t *runTimer) pool(run *engineRun) (simulate.Pool, simulate.Clock, error) {
	pool := simulate.Pool{Role: deploy.Both, Servers: 1, Ranks: 1, Policy: run.policy}
	if t.options.Steps == "recorded" {
		pool.Times = noTimes{}
		return pool, recordedClock(run.steps), nil
	}
	return pool, nil, errors.New("not yet")
}

// noTimes is for a clock that knows when steps end.
type noTimes struct{}

func (noTimes) Seconds(*simulate.Work) float64 { return 0 }
func (noTimes) Bounds() []int                  { return nil }

// recordedClock starts and ends steps when they did. Past its end, steps take no time.
type recordedClock []recordedStep

func (c recordedClock) Start(step int, ready float64) float64 {
	if step < len(c) {
		return c[step].start
	}
	return ready
}

func (c recordedClock) End(step int, start, _ float64) float64 {
	if step < len(c) {
		return c[step].end
	}
	return start
}
