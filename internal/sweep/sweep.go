// Package sweep answers many questions side by side, holding only a window of them: the runs of a
// section of a runtime file, and the points of a scan.
package sweep

import (
	"context"

	"golang.org/x/sync/errgroup"

	"throughline/hardware"
	"throughline/internal/advice"
	"throughline/internal/jobfile"
	"throughline/internal/parallel"
	"throughline/internal/rawdata"
	"throughline/internal/result"
	"throughline/op"
	"throughline/search"
)

// Options do not affect what is found.
type Options struct {
	Jobs     int  // processors of this machine to use
	Thorough bool // report what ruled plans out
	Ops      bool // list the operators of the steps
	Raw      bool // keep what clients see in the form of a benchmark
	Simulate int  // requests to simulate for that; 0: none
	Tariff   hardware.Tariff
	Tick     search.Tick // after each part of each run
}

// window is how many runs per processor are in progress or waiting for earlier ones.
const window = 16

// Run searches the runs of a job and emits their records in order, independent of the number of
// processors.
func Run(ctx context.Context, job *jobfile.Job, o Options, emit func(*result.Record) error) error {
	// Few runs share out the plans of each; many runs are shared out themselves.
	workers := max(1, o.Jobs/max(1, job.Len()))
	return inOrder(ctx, job.Len(), o.Jobs, func(ctx context.Context, i int) (*result.Record, error) {
		return record(ctx, job, i, workers, o)
	}, emit)
}

// inOrder does n pieces of work side by side and hands over their results in order.
func inOrder[T any](ctx context.Context, n, jobs int, do func(ctx context.Context, i int) (T, error), emit func(T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	started := make(chan chan T, window*jobs)
	slots := make(chan struct{}, jobs)
	g.Go(func() error {
		defer close(started)
		for i := range n {
			done := make(chan T, 1)
			select {
			case started <- done:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			g.Go(parallel.Caught(func() error {
				defer func() { <-slots }()
				r, err := do(ctx, i)
				if err == nil {
					done <- r
				}
				return err
			}))
		}
		return nil
	})
	g.Go(parallel.Caught(func() error {
		for done := range started {
			select {
			case r := <-done:
				if err := emit(r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}))
	return g.Wait()
}

// newRecord is a run before its search.
func newRecord(job *jobfile.Job, run *jobfile.Run, number int) *result.Record {
	r := &result.Record{
		Number: number, Mode: run.Mode, Hash: job.Hash(run), Model: run.Model, Settings: run.Settings, Lengths: run.Lengths,
		Limits: run.Limits, Precision: run.Precision, Assume: run.Decode.Assume, Procs: run.Procs,
	}
	for i, v := range job.Varied(number) {
		r.Varied = append(r.Varied, result.Varied{Name: job.Axes()[i], Value: v})
	}
	return r
}

func problemsOf(run *jobfile.Run) [op.PhaseCount]*search.Problem {
	return [op.PhaseCount]*search.Problem{op.Prefill: &run.Prefill, op.Decode: &run.Decode}
}

// record searches one run and describes the result.
func record(ctx context.Context, job *jobfile.Job, number, workers int, o Options) (*result.Record, error) {
	run := job.At(number)
	r := newRecord(job, &run, number)
	outcome, seen, err := searched(ctx, &run, workers, o)
	if err != nil {
		return nil, err
	}
	problems := problemsOf(&run)
	if run.Plan != nil && seen != nil { // as its engine runs it, not as the file lists candidates
		r.Precision = seen.Deployment.Precision
		for phase, p := range problems {
			p.Problem, p.SharedPerCard = seen.Problem(op.Phase(phase)), true
		}
	}
	if err := r.Outcome(&outcome, problems, pools(&run), o.Ops); err != nil {
		return nil, err
	}
	if seen != nil {
		r.Served, r.Engine, r.Clients, r.Held = true, seen.Deployment.Engine.Name, seen.Load.Clients, seen.Held
		if seen.Energy != nil {
			seen.Energy.Tariff = o.Tariff
		}
		r.Energy, r.DollarsPerMillion, r.Listed = seen.Energy, seen.DollarsPerMillion, seen.Listed
		r.SeenAs(seen.TTFT, seen.TPOT)
		if o.Raw {
			if r.Raw, err = rawdata.Of(ctx, &seen.Deployment, seen.Load, &seen.Prediction, seen.Load.Sent(o.Simulate)); err != nil {
				return nil, err
			}
		}
	}
	r.Reasons = run.Reasons(&outcome)
	if o.Thorough {
		r.Refusals = run.Refusals(&outcome)
	}
	return r, nil
}

// searched finds the best deployment of a run and, with an engine, what its clients see.
func searched(ctx context.Context, run *jobfile.Run, workers int, o Options) (search.Outcome, *advice.Candidate, error) {
	if !run.Decode.Assume.Engine {
		outcome, err := run.Search(ctx, jobfile.SearchOptions{Workers: workers, Thorough: o.Thorough, Tick: o.Tick})
		return outcome, nil, err
	}
	outcome, seen, err := advice.Run(ctx, run, workers)
	for range run.Parts() {
		if o.Tick != nil {
			o.Tick()
		}
	}
	return outcome, seen, err
}

// pools returns the given processors of the phases, 0 where they are searched.
func pools(r *jobfile.Run) (out [op.PhaseCount]int) {
	switch {
	case r.Mode == jobfile.Fusion:
		out[op.Prefill], out[op.Decode] = r.Procs, r.Procs
	case r.Pools != nil:
		out[op.Prefill], out[op.Decode] = r.Pools[0], r.Pools[1]
	}
	return out
}
