package advice_test

import (
	"context"
	"strings"
	"testing"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/question"
)

// TestStandInsDoNotWin: where the kernels of a backend were measured for one engine, another whose
// kernel has a stand-in is left out, and named; alone it is ranked, and its rows say what they were
// priced with.
func TestStandInsDoNotWin(t *testing.T) {
	told := func(name string) *advice.Advice {
		l, o := loadQuestion(t, name, func(q *question.Question) {
			q.Model, q.System, q.GPUs, q.Input, q.Output = "Qwen3-32B", "H200", 2, 4000, 500
			q.Traffic.Attention = "triton"
		})
		got, err := advice.Give(context.Background(), l, o)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got, notes := told(engine.Any), ""
	for _, rows := range [][]advice.Candidate{got.Ranked, got.Frontier} {
		for i := range rows {
			if e := rows[i].Deployment.Engine.Name; e != "sglang" || rows[i].Record.Remark != "" {
				t.Errorf("a row of %s: %s", e, rows[i].Record.Remark)
			}
		}
	}
	if notes = strings.Join(got.Notes, "; "); !strings.Contains(notes, "vllm is left out: no measurement of prefill attention of vllm_triton on H200") {
		t.Errorf("notes %q", notes)
	}
	got = told("vllm")
	if notes = strings.Join(got.Notes, "; "); !strings.Contains(notes, "rows of vllm: no measurement of decode attention") || strings.Contains(notes, "left out") {
		t.Errorf("notes %q", notes)
	}
	if len(got.Ranked) == 0 || !strings.Contains(got.Ranked[0].Record.Remark, "stands in") {
		t.Error("rows of vllm do not say how they were priced")
	}
}

// TestAllStandIn: where the kernels of a backend were measured for no engine, none is left out for
// that, whichever takes it by itself; those that do not have it are named.
func TestAllStandIn(t *testing.T) {
	for _, name := range []string{"Qwen3-32B", "DeepSeek-V3"} {
		of := func(choice, backend string) *advice.Advice {
			l, o := loadQuestion(t, choice, func(q *question.Question) {
				q.Model, q.System, q.GPUs, q.Mode, q.Input, q.Output, q.Traffic.Attention = name, "MI300X", 8, advice.Aggregated, 4000, 500, backend
			})
			got, err := advice.Give(context.Background(), l, o)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		got := of(engine.Any, "aiter")
		most := 0.0
		for _, one := range []string{"sglang", "vllm"} {
			alone := of(one, "aiter")
			most = max(most, alone.Ranked[0].PerGPU())
			if notes := strings.Join(alone.Notes, "\n"); !strings.Contains(notes, "rows of "+one+": no measurement") {
				t.Errorf("%s behind %s: %s", name, one, notes)
			}
		}
		notes := strings.Join(got.Notes, "\n")
		if got.Ranked[0].PerGPU() < most || strings.Count(notes, "left out") != 1 || !strings.Contains(notes, "trtllm is left out: TensorRT-LLM runs on chips of NVIDIA") {
			t.Errorf("%s: %v tokens/s/GPU, of one engine %v; %s", name, got.Ranked[0].PerGPU(), most, notes)
		}
		if told, usual := of("sglang", "aiter").Ranked[0].PerGPU(), of("sglang", "").Ranked[0].PerGPU(); told != usual {
			t.Errorf("%s: SGLang does %v tokens/s/GPU with what it takes by itself, told it %v", name, usual, told)
		}
	}
}

// TestReasonsOfEngines: options and weights that no engine takes whatever the plan are a problem,
// as in an estimate; plans that none runs have the reasons of the engines.
func TestReasonsOfEngines(t *testing.T) {
	l, o := loadQuestion(t, engine.Any, func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Traffic.Attention = "Qwen3-32B", "H200", 2, "cutlass_mla"
	})
	if _, err := advice.Give(context.Background(), l, o); err == nil || !strings.Contains(err.Error(), "vllm: the attention backend CUTLASS_MLA of vLLM is not for grouped attention") {
		t.Error(err)
	}
	l, o = loadQuestion(t, "trtllm", func(q *question.Question) {
		q.Model, q.System, q.GPUs, q.Formats.Weights = "Qwen3-32B", "H200", 2, "int8"
	})
	if _, err := advice.Give(context.Background(), l, o); err == nil || !strings.Contains(err.Error(), "TensorRT-LLM 1.2 does not run INT8 weights on H200 (Hopper); nearest there: weights fp8") {
		t.Error(err)
	}
	l, o = loadQuestion(t, "trtllm", func(q *question.Question) { q.Model, q.System, q.GPUs = "Qwen3-32B", "MI300X", 2 })
	got, err := advice.Give(context.Background(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	if why := strings.Join(got.Reasons, "\n"); len(got.Ranked) > 0 || !strings.Contains(why, "trtllm: TensorRT-LLM runs on chips of NVIDIA, not on those of AMD") {
		t.Errorf("%d rows, %s", len(got.Ranked), why)
	}
}
