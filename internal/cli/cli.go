// Package cli is the command line of the program: a file per command, with the logic elsewhere.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"throughline/internal/atomicfile"
	"throughline/internal/document"
	"throughline/internal/matrix"
)

// Exit codes.
const (
	exitOK          = 0
	exitNoPlan      = 1 // understood, but nothing works
	exitBadInput    = 2
	exitFailed      = 3   // of the machine: a full disk, a read-only folder
	exitLimits      = 4   // limits that were asked for do not hold
	exitInterrupted = 130 // by Ctrl-C
	exitTerminated  = 143 // by SIGTERM
)

// exitCodes says what they mean, for the help and docs/output.md.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitNoPlan, "understood, but nothing was found, served or answered"},
	{exitBadInput, "the input has problems; nothing was written or started"},
	{exitFailed, "the results could not be written"},
	{exitLimits, "done, but limits that were asked for do not hold (simulate, bench), or answers moved (validate golden)"},
	{exitInterrupted, "interrupted by Ctrl-C"},
	{exitTerminated, "ended by SIGTERM"},
}

func exitHelp() string {
	out := "Exit codes:\n"
	for _, e := range exitCodes {
		out += fmt.Sprintf("\n  %-4d %s", e.code, e.meaning)
	}
	return out
}

// exitError ends a command with a code; its text was already printed.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// systemError is a failure outside the user's control.
type systemError struct{ error }

func (e systemError) Unwrap() error { return e.error }

// patience is how long a cancelled command may take to end; one that ignores its context is
// abandoned, since people and service managers do not wait much longer.
const patience = 50 * time.Millisecond

// Run executes the program and returns its exit code.
func Run(ctx context.Context, args []string, given Streams) int {
	s, out, messages := guardStreams(given)
	var lingering atomic.Int64
	s.linger = func(d time.Duration) { lingering.Store(int64(d)) }
	root := newRoot(s)
	root.SetArgs(args)
	completeOnRequest(root, args)
	done := make(chan int, 1)
	go func() {
		cmd, err := root.ExecuteContextC(ctx)
		done <- finish(ctx, s, cmd, lostOutput(err, out))
	}()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	for waited := time.Duration(0); waited < patience+time.Duration(lingering.Load()); { // a command may ask for more while it ends
		more := patience + time.Duration(lingering.Load()) - waited
		select {
		case code := <-done:
			return code
		case <-time.After(more):
			waited += more
		}
	}
	out.close()
	messages.close()
	atomicfile.Abandon()
	matrix.Abandon()
	printed := make(chan struct{})
	go func() { printInterrupted(given.Err); close(printed) }()
	select {
	case <-printed:
	case <-time.After(patience): // no one reads
	}
	return exitCode(ctx)
}

// lostOutput turns unwritten output into the failure of a command that did not notice.
func lostOutput(err error, out *sink) error {
	var exit exitError
	if failure := out.failure(); failure != nil && (err == nil || errors.As(err, &exit) || errors.Is(err, failure)) {
		return systemError{fmt.Errorf("standard output: %w", failure)}
	}
	return err
}

func printInterrupted(w io.Writer) {
	fmt.Fprintln(w, "throughline: interrupted; what was written before is complete")
}

// finish prints an error and chooses the exit code.
func finish(ctx context.Context, s Streams, cmd *cobra.Command, err error) int {
	var exit exitError
	var problems *document.Error
	var system systemError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, context.Canceled):
		printInterrupted(s.Err)
		return exitCode(ctx)
	case errors.As(err, &problems):
		fmt.Fprintln(s.Err, &document.Error{Problems: asFlags(cmd, problems.Problems)})
		n := len(problems.Problems)
		if n == 1 {
			fmt.Fprintln(s.Err, "throughline: 1 problem; nothing was written")
		} else {
			fmt.Fprintf(s.Err, "throughline: %d problems; nothing was written\n", n)
		}
		return exitBadInput
	case errors.As(err, &system):
		fmt.Fprintln(s.Err, "throughline:", err)
		return exitFailed
	}
	fmt.Fprintln(s.Err, "throughline:", withFlags(cmd, err.Error()))
	return exitBadInput
}

// Commands is the program's tree of commands, for its manual and its completions.
func Commands() *cobra.Command { return newRoot(Streams{Out: io.Discard, Err: io.Discard}) }

func newRoot(s Streams) *cobra.Command {
	wantsVersion := false // for the version
	root := &cobra.Command{
		Use:   "throughline",
		Short: "Predict how a large language model runs on hardware, and find its best deployment",
		Long: `Throughline predicts how large language models run on existing and hypothetical
hardware, finds the best deployment, and explains it.

  plan      find what to launch on a number of GPUs
  estimate  predict one deployment: TTFT, TPOT, throughput, memory
  diff      say why one row of a plan beats another
  explain   show why: operators, memory, sensitivities, the hardware that would reach a goal
  simulate  send requests through a deployment: percentiles, rates it holds, traces
  bench     send the same requests to a real server, and measure what its clients see
  emulate   answer requests over HTTP in the time that a deployment would take
  matrix    start servers, run clients against each, and keep what both say
  run       scan models, lengths, GPUs and systems from a runtime file, as CSV tables
  sweep     scan any numbers of chips and settings, on one machine or a cluster

` + exitHelp(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wantsVersion {
				return write(s.Out, versionLine())
			}
			return cmd.Help()
		},

		PersistentPreRun: func(cmd *cobra.Command, _ []string) { noteOutputs(cmd, s) },
	}
	root.SetFlagErrorFunc(flagError)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.AddCommand(newRun(s), newPlan(s), newEstimate(s), newExplain(s), newCompare(s), newSimulate(s),
		newDiff(s),
		newWeb(s),
		newBench(s),
		newEmulate(s),
		newMatrix(s),
		newMCP(s),
		newScenario(s),
		newSweep(s),
		newComm(s), newCalibrate(s), newValidate(s), newInit(s), newCheck(s), newModels(s), newSystems(s), newSchema(s), newVersion(s))
	addCompletion(root)
	root.Flags().BoolVarP(&wantsVersion, "version", "v", false, "version for throughline")
	fitHelp(root, s.Width)
	return root
}

func warn(s Streams, warnings []document.Problem) {
	for _, w := range warnings {
		fmt.Fprintln(s.Err, "warning:", w)
	}
}
