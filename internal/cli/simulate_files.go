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

// written runs the simulation and streams its requests and steps to files: they may not fit into
// memory.
func (o *simulateOptions) written(ctx context.Context, s Streams, sim *point.Simulation) (*simulate.Result, error) {
	options := sim.Options
	var result *simulate.Result
	var failed error
	run := func() error {
		result, failed = sim.Run(ctx, options)
		return failed
	}
	if o.charts.given() || o.charts.html.name != "" || s.Bars != table.NoBars {
		options.Every = drawnEvery
	}
	if o.timelineOut.name != "" {
		options.Every = sim.Query.Traffic.TimelineEvery
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

// drawnEvery is the timeline interval in seconds of charts without --timeline-out; long runs merge
// intervals.
const drawnEvery = 1e-3

// streamed returns a run that also writes a row of a file, if named, for each value passed to each.
func streamed[T any](ctx context.Context, name string, columns []table.Column[T], run func() error, each *func(T)) func() error {
	if name == "" {
		return run
	}
	return func() error {
		return report.WriteFiles(ctx, report.File{Name: name, Write: func(w io.Writer) error {
			out := table.NewWriter(w, table.FormOf(name), columns)
			var failed error
			*each = chain(*each, func(row T) { failed = cmp.Or(failed, out.Add(row)) })
			if err := run(); err != nil {
				return err
			}
			return cmp.Or(failed, out.Close())
		}})
	}
}

// traced returns a run that also writes a trace, if named.
func (o *simulateOptions) traced(ctx context.Context, s Streams, options *simulate.Options, run func() error) func() error {
	if o.traceOut.name == "" {
		return run
	}
	return func() error {
		var t *report.SimulationTrace
		err := report.WriteFiles(ctx, report.File{Name: o.traceOut.name, Write: func(w io.Writer) error {
			t = report.NewSimulationTrace(w, options)
			options.Watch, options.Each = chain(options.Watch, t.Step), chain(options.Each, t.Request)
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

// chain calls first, if set, and then second.
func chain[T any](first, second func(T)) func(T) {
	if first == nil {
		return second
	}
	return func(v T) {
		first(v)
		second(v)
	}
}
