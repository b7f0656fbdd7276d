package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"throughline/internal/matrix"
)

// Main is the program as it is started: until it is done, or until a signal ends it.
func Main(args []string, s Streams) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return Run(untilSignal(signals, os.Exit), args, s)
}

// untilSignal is a context that the first signal cancels. The second one ends the program, whatever it is doing: whoever
// asks twice does not want to wait.
func untilSignal(signals <-chan os.Signal, exit func(int)) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		cancel(interruption{<-signals})
		again := interruption{<-signals}
		matrix.Abandon()
		exit(again.code())
	}()
	return ctx
}

// interruption is the signal that ended the program.
type interruption struct{ os.Signal }

func (i interruption) Error() string { return i.String() }

// code is what a shell sees of a process that a signal ended: 128 and the number of the signal.
func (i interruption) code() int {
	if i.Signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// exitCode is that of a cancelled context.
func exitCode(ctx context.Context) int {
	if i, ok := context.Cause(ctx).(interruption); ok {
		return i.code()
	}
	return exitInterrupted
}
