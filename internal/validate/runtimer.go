package validate

import (
	"cmp"
	"fmt"
	"path/filepath"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/serving/simulate"
)

// The recorded engine captured graphs for these batches, and for these token counts in steps with
// prompts; steps are padded to the next one (README of the recorded runs).
var (
	graphBatches = []int{1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256}
	graphTokens  = []int{16, 32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512}
)

// noTimesError is a run whose steps have no times.
type noTimesError struct{ error }

func (e *noTimesError) Unwrap() error { return e.error }

// runTimer knows how long the steps of recorded runs take.
type runTimer struct {
	options RequestsOptions
	dir     string
	known   map[string]simulate.Times // by model
}

// pool is the server of a run, and its clock; nil: steps follow each other.
func (t *runTimer) pool(run *engineRun) (simulate.Pool, simulate.Clock, error) {
	pool := simulate.Pool{Role: deploy.Both, Servers: 1, Ranks: 1, Policy: run.policy}
	if t.options.Steps == "recorded" {
		pool.Times = noTimes{}
		return pool, recordedClock(run.steps), nil
	}
	times, ok := t.known[run.model]
	if !ok {
		var err error
		if t.options.Steps == "own" {
			times, err = t.own(run.model)
		} else {
			times, err = t.table(run.model)
		}
		if err != nil {
			return pool, nil, &noTimesError{err}
		}
		if t.known == nil {
			t.known = map[string]simulate.Times{}
		}
		t.known[run.model] = times
	}
	pool.Times = times
	if own, ok := times.(*simulate.StepTimes); ok {
		pool.Power = own.Power(1)
	}
	if t.options.Steps == "run" {
		scaled, err := scaledTo(run, times)
		if err != nil {
			return pool, nil, err
		}
		pool.Times = scaled
	}
	return pool, nil, nil
}

// table is the times of the measured steps of a model.
func (t *runTimer) table(model string) (simulate.Times, error) {
	file := filepath.Join(t.dir, "step_times.csv")
	f, err := csvfile.OpenEither(files.Machine, file)
	if err != nil {
		return nil, document.Unreadable(files.Machine, file, err)
	}
	defer f.Close()
	rows, err := simulate.ReadTable(f, model)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", file, model, err)
	}
	table, err := simulate.NewTable(rows, graphBatches, graphTokens)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", file, model, err)
	}
	return table, nil
}

// own estimates step times for one processor serving the model, which is in the catalogue or in a
// file beside the runs. No measured time goes into it.
func (t *runTimer) own(model string) (simulate.Times, error) {
	if beside := filepath.Join(t.dir, model+".json"); isRegular(beside) {
		model = beside
	}
	q := question.Default()
	q.In = files.Machine
	q.Model, q.System, q.Assume = model, cmp.Or(t.options.System, "H200"), cmp.Or(t.options.Assume, q.Assume)
	q.Input, q.Output, q.GPUs = 1, 1, 1
	l, err := q.Load()
	if err != nil {
		return nil, err
	}
	d, misses := l.Deploy(&q)
	if err := document.Join(misses...); err != nil {
		return nil, err
	}
	d = engine.Generic.Apply(d)
	return simulate.NewStepTimes(&d, &d.Pools[0])
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

// scaled is times with a factor for each kind of step.
type scaled struct {
	simulate.Times
	factor map[byte]float64
}

func (s *scaled) Seconds(w *simulate.Work) float64 { return s.factor[w.Kind()] * s.Times.Seconds(w) }

// turnaround is the longest pause between steps due to the host; beyond it the engine is idle.
const turnaround = 1e-3

// scaledTo scales all steps of a kind by one factor, to match their sum in the run, host included.
func scaledTo(run *engineRun, times simulate.Times) (simulate.Times, error) {
	var measured, predicted [256]float64
	for i := range run.steps {
		s := &run.steps[i]
		if !s.known {
			return nil, fmt.Errorf("steps.csv: step %d does not say what it did, which the factors of a run need", i)
		}
		w := s.work()
		end := s.end
		if i+1 < len(run.steps) && run.steps[i+1].start-s.end < turnaround {
			end = run.steps[i+1].start
		}
		measured[w.Kind()] += end - s.start
		predicted[w.Kind()] += times.Seconds(w)
	}
	out := &scaled{Times: times, factor: map[byte]float64{'D': 1, 'P': 1, 'M': 1}}
	for kind := range out.factor {
		if predicted[kind] > 0 {
			out.factor[kind] = measured[kind] / predicted[kind]
		}
	}
	return out, nil
}

// work is that of a recorded step, its prompts taken as equal: only their sums are known.
func (s *recordedStep) work() *simulate.Work {
	f := &s.figures
	w := &simulate.Work{Decodes: int(f.decode), Context: f.context}
	if n := int(f.prefillSeqs); n > 0 {
		each := float64(f.prefillTokens) / float64(n)
		past := (s.pairs/float64(n) - each*(each+1)/2) / each
		left := int(f.prefillTokens)
		for i := range n {
			tokens := left / (n - i)
			w.Chunks = append(w.Chunks, simulate.Chunk{New: tokens, Past: int(max(0, past)), Ends: true})
			left -= tokens
		}
	}
	return w
}

func isRegular(name string) bool {
	info, err := files.Machine.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
