package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"throughline/internal/point"
	"throughline/internal/report"
	"throughline/internal/table"
	"throughline/serving/simulate"
)

// written is the run, with its files. Requests and steps are written as they end and start: there may be more than fit into
// memory.
func (o *simulateOptions) written(ctx context.Context, s Streams, sim *point.Simulation) (*simulate.Result, error) {
	options := sim.Options
	var result *simulate.Result
	var failed error
	run := func() error {
		result, failed = sim.Run(ctx, options)
		return failed
	}
	if o.charts.given() || s.Bars != table.NoBars {
		options.Every = drawnEvery
	}
	if o.timelineOut.name != "" {
		options.Every = sim.Asked.Traffic.TimelineEvery
		next := run
		run = func() error {
			return report.WriteFiles(ctx, report.File{Name: o.timelineOut.name, Write: func(w io.Writer) error {
				if err := next(); err != nil {
					return err
				}
				return report.WriteTimeline(w, table.FormOf(o.timelineOut.name), result)
			}})
		}
	}
	run = o.traced(ctx, s, &options, run)
	run = streamed(ctx, o.requestsOut.name, report.RequestColumns, run, &options.Each)
	run = streamed(ctx, o.stepsOut.name, report.StepColumns, run, &options.Watch)
	switch err := run(); {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, systemError{err}
	}
	return result, nil
}

// drawnEvery is the interval, in seconds, of a timeline that nobody asked for in rows; long runs join intervals.
const drawnEvery = 1e-3

// streamed is a run that writes a row of a file for whatever something is told of meanwhile; without a name, the run.
func streamed[T any](ctx context.Context, name string, columns []table.Column[T], run func() error, told *func(T)) func() error {
	if name == "" {
		return run
	}
	return func() error {
		return report.WriteFiles(ctx, report.File{Name: name, Write: func(w io.Writer) error {
			out := table.NewWriter(w, table.FormOf(name), columns)
			var failed error
			*told = also(*told, func(row T) { failed = cmp.Or(failed, out.Add(row)) })
			if err := run(); err != nil {
				return err
			}
			return cmp.Or(failed, out.Close())
		}})
	}
}

// traced is a run that writes a trace meanwhile; without a name, the run.
func (o *simulateOptions) traced(ctx context.Context, s Streams, options *simulate.Options, run func() error) func() error {
	if o.traceOut.name == "" {
		return run
	}
	return func() error {
		var t *report.SimulationTrace
		err := report.WriteFiles(ctx, report.File{Name: o.traceOut.name, Write: func(w io.Writer) error {
			t = report.NewSimulationTrace(w, options)
			options.Watch, options.Each = also(options.Watch, t.Step), also(options.Each, t.Request)
			if err := run(); err != nil {
				return err
			}
			return t.Close()
		}})
		if err == nil && t.LeftOut() != "" {
			fmt.Fprintln(s.Err, "note:", t.LeftOut())
		}
		return err
	}
}

// also calls one, where there is one, and then the other.
func also[T any](first, second func(T)) func(T) {
	if first == nil {
		return second
	}
	return func(v T) {
		first(v)
		second(v)
	}
}
