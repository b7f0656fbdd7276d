package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// timed are the commands to measure.
var timed = []struct{ name, args string }{
	{"plan, 32 GPUs", "plan --json --model DeepSeek-V3 --system H200 --gpus 32 --weights fp8 --tpot 50 --isl 4000 --osl 1000"},
	{"plan, 1,024 GPUs", "plan --json --model DeepSeek-V3 --system H200 --gpus 1024 --weights fp8 --tpot 50 --isl 4000 --osl 1000"},
	{"simulate, 100,000 requests", "simulate --json --model Llama-3.1-8B --system H100_SXM --dp 8 --rate 40 --isl 512 --osl 512 --num-prompts 100000"},
}

// benchmarked are the Go benchmarks by package folder, with counts that take about a second. Some
// of their cases have a slash in their names.
var benchmarked = []struct{ name, folder, benchmark, times string }{
	{"evaluations", "./estimate", "^BenchmarkEvaluate$", "100000x"},
	{"changed systems, all numbers", "./estimate", "^BenchmarkChangedSystem$/.*/^all$|^BenchmarkChangedSystem$/.*/.*/^all$", "30000x"},
	{"changed systems, one number", "./estimate", "^BenchmarkChangedSystem$/.*/^slowest$|^BenchmarkChangedSystem$/.*/.*/^slowest$", "100x"},
}

// sample is the seconds of one run by name.
type sample map[string]float64

func runSpeed(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("speed", flag.ExitOnError)
	base := f.String("base", "HEAD", "a commit to compare the working tree with")
	rounds := f.Int("rounds", 5, "times that both are measured, one after the other")
	f.Parse(args)
	var trees [2]*tree
	for i, commit := range []string{*base, ""} {
		t, err := treeOf(ctx, commit)
		defer t.remove()
		if err != nil {
			return err
		}
		if err := t.buildBenchmarks(ctx); err != nil {
			return err
		}
		trees[i] = t
	}
	var samples [2][]sample
	for round := range *rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
		for i := range trees {
			i = (i + round) % 2 // the first has a cooler machine
			s, err := trees[i].measure(ctx)
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], s)
		}
	}
	return writeSpeed(os.Stdout, trees[0].name, samples)
}

// benchmarks returns the test binary of a folder.
func (t *tree) benchmarks(folder string) string {
	return filepath.Join(t.scratch, filepath.Base(folder)+".test")
}

func (t *tree) buildBenchmarks(ctx context.Context) error {
	for _, b := range benchmarked {
		if _, err := os.Stat(t.benchmarks(b.folder)); err == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(t.dir, b.folder)); err != nil {
			fmt.Fprintf(os.Stderr, "%s has no %s: its benchmarks are left out\n", t.name, b.folder)
			continue
		}
		if _, err := output(ctx, t.dir, "go", "test", "-trimpath", "-c", "-o", t.benchmarks(b.folder), b.folder); err != nil {
			return err
		}
	}
	return nil
}

// measure runs everything once.
func (t *tree) measure(ctx context.Context) (sample, error) {
	s := sample{}
	for _, c := range timed {
		if _, err := s.time(c.name, exec.CommandContext(ctx, t.program, strings.Fields(c.args)...)); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	for _, b := range benchmarked {
		if _, err := os.Stat(t.benchmarks(b.folder)); err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, t.benchmarks(b.folder), "-test.run=^$", "-test.bench="+b.benchmark, "-test.benchtime="+b.times, "-test.cpu=1")
		cmd.Dir = filepath.Join(t.dir, b.folder)
		out, err := s.time(b.name, cmd)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		s.readRates(out)
	}
	return s, nil
}

// time runs a command and records its processor time, which other programs hardly change, and its
// wall clock time.
func (s sample) time(name string, cmd *exec.Cmd) (string, error) {
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	s[name+": CPU s"] = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	s[name+": wall s"] = time.Since(start).Seconds()
	return string(out), nil
}

// rate matches lines such as "BenchmarkEvaluate/llama  1000  12 ns/op  80000 evaluations/s".
var rate = regexp.MustCompile(`^Benchmark(\S+)\s.*?([0-9.e+]+) (\w+/s)\b`)

func (s sample) readRates(out string) {
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		if m := rate.FindStringSubmatch(lines.Text()); m != nil {
			if v, err := strconv.ParseFloat(m[2], 64); err == nil {
				s[m[1]+": "+m[3]] = v
			}
		}
	}
}

// writeSpeed writes medians, and the median, least and largest ratio within a round.
func writeSpeed(out io.Writer, base string, samples [2][]sample) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tworking tree\tratio\tspread\t  what\n", base)
	for _, name := range sortedKeys(samples[1][0]) {
		var before, after, ratios []float64
		for round := range samples[1] {
			a, ok := samples[0][round][name]
			b := samples[1][round][name]
			if !ok {
				continue
			}
			before, after, ratios = append(before, a), append(after, b), append(ratios, b/a)
		}
		if len(ratios) == 0 {
			fmt.Fprintf(w, "\t\t\t\t  %s (of the working tree alone)\n", name)
			continue
		}
		fmt.Fprintf(w, "%.4g\t%.4g\t%.3f\t%.3f to %.3f\t  %s\n", median(before), median(after), median(ratios), slices.Min(ratios), slices.Max(ratios), name)
	}
	fmt.Fprint(w, "\t\t\t\t  less is better of s, more of rates: evaluations/s and systems/s by the clock\n")
	return w.Flush()
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
