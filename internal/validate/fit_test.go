package validate

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/internal/question"
)

const fitHeader = "model,system,engine,tp,lengths,isl,osl,concurrency,ttft_ms,tpot_ms\n"

// madeRuns is a table of runs of a deployment as a fit predicts them.
func madeRuns(t *testing.T, fit deploy.Fit, runs ...[3]int) string {
	t.Helper()
	f := NewFitter(t.Context(), question.Default())
	table := fitHeader
	for _, r := range runs {
		row := fmt.Sprintf("Llama-3.1-8B,H200,vllm,1,uniform:0.8,%d,%d,%d,1,1\n", r[0], r[1], r[2])
		points, err := f.points("made", strings.NewReader(fitHeader+row))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Predicted(points[0], fit)
		if err != nil {
			t.Fatal(err)
		}
		table += strings.Replace(row, ",1,1\n", fmt.Sprintf(",%v,%v\n", got[0], got[1]), 1)
	}
	return table
}

func fitOf(t *testing.T, table string, change func(*question.Question)) *Fitted {
	t.Helper()
	q := question.DefaultOf(question.CalibrateServing)
	if change != nil {
		change(&q)
	}
	got, err := FitServing(t.Context(), "runs.csv", strings.NewReader(table), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFitRecovers: runs that were made with scales and a wait give these back, where the fit is
// told to go as far as they say. A run between the others is predicted by them; one beyond them,
// whose wait two runs tell from prefills with little certainty, so or nearer than without a fit.
func TestFitRecovers(t *testing.T) {
	truth := deploy.Fit{Decode: 1.4, Prefill: 0.7, First: 0.05}
	table := madeRuns(t, truth, [3]int{512, 512, 4}, [3]int{512, 512, 64}, [3]int{512, 512, 256})
	got := fitOf(t, table, func(q *question.Question) { q.Exact = true })
	if f := got.Fit; math.Abs(f.Decode/1.4-1) > 0.01 || math.Abs(f.Prefill/0.7-1) > 0.02 || math.Abs(f.First-0.05) > 0.003 {
		t.Errorf("fitted %+v, made with %+v", f, truth)
	}
	for _, r := range got.Rows {
		others := 0.03
		if !strings.Contains(r.Run, " 64 clients") {
			others = max(others, math.Abs(r.Before/r.Measured-1))
		}
		if math.Abs(r.After/r.Measured-1) > 0.01 || math.Abs(r.Others/r.Measured-1) > others {
			t.Errorf("%s %s: %v ms measured, %v fitted, %v by the others", r.Run, r.Figure, r.Measured, r.After, r.Others)
		}
	}
	if got.File.Runs != 3 || len(got.File.Lengths) != 1 || got.File.Engine != "vllm" || got.File.Plan != "dp1·pp1·tp1" {
		t.Errorf("file: %+v", got.File)
	}
}

// TestFitOfOneRun: one run that is as predicted corrects nothing; one whose tokens take a fifth
// longer corrects the most of that, not all, since runs have noise.
func TestFitOfOneRun(t *testing.T) {
	none := fitOf(t, madeRuns(t, deploy.Fit{}, [3]int{1024, 1024, 32}), nil).Fit
	if math.Abs(none.Decode-1) > 1e-3 || math.Abs(none.Prefill-1) > 1e-3 || math.Abs(none.First) > 1e-3 {
		t.Errorf("a run as predicted: %+v", none)
	}
	slow := fitOf(t, madeRuns(t, deploy.Fit{Decode: 1.2}, [3]int{1024, 1024, 32}), nil)
	if d := slow.Fit.Decode; d < 1.1 || d > 1.2 {
		t.Errorf("decode ×%v for steps that take a fifth longer", d)
	}
	// At other lengths all is left of decoding, of the others 0.7, and between as much as lengths
	// are alike: of 1.5 times the tokens ln 1.5 / ln 2 of the way.
	slow.File.Prefill, slow.File.First = 2, 10
	for input, share := range map[int]float64{922: 1, 3688: 0.7, 1383: 1 - 0.3*math.Log(1.5)/math.Ln2} {
		got := slow.File.Fit(input, 922)
		if got.Decode != slow.File.Decode || math.Abs(got.Prefill-math.Pow(2, share)) > 1e-9 || math.Abs(got.First-0.01*share) > 1e-9 {
			t.Errorf("%d tokens in: %+v, want shares of %v of ×2 and 10 ms", input, got, share)
		}
	}
}

// TestFitOfSpreadLengths: where a table says how lengths are spread, the fit is for their means,
// which is what simulate looks up.
func TestFitOfSpreadLengths(t *testing.T) {
	table := "model,system,engine,tp,isl,osl,lengths,concurrency,ttft_ms,tpot_ms\nLlama-3.1-8B,H200,vllm,1,1000,200,uniform:0.1,4,50,10\n"
	if got := fitOf(t, table, nil).File.Lengths[0]; got != [2]int{550, 110} {
		t.Errorf("for %v, not the means of 100 to 1000 and 20 to 200", got)
	}
}

// TestFitRefuses: runs of two deployments, and rows without a time.
func TestFitRefuses(t *testing.T) {
	for table, want := range map[string]string{
		fitHeader + "Llama-3.1-8B,H200,vllm,1,uniform:0.8,1024,1024,4,50,10\nLlama-3.1-8B,H200,vllm,2,uniform:0.8,1024,1024,4,50,10\n": "runs.csv:3: a run of another deployment",
		fitHeader + "Llama-3.1-8B,H200,vllm,1,uniform:0.8,1024,1024,4,,\n":                                                             "runs.csv:2: no measured TTFT or TPOT",
		fitHeader + "Llama-3.1-8B,H200,vllm,1,uniform:0.8,1024,1024,4,fast,10\n":                                                       `runs.csv:2: TTFT: "fast" is not a time`,
	} {
		_, err := FitServing(t.Context(), "runs.csv", strings.NewReader(table), question.DefaultOf(question.CalibrateServing))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", table, err)
		}
	}
}

// TestTwoBackends: each backend of a log of DeepSeek-V3, fitted to its run with 16 clients by three
// numbers, tells all means and medians of its run with 32 within 7.5%. The log names no hardware
// and no version. Its servers were told SGLANG_ENABLE_FLASHINFER_GEMM, which is for Blackwell
// (github.com/sgl-project/sglang/pull/6479 of 2025-05); a pull request of 2025-06 that tunes the
// experts of B200 runs the same command. So its rows say B200 and 0.4.7, which is of that month.
func TestTwoBackends(t *testing.T) {
	for _, backend := range []string{"flashinfer", "triton"} {
		q := question.DefaultOf(question.CalibrateServing)
		q.Parts, q.Exact = "decode,prefill,first-wave", true
		open := func(clients int) (string, *os.File) {
			name := fmt.Sprintf("../../docs/runs/deepseek_v3_%s_%d.csv", backend, clients)
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return name, f
		}
		name, runs := open(16)
		got, err := FitServing(t.Context(), name, runs, q)
		if err != nil {
			t.Fatal(err)
		}
		name, others := open(32)
		rows, err := got.Against(t.Context(), name, others, q)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, r := range rows {
			if strings.Contains(r.Figure, " p9") {
				continue
			}
			seen++
			if math.Abs(r.After/r.Measured-1) > 0.075 {
				t.Errorf("%s %s: %v measured, %v predicted", backend, r.Figure, r.Measured, r.After)
			}
		}
		if seen != 7 { // means and medians of TTFT, E2E and ITL, and requests per second
			t.Errorf("%s: %d means and medians", backend, seen)
		}
	}
}
