package validate

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recordedRuns = "../../../shared/measurements/h200/engine"

func needRuns(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(recordedRuns); err != nil {
		t.Skip("the recorded runs are not here")
	}
}

func replay(t *testing.T, dir, steps string) *RequestsReport {
	t.Helper()
	r, err := Requests(context.Background(), dir, RequestsOptions{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecordedSteps: with the times of the recorded steps, every step does what the engine did, and
// requests see what they saw.
func TestRecordedSteps(t *testing.T) {
	needRuns(t)
	r := replay(t, recordedRuns, "recorded")
	if r.Steps != 45312 || r.Equal != r.Steps || !r.Compared {
		t.Errorf("%d of %d steps equal: %q", r.Equal, r.Steps, r.Differences)
	}
	if len(r.Metrics) != 28*29 {
		t.Errorf("%d figures of 28 runs", len(r.Metrics))
	}
	for _, m := range r.Metrics {
		if e := m.Error(); !(math.Abs(e) < 0.01) {
			t.Errorf("%+v", m)
		}
	}
}

// TestOnlyTimesAreRead: of the recorded steps nothing but their starts and ends matters.
func TestOnlyTimesAreRead(t *testing.T) {
	needRuns(t)
	dir := t.TempDir()
	for _, name := range []string{"runs.csv", "requests.csv.gz"} {
		src, err := os.ReadFile(filepath.Join(recordedRuns, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(filepath.Join(recordedRuns, "steps.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	in, w := csv.NewReader(z), csv.NewWriter(&out)
	header, err := in.Read()
	if err != nil {
		t.Fatal(err)
	}
	w.Write(header)
	for {
		row, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range header {
			if name != "run" && name != "t_start" && name != "t_end" {
				row[i] = ""
			}
		}
		w.Write(row)
	}
	w.Flush()
	if err := os.WriteFile(filepath.Join(dir, "steps.csv"), []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	want, got := replay(t, recordedRuns, "recorded"), replay(t, dir, "recorded")
	if got.Compared {
		t.Error("blank steps were compared")
	}
	if diff := cmp.Diff(want.Metrics, got.Metrics); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Predicted, got.Predicted, cmp.AllowUnexported(PredictedStep{}, stepFigures{})); diff != "" {
		t.Error(diff)
	}
}

// spread is the median and the 90th percentile of the absolute errors of a metric over all runs, in
// percent.
func spread(r *RequestsReport, metric string) (median, high float64) {
	median, high, _ = r.Spread(metric)
	return median, high
}

// TestReplayedRuns: what requests see, on step times of the run, of the table and of our own H200,
// is as close to what was measured as is claimed in docs/serving.md.
func TestReplayedRuns(t *testing.T) {
	needRuns(t)
	for steps, most := range map[string]struct{ mean, p99, meanHigh, p99High float64 }{
		"run": {2, 4, 100, 100}, "table": {8, 8, 100, 100}, "own": {8, 15, 15, 25},
	} {
		r := replay(t, recordedRuns, steps)
		for _, metric := range []string{"ttft_mean_ms", "itl_mean_ms", "tpot_mean_ms", "e2e_mean_ms", "ttft_p99_ms", "itl_p99_ms"} {
			median, high := spread(r, metric)
			limit, limitHigh := most.mean, most.meanHigh
			if strings.Contains(metric, "p99") {
				limit, limitHigh = most.p99, most.p99High
			}
			t.Logf("%s %s: median %.2f%%, 90th percentile %.2f%%", steps, metric, median, high)
			if !(median <= limit) || !(high <= limitHigh) {
				t.Errorf("%s %s: median %.2f%%, 90th percentile %.2f%%; allowed are %g%% and %g%%", steps, metric, median, high, limit, limitHigh)
			}
		}
	}
}

// small writes a folder of recorded runs: two requests of policy A, one after another.
func small(t *testing.T, change func(files map[string]string)) string {
	t.Helper()
	files := map[string]string{
		"runs.csv":     "run,model,policy,budget,max_running,kv_tokens,arrival,clients,ttft_mean_ms,steps\na,m,A,64,4,160,poisson,,15,5\n",
		"requests.csv": "run,req,arrival,input,output\na,0,0,16,2\na,1,0.005,32,3\n",
		// Step 0 computes the first prompt, step 1 the second, then both decode: the first ends,
		// the second has one more.
		"steps.csv": "run,step,t_start,t_end,n_decode,prefill_tokens,prefill_seqs,n_waiting,kv_blocks_used,sum_ctx\n" +
			"a,0,0,0.01,0,16,1,0,1,0\na,1,0.01,0.02,0,32,1,0,3,0\na,2,0.02,0.03,2,0,0,0,5,50\na,3,0.03,0.04,1,0,0,0,3,34\n",
		"step_times.csv": "model,kind,n_decode,ctx,sum_ctx,prefill_tokens,prefill_seqs,past_per_seq,gpu_ms,wall_ms\nm,P,0,0,0,16,1,0,9,10\nm,D,1,16,16,0,0,0,9,10\n",
	}
	if change != nil {
		change(files)
	}
	dir := t.TempDir()
	for name, text := range files {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSmallReplay: a folder of our own takes the same paths.
func TestSmallReplay(t *testing.T) {
	for _, steps := range []string{"recorded", "run", "table"} {
		r := replay(t, small(t, nil), steps)
		if steps == "recorded" && (r.Equal != 4 || r.Steps != 4) {
			t.Errorf("%d of %d: %v", r.Equal, r.Steps, r.Differences)
		}
		// First tokens at 10 and 20 ms, of requests at 0 and 5 ms: a mean of 12.5.
		if m := r.Metrics[0]; m.Metric != "ttft_mean_ms" || math.Abs(m.Predicted-12.5) > 1e-9 || math.Abs(100*m.Error()+100*2.5/15) > 1e-9 {
			t.Errorf("%s: %+v", steps, m)
		}
		if m := r.Metrics[1]; m.Metric != "steps" || m.Predicted != 4 {
			t.Errorf("%s: %+v", steps, m)
		}
	}
	r := replay(t, small(t, func(f map[string]string) {
		f["steps.csv"] = strings.Replace(f["steps.csv"], ",3,0\na,2", ",4,0\na,2", 1)
	}), "recorded")
	if want := []string{"a: step 1: kv_blocks_used 3, recorded 4"}; r.Equal != 3 || !slices.Equal(r.Differences, want) {
		t.Errorf("%d equal: %q", r.Equal, r.Differences)
	}
}

// TestShuffledRows: the numbers of requests and the times of steps tell their order, not the rows.
func TestShuffledRows(t *testing.T) {
	r := replay(t, small(t, func(f map[string]string) {
		for _, name := range []string{"requests.csv", "steps.csv"} {
			rows := strings.Split(strings.TrimSpace(f[name]), "\n")
			if name == "requests.csv" {
				rows[0] += ",req"
				for i := range rows[1:] {
					rows[1+i] += fmt.Sprintf(",%d", i)
				}
			}
			slices.Reverse(rows[1:])
			f[name] = strings.Join(rows, "\n") + "\n"
		}
	}), "recorded")
	if r.Equal != 4 || r.Steps != 4 {
		t.Errorf("%d of %d: %v", r.Equal, r.Steps, r.Differences)
	}
}

// TestBadRuns: what is wrong with a folder is said with its place.
func TestBadRuns(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"policy": {func(f map[string]string) { f["runs.csv"] = strings.Replace(f["runs.csv"], ",A,", ",C,", 1) }, `runs.csv: line 2: policy: "C" is not one of "A", "B"`},
		"budget": {func(f map[string]string) { f["runs.csv"] = strings.Replace(f["runs.csv"], ",64,", ",0,", 1) }, `runs.csv: line 2: budget: must be a whole number of at least 1, not "0"`},
		"nan": {func(f map[string]string) {
			f["steps.csv"] = strings.Replace(f["steps.csv"], "0.01,0,16", "NaN,0,16", 1)
		}, `steps.csv: line 2: t_end: must be a number from 0 on, not "NaN"`},
		"missing":  {func(f map[string]string) { f["steps.csv"] = "" }, "steps.csv"},
		"column":   {func(f map[string]string) { f["requests.csv"] = "run,arrival,input\n" }, `requests.csv: there is no column "output"`},
		"back":     {func(f map[string]string) { f["requests.csv"] = "run,arrival,input,output\na,1,1,1\na,0,1,1\n" }, "requests.csv: line 3: arrival: is before that of the request in front of it"},
		"unknown":  {func(f map[string]string) { f["requests.csv"] = "run,arrival,input,output\nb,1,1,1\n" }, `requests.csv: there are none of run "a"`},
		"no steps": {func(f map[string]string) { f["steps.csv"] = "run,t_start,t_end\nb,1,2\n" }, `steps.csv: there are none of run "a"`},
		"long":     {func(f map[string]string) { f["requests.csv"] = "run,arrival,input,output\na,1,200,1\n" }, "run a: request 0: 200 + 1 tokens can never run: the KV cache of a rank holds 160"},
	} {
		_, err := Requests(context.Background(), small(t, c.change), RequestsOptions{Steps: "recorded"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := Requests(context.Background(), t.TempDir(), RequestsOptions{Steps: "tabel"}); err == nil || !strings.Contains(err.Error(), `did you mean "table"?`) {
		t.Error(err)
	}
}

// TestSomeOfTheRuns: a folder whose runs.csv lists some of the runs is replayed as far as that
// goes.
func TestSomeOfTheRuns(t *testing.T) {
	r := replay(t, small(t, func(f map[string]string) {
		f["requests.csv"] += "z,0,5,16,2\nz,1,4,16,2\n"
		f["steps.csv"] += strings.Replace(strings.SplitAfter(f["steps.csv"], "\n")[1], "a,", "z,", 1)
	}), "recorded")
	if r.Unlisted != 1 || r.Equal != 4 || r.Steps != 4 {
		t.Errorf("%d unlisted; %d of %d: %v", r.Unlisted, r.Equal, r.Steps, r.Differences)
	}
}

// TestUnknownModels: runs of a model that nobody knows are left out, with the reason; a model file
// beside the runs is one.
func TestUnknownModels(t *testing.T) {
	dir := small(t, func(f map[string]string) {
		f["runs.csv"] += "b,Llama-3.1-8B,B,64,4,160,poisson,,15,5\n"
		f["requests.csv"] += "b,0,0,16,2\n"
	})
	r := replay(t, dir, "own")
	if len(r.Unpredicted) != 1 || !strings.Contains(r.Unpredicted[0], `run a: model: "m" is no file`) || len(r.Metrics) != 2 || r.Metrics[0].Run != "b" {
		t.Errorf("%q, %+v", r.Unpredicted, r.Metrics)
	}
	src, err := os.ReadFile("../../model/catalogue/Qwen3-8B.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.json"), src, 0o666); err != nil {
		t.Fatal(err)
	}
	if r := replay(t, dir, "own"); len(r.Unpredicted) != 0 || len(r.Metrics) != 4 {
		t.Errorf("%q, %+v", r.Unpredicted, r.Metrics)
	}
}
