package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Main is the program as it is started: until it is done, or until a signal ends it. A second signal ends it at once.
func Main(args []string, s Streams) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := <-signals
		signal.Stop(signals) // the next one has its usual effect
		cancel(interruption{first})
	}()
	return Run(ctx, args, s)
}

// interruption is the signal that ended the program.
type interruption struct{ os.Signal }

func (i interruption) Error() string { return i.String() }

// exitCode is what a shell sees of a process that a signal ended: 128 and the number of the signal.
func exitCode(ctx context.Context) int {
	if i, ok := context.Cause(ctx).(interruption); ok && i.Signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}
