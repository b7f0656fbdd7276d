package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"throughline/internal/matrix"
)

// Main runs the program until it is done or a signal ends it.
func Main(args []string, s Streams) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return Run(untilSignal(signals, os.Exit), args, s)
}

// untilSignal returns a context that the first signal cancels; the second ends the program at once.
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

// code follows the shell convention: 128 plus the number of the signal.
func (i interruption) code() int {
	if i.Signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// exitCode returns that of a cancelled context.
func exitCode(ctx context.Context) int {
	if i, ok := context.Cause(ctx).(interruption); ok {
		return i.code()
	}
	return exitInterrupted
}
