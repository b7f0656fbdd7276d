package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/matrix"
	"throughline/internal/question"
)

type matrixOptions struct {
	flags  *settings
	output output
	json   bool
	view   viewOptions
	charts charts // of which only the page
}

func newMatrix(s Streams) *cobra.Command {
	var o matrixOptions
	cmd := &cobra.Command{
		Use:   "matrix -c FILE -o DIR",
		Short: "Start servers, run clients against each, and keep what both say",
		Long: `Matrix reads a file of servers and clients, and runs each client against each server: it
starts the server, waits until it is ready, runs the client, stops all processes of both,
and goes on. Clients are command lines (sglang.bench_serving, vllm bench serve, …) or
options of throughline bench. It writes into the folder

  bench_results.txt             what happened, and all that clients printed
  results.csv, .json, .xlsx     a row per combination: raw data, and what is predicted
  pareto.svg, pareto.png        speed of a user against throughput
  logs/SERVER__CLIENT.*         outputs of servers and clients
  state.json                    what has been done

and with --html FILE a report in one file.

A combination that fails is recorded, and the next one runs. Started again, it goes on with
what has not been run, or has changed in the file; --retry also runs what failed. Ctrl-C
stops all processes and keeps what was done. docs/matrix.md describes the file.

` + exitHelp(),
		Example: `  throughline matrix -c matrix.yaml -o results
  throughline matrix -c matrix.yaml -o results --retry`,
		Args: onlyFlags("config"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runMatrix(cmd.Context(), s, &o) },
	}
	o.flags = addSettings(cmd, question.Matrix)
	addOutputs(cmd, "matrix", map[string]any{"json": &o.json, "wide": &o.view.wide, "output": &o.output, "html": &o.charts.html})
	return cmd
}

// executable is this program, the client for entries of bench options.
var executable = os.Executable

func runMatrix(ctx context.Context, s Streams, o *matrixOptions) error {
	q, err := o.flags.read()
	file, checked := o.read(s, &q)
	if err := document.Join(err, q.Check(question.Matrix), checked); err != nil {
		return question.Once(err)
	}
	program, err := executable()
	if err != nil {
		return systemError{err}
	}
	// A closed terminal ends this program; the processes would not notice.
	if !signal.Ignored(syscall.SIGHUP) {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	s.linger(file.Patience())
	r := &matrix.Runner{
		File: file, Dir: o.output.name, Page: o.charts.html.name, Retry: q.Retry, Say: func(line string) { fmt.Fprintln(s.Err, line) },
		Bench: func(options map[string]matrix.Word, result string) []string {
			words := []string{program, "bench"}
			for _, name := range slices.Sorted(maps.Keys(options)) {
				words = append(words, fmt.Sprintf("--%s=%s", name, options[name]))
			}
			return append(words, "--output-file="+result)
		},
	}
	results, err := r.Run(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(s.Err, "throughline: interrupted; all processes have ended. Started again, it goes on where it was (%s)\n", filepath.Join(o.output.name, "state.json"))
		return exitError{exitCode(ctx)}
	case err != nil:
		return systemError{err}
	}
	return o.show(s, results)
}

func (o *matrixOptions) read(s Streams, q *question.Question) (*matrix.File, error) {
	var errs []error
	if o.output.name == "" {
		errs = append(errs, ofFlag("output", errors.New("is missing: the folder of the results")))
	} else if info, err := os.Stat(o.output.name); err == nil && !info.IsDir() {
		errs = append(errs, ofFlag("output", fmt.Errorf("%s is a file; results need a folder", o.output.name)))
	}
	errs = append(errs, checkOutputs([]string{q.Config}, &o.charts.html), o.charts.checkPage())
	if q.Config == "" {
		return nil, document.Join(append(errs, ofFlag("config", errors.New("is missing: the file of servers and clients")))...)
	}
	src, err := readInput(q.Config)
	if err != nil {
		return nil, document.Join(append(errs, err)...)
	}
	f, warnings, err := matrix.Read(q.Config, src)
	warn(s, warnings)
	return f, document.Join(append(errs, err)...)
}

// show prints the results; a failed combination sets the exit code.
func (o *matrixOptions) show(s Streams, results []matrix.Result) error {
	var verdict error
	for i := range results {
		if r := &results[i]; r.Verdict == matrix.Failed {
			verdict = exitError{exitNoPlan}
			fmt.Fprintf(s.Err, "failed: %s: %s\n", r.Name(), r.Problem)
		}
	}
	if o.json {
		return errors.Join(failed(matrix.WriteJSON(s.data, results)), verdict)
	}
	v := o.view.of(s)
	text := matrix.Shown(results).Render(v) + "\n"
	for _, why := range matrix.Unpredicted(results) {
		text += v.Wrap(why + "\n")
	}
	return errors.Join(write(s.Out, text), verdict)
}
