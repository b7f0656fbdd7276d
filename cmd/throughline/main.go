// Throughline predicts how large language models run on hardware, and finds their best deployment.
package main

import (
	"os"

	"throughline/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
