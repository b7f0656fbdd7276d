package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"throughline/internal/report"
	"throughline/serving/simulate"
)

// written is the run, with its files. Requests and steps are written as they end and start: there may be more than fit into
// memory.
func (o *simulateOptions) written(ctx context.Context, s Streams, sim *simulation) (*simulate.Result, error) {
	options := sim.options
	var result *simulate.Result
	var failed error
	run := func() error {
		result, failed = sim.at(ctx, sim.result.Rate, 1, options)
		return failed
	}
	if o.charts.given() || s.Bars != report.NoBars {
		options.Every = drawnEvery
	}
	if o.timelineOut.name != "" {
		options.Every = o.asked.Traffic.TimelineEvery
		next := run
		run = func() error {
			return report.WriteFiles(ctx, report.File{Name: o.timelineOut.name, Write: func(w io.Writer) error {
				if err := next(); err != nil {
					return err
				}
				return writeTimeline(w, result)
			}})
		}
	}
	run = o.traced(ctx, s, &options, run)
	run = streamed(ctx, o.requestsOut.name, requestColumns, run, func(w io.Writer) {
		options.Each = also(options.Each, func(e *simulate.Ended) { writeRequest(w, e) })
	})
	run = streamed(ctx, o.stepsOut.name, stepColumns, run, func(w io.Writer) {
		options.Watch = also(options.Watch, func(s *simulate.Step) { writeStep(w, s) })
	})
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

// streamed is a run that writes a file meanwhile; without a name, the run.
func streamed(ctx context.Context, name, header string, run func() error, to func(io.Writer)) func() error {
	if name == "" {
		return run
	}
	return func() error {
		return report.WriteFiles(ctx, report.File{Name: name, Write: func(w io.Writer) error {
			b := bufio.NewWriter(w)
			fmt.Fprintln(b, header)
			to(b)
			if err := run(); err != nil {
				return err
			}
			return b.Flush()
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

const stepColumns = "server,rank,step,start,end,kind,n_decode,sum_ctx,prefill_tokens,prefill_seqs,n_waiting,kv_blocks_used,preempted"

// writeStep writes the row of a step.
func writeStep(w io.Writer, s *simulate.Step) {
	fmt.Fprintf(w, "%d,%d,%d,%.6f,%.6f,%c,%d,%d,%d,%d,%d,%d,%d\n", s.Server, s.Rank, s.Index, s.Start, s.End, s.Work.Kind(), s.Work.Decodes, s.Work.Context,
		s.Work.Tokens(), len(s.Work.Chunks), s.Waiting, s.Blocks, s.Preempted)
}

const requestColumns = "request,client,arrival,scheduled,first_token,finish,input,output,preemptions,ttft_ms,tpot_ms,e2e_ms"

// writeRequest writes the row of a request.
func writeRequest(w io.Writer, e *simulate.Ended) {
	fmt.Fprintf(w, "%d,%d,%.6f,%.6f,%.6f,%.6f,%d,%d,%d,%.3f,%.4f,%.3f\n", e.ID, e.Client, e.Arrival, e.Scheduled, e.First, e.Finish,
		e.Input, e.Output, e.Preemptions, 1e3*(e.First-e.Arrival), 1e3*e.TPOT(), 1e3*(e.Finish-e.Arrival))
}

// writeTimeline writes a row for each interval.
func writeTimeline(w io.Writer, r *simulate.Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "time_s,running,waiting,kv_blocks_used,kv_percent,steps,tokens")
	t := r.Timeline
	all := 0
	for i := range r.Pools {
		all += r.Pools[i].Blocks * r.Pools[i].Ranks
	}
	for i := range t.Points {
		running, waiting, blocks := t.Points[i].Means(t.Every)
		share := 100 * blocks / float64(all)
		fmt.Fprintf(b, "%.6g,%.4f,%.4f,%.2f,%.3f,%d,%d\n", float64(i)*t.Every, running, waiting, blocks, share, t.Points[i].Steps, t.Points[i].Tokens)
	}
	return b.Flush()
}
