// Package fuzzing holds what the fuzz tests of the loaders have in common.
package fuzzing

import (
	"bytes"
	"flag"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"throughline/assume"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/model"
	"throughline/plan"
	"throughline/search"
	"throughline/workload"
)

// AddCatalogue adds the built-in files to the seeds.
func AddCatalogue(f *testing.F, set catalogue.Set) {
	for _, name := range set.Names() {
		src, _ := set.Find(name)
		f.Add(src)
	}
}

// AddFiles adds the files that match a pattern to the seeds. There must be some.
func AddFiles(f *testing.F, pattern string) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatalf("no files %s: %v", pattern, err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
}

var number = regexp.MustCompile(`(?m)([:\[,\s])(-?[0-9][0-9.e+-]*|null)([,\]\s])`)

// AddExtremes adds seeds in which one number of src, or all, is at or beyond its bounds, which
// chance rarely finds.
func AddExtremes(f *testing.F, src []byte) {
	for _, extreme := range []string{
		"0", "-1", "1", "2", "3", "0.5", "7919", "65536", "1000000", "1e9", "1000000001", "9223372036854775807", "1e18",
		"1e300", "1e400", "1e-6", "1e-300", "1e-400", "null",
	} {
		replacement := []byte("${1}" + extreme + "${3}")
		f.Add(number.ReplaceAll(src, replacement))
		for _, at := range number.FindAllIndex(src, -1) {
			f.Add(slices.Concat(src[:at[0]], number.ReplaceAll(src[at[0]:at[1]], replacement), src[at[1]:]))
		}
	}
}

// CheckProblems checks that every problem has a message and lies in the file or right after its
// end.
func CheckProblems(t *testing.T, src []byte, problems []document.Problem) {
	t.Helper()
	lines := bytes.Split(bytes.TrimPrefix(src, []byte("\uFEFF")), []byte("\n"))
	for _, p := range problems {
		if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > utf8.RuneCount(lines[p.Line-1])+1 {
			t.Errorf("the problem lies outside the file: %s", p)
		}
		if p.Message == "" {
			t.Errorf("the problem has no message: %s", p)
		}
	}
}

// Skips reports whether an input is read but not evaluated: while fuzzing, most are, as reading
// takes microseconds and evaluating milliseconds. Tests evaluate all seeds.
func Skips(src []byte) bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != "" && crc32.ChecksumIEEE(src)%64 != 0
}

// Evaluate estimates a few plans of the model on the system, at precisions that the system has,
// searches for the best, and checks that all numbers make sense.
func Evaluate(t *testing.T, m *model.Model, set *model.Settings, s *hardware.System) {
	t.Helper()
	matrix, vector := s.MatrixTypes(), s.VectorTypes()
	for _, precision := range []plan.Precision{
		{Weight: 1, Activation: 1, Cache: 1, Comm: 1, MatrixType: matrix[0], AttentionType: matrix[0], VectorType: vector[0]},
		{Weight: 0.5, Activation: 4, Cache: 2, Comm: 0.5, MatrixType: matrix[len(matrix)-1], AttentionType: matrix[0], VectorType: vector[len(vector)-1]},
	} {
		problem := estimate.Problem{
			Model: m, Settings: set, System: s, Lengths: workload.Lengths{Input: 4096, Output: 1024},
			Precision: precision, Assume: &assume.Reference,
		}
		e, err := estimate.NewEvaluator(&problem)
		if err != nil {
			t.Fatal(err)
		}
		for _, procs := range []int{1, 4} {
			for _, p := range plans(m, set, procs) {
				var out estimate.Estimate
				e.Evaluate(&p, &out)
				checkNumbers(t, p.String(), reflect.ValueOf(out))
				if out.Latency <= 0 || out.Throughput <= 0 || out.Memory.Total() <= 0 {
					t.Errorf("%s: time %g, throughput %g, memory %g", p.String(), out.Latency, out.Throughput, out.Memory.Total())
				}
				const largest = 1000
				for _, cut := range e.AppendCuts(nil, &p, largest) {
					if cut < 1 || cut > largest+2 {
						t.Errorf("%s: cut at a batch of %d", p.String(), cut)
					}
				}
			}
		}
		found, err := search.Best(t.Context(), &search.Problem{
			Problem: problem, Procs: 2, Limit: 0.05, Redundant: search.Range{Low: set.Redundant, High: set.Redundant},
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
		checkNumbers(t, "best", reflect.ValueOf(found.Best))
	}
}

// plans are some valid plans on exactly procs processors.
func plans(m *model.Model, set *model.Settings, procs int) []plan.Plan {
	experts := []plan.ExpertSplit{{}}
	if m.IsMoE() {
		experts = plan.ExpertSplits(procs)
	}
	var out []plan.Plan
	for _, layout := range plan.Splits(procs, 1) {
		for _, e := range experts {
			for _, perCard := range []bool{false, true} {
				p := plan.Plan{
					Layout:    plan.Layout{Attention: layout, Experts: e, SharedReplicas: set.SharedReplicas, SharedPerCard: perCard},
					Batch:     plan.Batch{Count: 2, Size: 16},
					Redundant: set.Redundant,
				}
				if plan.ValidSplit(m, layout) && (!m.IsMoE() || p.ValidExperts(m)) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// checkNumbers checks that no number in the value is negative, infinite or not a number.
func checkNumbers(t *testing.T, what string, v reflect.Value) {
	switch v.Kind() { // no t.Helper(): it would take half of the time
	case reflect.Struct:
		for i := range v.NumField() {
			checkNumbers(t, what+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			checkNumbers(t, what, v.Index(i))
		}
	case reflect.Float64:
		if x := v.Float(); !(x >= 0) || math.IsInf(x, 0) {
			t.Errorf("%s is %g", what, x)
		}
	case reflect.Int:
		if v.Int() < 0 {
			t.Errorf("%s is %d", what, v.Int())
		}
	}
}
