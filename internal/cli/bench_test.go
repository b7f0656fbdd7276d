package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"throughline/assume"
	"throughline/internal/cli"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/sweep"
)

// quiet runs the program without output.
func quiet(b *testing.B, args ...string) {
	b.Helper()
	if code := cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}); code != 0 {
		b.Fatalf("exit code %d", code)
	}
}

// BenchmarkSampleProcess is the reference sample from the start of the process to the last file
// written.
func BenchmarkSampleProcess(b *testing.B) {
	program := filepath.Join(b.TempDir(), "throughline")
	if out, err := exec.Command("go", "build", "-o", program, "throughline/cmd/throughline").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	out := b.TempDir()
	for b.Loop() {
		if err := exec.Command(program, "run", "-c", "../../configs/reference_sample.json", "-o", out).Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSplitAndFusion is the example of both modes: 16 runs of four models on two systems, 356
// processors.
func BenchmarkSplitAndFusion(b *testing.B) {
	out := b.TempDir()
	for b.Loop() {
		quiet(b, "run", "-c", "../../configs/split_and_fusion.json", "-o", out)
	}
}

// BenchmarkThousandRuns compares computing a thousand columns with writing them.
func BenchmarkThousandRuns(b *testing.B) {
	src, err := os.ReadFile("../../configs/reference_sample.json")
	if err != nil {
		b.Fatal(err)
	}
	var lengths []string
	for i := range 250 {
		lengths = append(lengths, fmt.Sprintf("[%d, 1024]", 4096+8*i))
	}
	scan := strings.Replace(string(src), "[[4096, 1024]]", "["+strings.Join(lengths, ", ")+"]", 1)
	jobs, _, err := jobfile.Read(files.Machine, "scan.json", []byte(scan), &assume.Reference)
	if err != nil {
		b.Fatal(err)
	}
	if n := jobs[0].Len(); n != 1000 {
		b.Fatalf("%d runs, want 1000", n)
	}
	var computing, writing time.Duration
	for b.Loop() {
		start := time.Now()
		var records []*result.Record
		err := sweep.Run(context.Background(), jobs[0], sweep.Options{Jobs: 1}, func(r *result.Record) error {
			records = append(records, r)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		computed := time.Now()
		wide := report.NewWide()
		for _, r := range records {
			wide.Add(r)
		}
		for i := range wide.Tables() {
			if err := wide.WriteCSV(io.Discard, i, false); err != nil {
				b.Fatal(err)
			}
		}
		computing += computed.Sub(start)
		writing += time.Since(computed)
	}
	b.ReportMetric(writing.Seconds()/computing.Seconds(), "writing/computing")
}
