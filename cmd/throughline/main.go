// Throughline predicts how large language models run on hardware, and finds their best deployment.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"throughline/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
