//go:build unix

// Command mutate asks whether the tests would notice a mistake. It changes one operator, number or
// statement at a time, by an overlay, so that no file of the tree is touched, and runs the tests of
// the package, then of those that import it:
//
//	mutate -packages "op cost" -n 30 -seed 7
//
// It writes mutate.csv: file, line, mutation, status. A mutant that no test can tell from the
// program is listed in equivalent.csv, with the reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"throughline/internal/table"
)

// What became of a mutant.
const (
	killed     = "killed"
	survived   = "survived"
	equivalent = "equivalent"
	timeout    = "timeout"
	invalid    = "invalid" // does not compile: another is drawn
)

func main() {
	packages := flag.String("packages", "", "packages to change, by their folders (default: the domain)")
	n := flag.Int("n", 30, "mutants")
	seed := flag.Uint64("seed", 1, "of the draw")
	importers := flag.String("importers", "all", "whose tests run after those of the package: all, none, or folders")
	workers := flag.Int("workers", 1, "mutants at a time")
	out := flag.String("out", "mutate.csv", "the table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Fields(*packages), *n, *seed, *importers, *workers, *out); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// domain is what is changed unless the caller says otherwise.
var domain = []string{"op", "cost", "collective", "schedule", "estimate", "search", "plan", "serving", "serving/simulate", "experts", "hardware/kernel", "engine"}

// result is a mutant and what became of it.
type result struct {
	*mutant
	status, by string
}

func run(ctx context.Context, packages []string, n int, seed uint64, importers string, workers int, out string) error {
	if len(packages) == 0 {
		packages = domain
	}
	tree, err := load(ctx, importers)
	if err != nil {
		return err
	}
	var all []*mutant
	for _, name := range packages {
		found, err := tree.mutants(name)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if err := tree.reasons(all); err != nil {
		return err
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	results, err := tree.judge(ctx, all, n, workers)
	slices.SortFunc(results, func(a, b result) int { return a.compare(b.mutant) })
	return errors.Join(err, write(out, results), summary(results, len(all), seed))
}

// judge runs the tests on mutants in order until there are n that compile. Which those are depends
// on the order alone, not on which worker ends first. What was judged before an error, or before
// the context ended, is returned with it.
func (t *tree) judge(ctx context.Context, all []*mutant, n, workers int) ([]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	verdicts := make([]result, len(all))
	next, valid := 0, 0
	var lock sync.Mutex
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for ctx.Err() == nil {
				lock.Lock()
				i, enough := next, valid >= n || next >= len(all)
				next++
				lock.Unlock()
				if enough {
					return
				}
				r, err := t.verdict(ctx, all[i])
				if err != nil {
					cancel(err)
					return
				}
				lock.Lock()
				if verdicts[i] = r; r.status != invalid {
					valid++
					fmt.Fprintf(os.Stderr, "%d/%d %-10s %s:%d %s %s\n", valid, n, r.status, r.file, r.line, r.change, r.by)
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	var out []result
	for _, r := range verdicts {
		if r.status != "" && r.status != invalid && len(out) < n {
			out = append(out, r)
		}
	}
	return out, context.Cause(ctx)
}

func write(name string, results []result) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := table.NewWriter(f, table.CSV, []table.Column[result]{
		{Name: "file", Value: func(r result) any { return r.file }},
		{Name: "line", Kind: table.Count, Value: func(r result) any { return r.line }},
		{Name: "mutation", Value: func(r result) any { return r.change }},
		{Name: "status", Value: func(r result) any { return r.status }},
	})
	for _, r := range results {
		if err := w.Add(r); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(w.Close(), f.Close())
}

// summary prints what share the tests miss, by package; a run that never ends has been noticed.
func summary(results []result, candidates int, seed uint64) error {
	if len(results) == 0 {
		return errors.New("no mutant was judged")
	}
	by := map[string][]result{}
	for _, r := range results {
		by[r.pkg] = append(by[r.pkg], r)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		fmt.Printf("%-20s %s\n", name, rates(by[name]))
	}
	fmt.Printf("%-20s %s; drawn from %d by seed %d\n", "all", rates(results), candidates, seed)
	return nil
}

func rates(results []result) string {
	count := map[string]int{}
	own := 0
	for _, r := range results {
		count[r.status]++
		if (r.status == killed || r.status == timeout) && r.by == r.pkg {
			own++
		}
	}
	judged := len(results) - count[equivalent]
	share := func(n int) string { return fmt.Sprintf("%d (%.1f%%)", n, 100*float64(n)/float64(max(1, judged))) }
	return fmt.Sprintf("%d mutants, %d equivalent, %d killed, %d timeouts; %s survive, %s the tests of their own package",
		len(results), count[equivalent], count[killed], count[timeout], share(count[survived]), share(judged-own))
}
