package sweep_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/question"
	"throughline/internal/result"
	lines "throughline/internal/scan"
	"throughline/internal/sweep"
)

// small is a runtime file of both modes; one run of each has no plan.
const small = `{
	"pd-fusion": {"model_list": ["llama_3_8b", "llama_3_70b"], "sequence_length_list": [[512, 64]], "num_procs_list": [2],
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float16", "float16"]], "time_limit_list": [[null, 50]], "sys_list": ["H800_IB"], "output": "out"},
	"pd-split-request-optimal": {"model_list": ["llama_3_8b", "gpt_3_175b"], "sequence_length_list": [[512, 64]], "num_procs_list": [4], "pd_num_procs_list": [[2, 2]],
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float16", "float16"]], "time_limit_list": [[1000, 50]], "sys_list": [["H800_IB", "H200"]], "output": "out"}
}`

// varied is the jobs of that file at some points of numbers of its files.
func varied(t *testing.T, as string, q *question.Question) []*jobfile.Job {
	t.Helper()
	given, err := assume.Parse(as)
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := jobfile.Read(files.Machine, "small.json", []byte(small), given)
	if err != nil {
		t.Fatal(err)
	}
	points, err := lines.OfRun(files.Machine, q)
	if err == nil && points != nil {
		err = sweep.Vary(jobs, points)
	}
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// What is read back from the parts of an interrupted run is what the search gave, to the last bit
// and whatever the assumptions; runs that are there are not searched again.
func TestResume(t *testing.T) {
	q := &question.Question{}
	q.Vary, q.Changed = "sys.mem1.GBps=x0.5:x2:3", "sys.mem1.GiB=x1.5"
	for _, as := range []string{"reference", "physical"} {
		for _, job := range varied(t, as, q) {
			o, ticks := sweep.Options{Jobs: 2, Thorough: true, Raw: true}, 0
			var want, got []*result.Record
			if err := sweep.Run(t.Context(), job, o, func(r *result.Record) error { want = append(want, r); return nil }); err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(t.TempDir(), "parts")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			o.Jobs = 1
			o.Tick = func() {
				if ticks++; ticks == job.Parts()/2 {
					stop()
				}
			}
			if _, err := sweep.Resume(ctx, job, o, lines.RequestOfRun(q), at, nil); err == nil {
				t.Fatal("it was not interrupted")
			}
			before, _ := filepath.Glob(filepath.Join(at, "part-*"))
			if len(before) == 0 || len(before) == job.Len() {
				t.Errorf("%s: %d of %d runs were done", job.Mode, len(before), job.Len())
			}
			ticks, o.Tick = 0, func() { ticks++ }
			done, err := sweep.Resume(t.Context(), job, o, lines.RequestOfRun(q), at, func(r *result.Record) error { got = append(got, r); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if most := job.Parts() - len(before)*job.Parts()/job.Len(); ticks > most {
				t.Errorf("%s: %d pieces of work, of which %d were missing", job.Mode, ticks, most)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %d records, and they differ", as, job.Mode, len(got))
			}
			other := *q
			other.Changed = ""
			if _, err := sweep.Resume(t.Context(), job, o, lines.RequestOfRun(&other), at, nil); err == nil {
				t.Error("the parts of another question were taken")
			}
			if err := done(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(at); err == nil {
				t.Error("the parts are still there")
			}
		}
	}
}
