package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tableOf asks several questions and returns the rows of their table.
func tableOf(t *testing.T, args string) (rows []map[string]any, summary []string) {
	t.Helper()
	var got struct {
		Table   []map[string]any
		Summary []string
	}
	if err := json.Unmarshal([]byte(call(t, append(strings.Fields(args), "--json")...)), &got); err != nil {
		t.Fatal(err)
	}
	return got.Table, got.Summary
}

// TestCurveHoldsAsOneRunDoes: a point of a curve holds its limits where the same question alone
// exits 0, though its load may still rise; then the sentence does not count it as held.
func TestCurveHoldsAsOneRunDoes(t *testing.T) {
	notRacing(t)
	base := "simulate --model Llama-3.1-8B --system H100_SXM --isl 512 --osl 128 --num-prompts 500 --ttft p99:1s"
	rows, summary := tableOf(t, base+" --rate 30,40,50 --seed 3")
	rising := false
	for _, row := range rows {
		code, _, said := attempt(strings.Fields(fmt.Sprintf("%s --rate %v --seed 3", base, row["rate"]))...)
		if holds := row["holds"] == true; holds != (code == exitOK) {
			t.Errorf("rate %v: limits hold %v in the curve, exit code %d alone: %s", row["rate"], row["holds"], code, said)
		}
		rising = rising || row["rising"] == true && row["holds"] == true
	}
	if text := strings.Join(summary, " "); !rising || !strings.Contains(text, "still rises") {
		t.Errorf("a load rises: %v, but %q", rising, text)
	}
}

// TestCurveHasBands: times in a curve have the bands that the same questions have alone, in cells
// only.
func TestCurveHasBands(t *testing.T) {
	for base, axis := range map[string]string{
		"estimate --model Llama-3.1-8B --system H200 --isl 1k --osl 200":                  "--concurrency",
		"simulate --model Llama-3.1-8B --system H200 --isl 200 --osl 20 --num-prompts 50": "--rate",
	} {
		alone := call(t, append(strings.Fields(base), axis, "8")...)
		times := regexp.MustCompile(`[\d.]+ m?s (?:±\d+%|×÷[\d.]+)`).FindAllString(strings.Join(strings.Fields(alone), " "), 2)
		if len(times) < 2 {
			t.Fatalf("%s: no bands alone:\n%s", base, alone)
		}
		curve := call(t, append(strings.Fields(base), axis, "8,16")...)
		for _, want := range times {
			if !strings.Contains(curve, " "+want+" │") {
				t.Errorf("%s: no cell has %q:\n%s", base, want, curve)
			}
		}
	}
	rows, _ := tableOf(t, "estimate --model Llama-3.1-8B --system H200 --isl 1k --osl 200 --concurrency 8,16")
	if _, isNumber := rows[0]["ttft_ms"].(float64); !isNumber {
		t.Errorf("TTFT for programs is %v", rows[0]["ttft_ms"])
	}
}

// TestPlannedPoolsFit: the memory of one pool is not compared with what is usable in the other.
func TestPlannedPoolsFit(t *testing.T) {
	notRacing(t)
	rows, _ := tableOf(t, "plan --model Llama-3.1-70B --system H100_SXM,H200 --gpus 8 --isl 3000 --osl 800 --tpot 40ms")
	for _, row := range rows {
		if row["fits"] != true {
			t.Errorf("%v: a plan that does not fit: %v", row["system"], row)
		}
	}
}

