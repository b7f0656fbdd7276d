package jobfile

import (
	"errors"
	"os"
	"testing"

	"throughline/assume"
	"throughline/internal/document"
	"throughline/internal/test/fuzzing"
	"throughline/internal/test/racing"
)

// FuzzRuntime reads files that may be anything, without access to other files than the built-in
// ones: there are problems with a place in the file, or runs whose searches can start.
func FuzzRuntime(f *testing.F) {
	if racing.Enabled {
		f.Skip("nothing runs beside")
	}
	fuzzing.AddFiles(f, "../../configs/*.json")
	fuzzing.AddFiles(f, "../cli/testdata/bad/runtime/*.json")
	sample, err := os.ReadFile("../../configs/reference_sample.json")
	if err != nil {
		f.Fatal(err)
	}
	fuzzing.AddExtremes(f, sample)
	f.Fuzz(func(t *testing.T, src []byte) {
		jobs, _, err := Read(nil, "runtime.json", src, &assume.Reference)
		var problems *document.Error
		switch {
		case errors.As(err, &problems):
			fuzzing.CheckProblems(t, src, problems.Problems)
		case err != nil:
			t.Fatal(err)
		case len(jobs) == 0:
			t.Error("no jobs and no problems")
		}
		for _, job := range jobs {
			if job.Len() == 0 || job.Len() > maxRuns || job.Output == "" {
				t.Errorf("%s: %d runs into %q", job.Mode, job.Len(), job.Output)
			}
			for i := range min(job.Len(), 100) {
				r := job.At(i)
				checkRun(t, &r)
			}
		}
	})
}

func checkRun(t *testing.T, r *Run) {
	d := &r.Decode
	if r.Model == nil || r.Decode.System == nil || r.Prefill.System == nil || r.Lengths.Input < 1 || r.Lengths.Output < 1 || r.Procs < 1 || r.Procs > r.Decode.System.MaxProcs() {
		t.Errorf("run %+v", r)
	}
	if d.Limit < 0 || (d.Limit == 0) != (r.Limits.TPOT == nil) {
		t.Errorf("limit of %g s from %v ms", d.Limit, r.Limits.TPOT)
	}
	if d.Redundant.Low < 0 || d.Redundant.High < d.Redundant.Low || d.Redundant.High > maxRedundant {
		t.Errorf("redundant experts from %d to %d", d.Redundant.Low, d.Redundant.High)
	}
	for _, l := range d.Layouts {
		if l.Procs() < 1 {
			t.Errorf("layout %v", l)
		}
	}
	for _, b := range d.Batches {
		if b.Count < 1 || b.Size < 1 || b.Count*b.Size < 1 {
			t.Errorf("batch %v", b)
		}
	}
}
