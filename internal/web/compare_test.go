package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Kernels of a profile stand beside the operators of the step, in the page and for programs.
func TestProfile(t *testing.T) {
	kernels := "Name,Calls,Total Time (ns)\nflash_fwd_splitkv_kernel,32,32000000\nnvjet_hsh_gemm,128,64000000\nrms_norm_kernel,64,640000\n"
	s := NewServer(Options{Key: testKey, Deadline: 10 * time.Minute, Files: map[string][]byte{"kernels.csv": []byte(kernels)}})
	const question = "batch=8&isl=256&kernels=kernels.csv&model=llama_3_8b&osl=32&system=H200"
	page := get(s, "GET", "/compare?"+question, nil).Body.String()
	// 32 layers ran attention once each: one step, in which attention takes 32 ms.
	for _, want := range []string{"Kernels take 96.6 ms of a step measured", `<td class="num">32</td>`, "measured less predicted", "shares of the time"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	answer := get(s, "GET", "/api/v1/compare?"+question, nil)
	var of struct {
		Step struct {
			Steps    float64
			Measured float64 `json:"measured_ms"`
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &of); err != nil || of.Step.Steps != 1 || of.Step.Measured != 96.64 {
		t.Errorf("%v, %+v: %.300s", err, of, answer.Body)
	}
	if both := led(s, "/compare?"+question+"&measured=tpot%3D110ms").Body.String(); !strings.Contains(both, "Of the measured TPOT of 110 ms, 13.4 ms are between kernels") {
		t.Error("the measured TPOT is not set beside the kernels")
	}
}

// Of a table the runs nearest to the question are predicted: those of its model before others, and
// no more than are drawn.
func TestNearRuns(t *testing.T) {
	table := "model,system,engine,tp,isl,osl,concurrency,ttft_mean_ms,tpot_mean_ms\n"
	for i := range mostNear + 10 {
		table += fmt.Sprintf("Llama-3.1-8B,H100,vllm,1,%d,16,4,20,8\n", 400+i)
	}
	table += "Qwen3-32B,H100,vllm,2,256,16,4,40,12\nLlama-3.1-8B,H200,vllm,1,256,16,4,15,7\n"
	s := NewServer(Options{Key: testKey, Deadline: 10 * time.Minute, Files: map[string][]byte{"runs.csv": []byte(table)}})
	const question = "/compare?concurrency=4&engine=vllm&isl=256&model=Llama-3.1-8B&osl=16&runs=%s&system=H200"
	got := get(s, "GET", fmt.Sprintf(question, "runs.csv"), nil)
	body := got.Body.String()
	if got.Code != 200 || !strings.Contains(body, fmt.Sprintf("The nearest %d runs of runs.csv", mostNear)) || !strings.Contains(body, "<td class=\"num\">15 ms</td>") || strings.Contains(body, "Qwen3-32B H100") {
		t.Errorf("status %d: %v %v", got.Code, strings.Contains(body, "The nearest"), strings.Contains(body, "Qwen3-32B H100"))
	}
	if gone := get(s, "GET", fmt.Sprintf(question, "gone.csv"), nil); gone.Code != 200 || !strings.Contains(gone.Body.String(), "gone.csv is not here") {
		t.Errorf("a table that is not here: status %d", gone.Code)
	}
}