// TestCurvesOpenWithASentence: several questions are answered in words first, also where there is
// nothing to choose among.
func TestCurvesOpenWithASentence(t *testing.T) {
	runs := "simulate --model Llama-3.1-8B --system H200 --isl 200 --osl 20 --num-prompts 50"
	for args, want := range map[string]string{
		"estimate --model Llama-3.1-8B --system H200 --isl 1k,8k": `^From isl 1024 tokens to isl 8192 tokens TTFT goes from [\d.]+ ms ±\d+% to [\d.]+ ms ±\d+%, TPOT goes from [\d.]+ ms ±\d+% to [\d.]+ ms ±\d+% and tokens/s per GPU goes from`,
		// Lengths are asked for, systems chosen among; what does not fit is not the best; nothing
		// is chosen by a limit.
		"estimate --model Qwen3-32B --system H100_SXM,H200 --isl 1k,4k --batch 8":         `^Best is system H200 for 2 of 2 loads, from \d+ tokens/s per GPU, TPOT [\d.]+ ms at isl 1024 tokens to \d+ tokens/s`,
		"estimate --model Qwen3-32B --system H100_SXM --batch 4,64":                       `^Best is batch 4: .* 1 of 2 points does not fit into memory\.`,
		"estimate --model Qwen3-32B --system H100_SXM --phase decode --batch 64,128":      `^None of 2 points fits into memory\.`,
		"estimate --model Qwen3-32B --system H100_SXM --phase decode --batch 1,4":         `^From batch 1 to batch 4 step goes from [\d.]+ ms to [\d.]+ ms\.`,
		"plan --model Llama-3.1-8B --system H100_SXM --gpus 1 --engine vllm --tpot 20,40": `^From TPOT limit 20 ms to TPOT limit 40 ms TTFT goes .* and tokens/s per GPU goes from \d+ to \d+\.`,
		runs + " --rate 5 --seed 1:3":                                                     `^Over 3 runs p99 TTFT is [\d.]+ ± [\d.]+ ms and p99 TPOT is [\d.]+ ± [\d.]+ ms\.`,
		runs + " --rate 5,10 --ttft p99:9s":                                               `^It holds 10 requests/s, the highest that was asked \(p99 TTFT ≤ 9 s\)\.`,
		runs + " --system L40S,H200 --rate 5,10 --ttft p99:1ms":                           `^With system L40S it does not hold its limits at 5 requests/s`,
	} {
		_, out, _ := attempt(strings.Fields(args)...)
		if text := strings.Join(strings.Fields(out), " "); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%s begins with %.200q, want %s", args, text, want)
		}
	}
}

// TestAxisStandsOnce: what an axis says, no other column of the terminal repeats.
func TestAxisStandsOnce(t *testing.T) {
	out := call(t, strings.Fields("estimate --model Llama-3.1-8B --system H200 --engine sglang,vllm")...)
	_, table, _ := strings.Cut(out, "┌")
	header, _, _ := strings.Cut(table, "├")
	if n := strings.Count(header, "engine"); n != 1 {
		t.Errorf("engine stands over %d columns:\n%s", n, out)
	}
}

