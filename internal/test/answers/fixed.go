package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// shared is where measurements are that are not part of the repository.
const shared = "../shared/measurements/"

// tables are the arguments of validate for each table of measurements.
var tables = []string{
	"serving " + shared + "silicon/labelled.csv",
	"serving " + shared + "silicon/serving.csv",
	"serving " + shared + "fresh/serving.csv",
	"ops " + shared + "h200/ops.csv --system H200",
	"forward " + shared + "h200/forward.csv --system H200",
	"forward " + shared + "h200/moe/forward.csv --system H200 --assume physical",
	"steps " + shared + "steps/engine_steps.csv",
	"requests " + shared + "h200/engine --steps recorded",
	"requests " + shared + "h200/engine --steps run",
	"requests " + shared + "h200/engine --steps table",
	"requests " + shared + "h200/engine --steps own",
	"ops measure/H200/ops.csv --system H200",
	"forward measure/H200/forward.csv --system H200",
	"power " + shared + "h200/power/power.csv --system H200",
	"power measure/H200_power/power.csv --system H200",
	"energy " + shared + "fresh/energy.csv",
	"published measure/starts.csv",
}

// others are questions about files of the repository, and commands without a deployment.
var others = []string{
	"run --json -c configs/reference_sample.json -o sample",
	"run --json -c configs/split_and_fusion.json -o split",
	"run --json --assume physical -c configs/split_and_fusion.json -o physical",
	"scenario configs/gpt2_scenario.json --csv",
	"comm --model DeepSeek-V3 --system H200 --csv",
	"comm --model Qwen3-235B-A22B --system GB200_NVL72 --csv",
	"diff H100_SXM H200 --json",
	"plan --json --model Llama-3.1-8B --system L40S --rate 20 --isl 500 --osl 50 --ttft p99:500ms --tpot p95:60ms",
	"plan --json --model llama_3_70b --system H100_SXM --gpus 16 --objective min-gpus --rate 5 --ttft 2s",
	"plan --json --model Qwen3-30B-A3B --pool H20_141G:4 --pool H200:4 --price H200=3.5,H20_141G=1.2 --objective cost",
	"plan --json --model DeepSeek-V3 --system H200 --gpus 1024 --weights fp8",
	"simulate --json --model Llama-3.1-8B --system H200 --max-rate --ttft p99:2s --tpot p95:50ms --isl 512 --osl 64 --num-prompts 500",
	"explain --json --model Llama-3.1-70B --system H200 --tp 8 --seek mem1.GBps --until tpot=10ms",
}

// fixedQuestions returns those about tables and files, and reports absent measurements.
func fixedQuestions() []question {
	var out []question
	absent := 0
	for _, args := range tables {
		words := strings.Fields(args)
		file := words[slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "/") })]
		if _, err := os.Stat(file); err != nil {
			absent++
			continue
		}
		out = append(out, question{args, func(a *asker) {
			// Columns of the measurements themselves are no answer.
			table, _ := os.ReadFile(file)
			a.validate("validate", "", string(table), words...)
		}})
	}
	if absent > 0 {
		fmt.Fprintf(os.Stderr, "%d of %d tables of measurements are left out: they are not in %s\n", absent, len(tables), shared)
	}
	for _, args := range others {
		words := strings.Fields(args)
		out = append(out, question{args, func(a *asker) { a.ask(words[0], "", words...) }})
	}
	return out
}
