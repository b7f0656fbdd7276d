package throughline_test

import (
	"context"
	"encoding/json"
	"fmt"

	"throughline"
)

// decode reads the JSON of an answer.
func decode(answer any, into any) {
	text, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		panic(err)
	}
}

func ExampleEstimate() {
	got, err := throughline.Estimate(context.Background(), throughline.Question{
		"model": "Llama-3.1-8B", "system": "H200", "tp": "2", "engine": "vllm", "concurrency": "32", "isl": "2000", "osl": "500",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var answer struct {
		Engine  string
		Clients struct {
			TTFT float64 `json:"ttft_ms"`
			TPOT float64 `json:"tpot_ms"`
		}
	}
	decode(got, &answer)
	fmt.Printf("%s: TTFT %.0f ms, TPOT %.1f ms\n", answer.Engine, answer.Clients.TTFT, answer.Clients.TPOT)
	// Output:
	// vllm: TTFT 58 ms, TPOT 7.2 ms
}

func ExampleEstimate_mistakes() {
	_, err := throughline.Estimate(context.Background(), throughline.Question{"model": "Llama-3.1-8B", "system": "H2000", "tp": "three", "batchs": "8"})
	fmt.Println(err)
	// Output:
	// tp: must be a whole number, not "three"
	// unknown setting batchs; did you mean batch?
	// system: "H2000" is no file and no built-in system; did you mean "H200"?
}

func ExampleExplain() {
	got, err := throughline.Explain(context.Background(), throughline.Question{
		"model": "Llama-3.1-8B", "system": "H200", "batch": "32", "seek": "mem1.GBps", "until": "tpot=5ms",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var answer struct {
		Explained map[string]struct {
			Operators []struct {
				Name  string
				Share float64
			}
			Seek struct{ Now, Value float64 }
		}
	}
	decode(got, &answer)
	step := answer.Explained["decode"]
	for _, o := range step.Operators {
		if o.Share > 0.15 {
			fmt.Printf("%s takes %.0f%% of the decode step\n", o.Name, 100*o.Share)
		}
	}
	fmt.Printf("%.0f GB/s in place of %.0f would reach 5 ms\n", step.Seek.Value, step.Seek.Now)
	// Output:
	// fused attention takes 27% of the decode step
	// gate and up takes 32% of the decode step
	// down takes 17% of the decode step
	// 12121 GB/s in place of 4800 would reach 5 ms
}

func ExamplePlan() {
	got, err := throughline.Plan(context.Background(), throughline.Question{
		"model": "Llama-3.1-70B", "system": "H200", "gpus": "4", "mode": "agg", "engine": "vllm", "tpot": "30ms", "top": "2", "redundant": "0",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, remark := range got.Remarks {
		fmt.Println(remark)
	}
	var answer struct {
		Ranked []struct {
			Engine string
			Decode struct{ Plan string }
		}
	}
	decode(got, &answer)
	for i, row := range answer.Ranked {
		fmt.Println(i+1, row.Engine, row.Decode.Plan)
	}
	// Output:
	// note: redundant has no effect: Llama-3.1-70B has no experts
	// 1 vllm dp1·pp1·tp4
	// 2 vllm dp2·pp1·tp2
}

func ExampleSimulate() {
	got, err := throughline.Simulate(context.Background(), throughline.Question{
		"model": "Llama-3.1-8B", "system": "H200", "engine": "sglang", "rate": "20", "num-prompts": "200", "isl": "512", "osl": "64",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var answer struct {
		Completed int
		P99       float64 `json:"p99_ttft_ms"`
	}
	decode(got, &answer)
	fmt.Printf("%d requests, p99 of TTFT %.0f ms\n", answer.Completed, answer.P99)
	// Output:
	// 200 requests, p99 of TTFT 61 ms
}
