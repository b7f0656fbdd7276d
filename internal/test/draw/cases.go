package draw

import (
	"math/rand/v2"
	"reflect"

	"throughline/op"
	"throughline/plan"
)

// Families are built-in models, one of each way to build a layer.
var Families = []string{
	"Llama-3.1-8B", "Gemma-3-12B", "Gemma-2-27B", "gpt2", "gpt-oss-120b", "Mixtral-8x7B", "Qwen3-30B-A3B", "Qwen3-Next-80B-A3B", "Llama-4-Scout-17B-16E",
	"MiniMax-M1", "Nemotron-3-Super-120B-A12B", "LFM2.5-8B-A1B", "Kimi-Linear-48B-A3B", "GLM-4.5", "Step-3.5-Flash",
	"DeepSeek-V3", "DeepSeek-V3.2", "GLM-5.2", "DeepSeek-V4-Flash", "DeepSeek-V2-Lite", "MiMo-V2-Flash", "Granite-4.0-H-Small", "MiniMax-M3",
}

// Layouts of up to eight processors; those of experts count for models that have some.
var Layouts = []plan.Layout{
	{Attention: plan.Split{DP: 1, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 1, DP: 1}},
	{Attention: plan.Split{DP: 8, PP: 1, TP: 1, CP: 1}, Experts: plan.ExpertSplit{EP: 8, TP: 1, DP: 1}, Drafts: 2, WideDense: true, WideHead: true},
	{Attention: plan.Split{DP: 1, PP: 1, TP: 8, CP: 1}, Experts: plan.ExpertSplit{EP: 1, TP: 8, DP: 1}, SequenceParallel: true},
	{Attention: plan.Split{DP: 2, PP: 1, TP: 4, CP: 1}, Experts: plan.ExpertSplit{EP: 4, TP: 2, DP: 1}, SharedPerCard: true, Drafts: 1, SequenceParallel: true},
	{Attention: plan.Split{DP: 1, PP: 2, TP: 2, CP: 2}, Experts: plan.ExpertSplit{EP: 4, TP: 1, DP: 1}, Pipelined: true},
	{Attention: plan.Split{DP: 2, PP: 2, TP: 2, CP: 1}, Experts: plan.ExpertSplit{EP: 8, TP: 1, DP: 1}, SharedReplicas: 8},
	{Attention: plan.Split{DP: 2, PP: 1, TP: 2, CP: 2}, Experts: plan.ExpertSplit{EP: 8, TP: 1, DP: 1}, WideDense: true, Drafts: 1},
}

// Steps are of decode, of prompts, and of both.
var Steps = [][]op.Group{
	{{Phase: op.Decode, Sequences: 24, New: 1, Context: 5000}, {Phase: op.Decode, Sequences: 3, New: 3, Context: 90, Share: 0.25}},
	{{Phase: op.Prefill, Sequences: 2, New: 3000, Context: 4000, Ends: true, Scale: 1.5}, {Phase: op.Prefill, Sequences: 1, New: 50, Context: 60}},
	{{Phase: op.Decode, Sequences: 8, New: 1, Context: 300}, {Phase: op.Prefill, Sequences: 0.5, New: 512, Context: 512}},
}

// Laid is a plan of a layout, whose every second one has copies of experts.
func Laid(layout int, experts bool) plan.Plan {
	p := plan.Plan{Layout: Layouts[layout], Batch: plan.Batch{Count: 1, Size: 4}}
	if !experts {
		p.Experts = plan.ExpertSplit{}
	} else if layout%2 == 1 {
		p.Redundant = 8
	}
	return p
}

// Behave draws how an engine behaves: half of what it may do.
func Behave(b *plan.Behaviour, first, second uint64) {
	behave(rand.New(rand.NewPCG(first, second)), reflect.ValueOf(b).Elem())
}

func behave(r *rand.Rand, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.Kind() == reflect.Struct:
			behave(r, f)
		case r.IntN(2) == 0:
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.Kind() == reflect.Float64:
			f.SetFloat(float64(1 + r.IntN(3000)))
		case f.Kind() == reflect.Int:
			f.SetInt(int64(1 + r.IntN(4)))
		case f.Kind() == reflect.Uint8:
			f.SetUint(uint64(r.IntN(3)))
		}
	}
}