// TestChartOfACurve: -o names the file of a curve as it does of other charts, and still that of
// points.
func TestChartOfACurve(t *testing.T) {
	t.Chdir(t.TempDir())
	call(t, strings.Fields("estimate --model Llama-3.1-8B --system H200 --batch 1,2 --chart lines -o lines.svg")...)
	if svg := string(readFile(t, "lines.svg")); !strings.Contains(svg, "</svg>") {
		t.Errorf("no chart but %.80q", svg)
	}
	if code, _, said := attempt(strings.Fields("estimate --model Llama-3.1-8B --system H200 -o x.csv")...); code != exitBadInput || !strings.Contains(said, "-o works with --points and --chart only") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// TestNoTimePerToken: where requests end with their first token, nothing is said of a time between
// tokens.
func TestNoTimePerToken(t *testing.T) {
	args := strings.Fields("explain --model Llama-3.1-8B --system H200 --osl 1 --batch 4")
	if out := call(t, args...); !strings.HasPrefix(out, "There is no TPOT: requests end with their first token.") || strings.Contains(out, "0 s") {
		t.Errorf("explained as\n%.300s", out)
	}
	var got struct {
		Parts struct{ TPOT, TTFT []any }
	}
	if err := json.Unmarshal([]byte(call(t, append(args, "--json")...)), &got); err != nil || got.Parts.TPOT == nil || len(got.Parts.TPOT) != 0 || len(got.Parts.TTFT) == 0 {
		t.Errorf("parts %+v (%v)", got.Parts, err)
	}
}

// TestRunSaysWhatItCosts: the sentence over a run has the price of a token, which is that of the
// GPUs over what they answered, beside the rate that was asked for and the one of the run; whose
// price it is, is said.
func TestRunSaysWhatItCosts(t *testing.T) {
	out := strings.Join(strings.Fields(call(t, strings.Fields("simulate --model Llama-3.1-8B --system H100_SXM --tp 2 --rate 5 --isl 200 --osl 20 --num-prompts 60")...)), " ")
	m := regexp.MustCompile(`at 5 requests/s \(([\d.]+) in this run\): .* takes \$([\d.]+) per million output tokens and .* price: H100_SXM for \$([\d.]+) per hour .* Output token throughput \(tok/s\): ([\d.]+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("a run begins with %.600q", out)
	}
	var v [5]float64
	for i := 1; i < len(m); i++ {
		v[i], _ = strconv.ParseFloat(m[i], 64)
	}
	if want := 2 * v[3] / 3600 / v[4] * 1e6; math.Abs(v[2]/want-1) > 0.005 { // three digits are printed
		t.Errorf("$%g per million output tokens, not $%g", v[2], want)
	}
}

// TestPointsAreQuestions: the settings of a point, asked alone, have the answer of the point.
func TestPointsAreQuestions(t *testing.T) {
	notRacing(t)
	for base, axes := range map[string]string{
		"estimate --model Llama-3.1-8B --system H200 --concurrency 8":                                   "--vary sys.mem1.GBps=x0.5:x2:2 --vary isl=1k,3k",
		"plan --model Llama-3.1-8B --system H200 --tpot 20ms":                                           "--vary sys.matrix.bfloat16.tflops=x0.5,x2 --vary gpus=1,2",
		"simulate --model Llama-3.1-8B --system H200 --engine vllm --isl 200 --osl 20 --num-prompts 50": "--vary engine.scheduling.step_seconds=x1:x3:2 --vary rate=4,8",
	} {
		var all struct {
			Points []struct {
				Settings map[string]any
				Answer   json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(call(t, append(strings.Fields(base+" "+axes), "--json")...)), &all); err != nil {
			t.Fatal(err)
		}
		if len(all.Points) != 4 {
			t.Fatalf("%s has %d points", base, len(all.Points))
		}
		for _, p := range all.Points {
			args := append(strings.Fields(base), "--json")
			for name, v := range p.Settings {
				if word := fmt.Sprint(v); strings.Contains(name, ".") {
					args = append(args, "--set", name+"="+word)
				} else {
					args = append(args, "--"+name, word)
				}
			}
			if alone := call(t, args...); compact(t, []byte(alone)) != compact(t, p.Answer) {
				t.Errorf("%s: other than the point %v", strings.Join(args, " "), p.Settings)
			}
		}
	}
}

func compact(t *testing.T, text []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestJoulesAreAFigure: output tokens per joule need no power that the user names where the watts of
// the chip are known; of a figure that no point has, the answer says what it is.
func TestJoulesAreAFigure(t *testing.T) {
	rows, _ := tableOf(t, "estimate --model Llama-3.1-8B --system H200 --batch 8,16")
	for _, row := range rows {
		perJoule, joules := row["tokens_per_joule"].(float64), row["joules_per_output_token"].(float64)
		if math.Abs(perJoule*joules-1) > 1e-9 {
			t.Errorf("%v tokens per joule of %v joules each", perJoule, joules)
		}
	}
	out := call(t, strings.Fields("estimate --model Llama-3.1-8B --system H200 --batch 8,16 --optimise max:headroom --optimise min:tpot")...)
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "no point has headroom (by how much") {
		t.Error(out)
	}
}
