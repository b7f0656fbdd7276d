// Throughline predicts how large language models run on hardware, and finds their best deployment.
package main

import (
	"os"
	"runtime/debug"

	"throughline/internal/cli"
)

func main() {
	// Questions leave garbage and keep next to nothing: twice the memory saves a tenth of the time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
