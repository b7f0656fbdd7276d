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

// timed are the commands whose time is measured.
var timed = []struct{ name, args string }{
	{"plan, 32 GPUs", "plan --json --model DeepSeek-V3 --system H200 --gpus 32 --weights fp8 --tpot 50 --isl 4000 --osl 1000"},
	{"plan, 1,024 GPUs", "plan --json --model DeepSeek-V3 --system H200 --gpus 1024 --weights fp8 --tpot 50 --isl 4000 --osl 1000"},
	{"simulate, 100,000 requests", "simulate --json --model Llama-3.1-8B --system H100_SXM --dp 8 --rate 40 --isl 512 --osl 512 --num-prompts 100000"},
}

// benchmarked are the Go benchmarks whose rates are measured, by the folder of their package.
var benchmarked = []struct{ folder, benchmarks string }{
	{"./estimate", "^(BenchmarkEvaluate|BenchmarkChangedSystem)$"},
}

// sample is what one run measured: seconds by the name of what took them.
type sample map[string]float64

func runSpeed(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("speed", flag.ExitOnError)
	base := f.String("base", "HEAD", "a commit to compare the working tree with")
	rounds := f.Int("rounds", 5, "times that both are measured, one after the other")
	benchtime := f.String("benchtime", "300ms", "of each Go benchmark")
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
			i = (i + round) % 2 // whoever comes first has a cooler machine
			s, err := trees[i].measure(ctx, *benchtime)
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], s)
		}
	}
	return writeSpeed(os.Stdout, trees[0].name, samples)
}

// benchmarks is the test binary of a folder.
func (t *tree) benchmarks(folder string) string {
	return filepath.Join(t.scratch, filepath.Base(folder)+".test")
}

func (t *tree) buildBenchmarks(ctx context.Context) error {
	for _, b := range benchmarked {
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
func (t *tree) measure(ctx context.Context, benchtime string) (sample, error) {
	s := sample{}
	for _, c := range timed {
		cmd := exec.CommandContext(ctx, t.program, strings.Fields(c.args)...)
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.name, c.args, err)
		}
		s[c.name+": CPU s"] = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		s[c.name+": wall s"] = time.Since(start).Seconds()
	}
	for _, b := range benchmarked {
		if _, err := os.Stat(t.benchmarks(b.folder)); err != nil {
			continue
		}
		out, err := output(ctx, filepath.Join(t.dir, b.folder), t.benchmarks(b.folder), "-test.run=^$", "-test.bench="+b.benchmarks, "-test.benchtime="+benchtime, "-test.cpu=1")
		if err != nil {
			return nil, err
		}
		s.readRates(out)
	}
	return s, nil
}

// rate is a line such as "BenchmarkEvaluate/llama  1000  12 ns/op  80000 evaluations/s".
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

// writeSpeed writes medians, and the median, the least and the largest of the ratios of one round.
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
	return w.Flush()
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
