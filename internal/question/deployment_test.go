package question

import (
	"maps"
	"testing"

	"throughline/internal/files"
	"throughline/op"
	"throughline/plan"
)

// TestExpertsThatNobodyTells: of tensor-parallel ranks alone, experts are cut as vLLM, SGLang and
// TensorRT-LLM cut them without a word (--enable-expert-parallel, --ep-size and moe_ep_size are off,
// 1 and 1); flags say the same as a row of a table. What needs whole experts spreads them.
func TestExpertsThatNobodyTells(t *testing.T) {
	for _, c := range []struct {
		words map[string]string
		want  plan.ExpertSplit
	}{
		{map[string]string{"tp": "4"}, plan.ExpertSplit{EP: 1, TP: 4, DP: 1}},
		{map[string]string{"tp": "4", "pp": "2"}, plan.ExpertSplit{EP: 1, TP: 4, DP: 1}},
		{map[string]string{"tp": "4", "ep": "4"}, plan.ExpertSplit{EP: 4, TP: 1, DP: 1}},
		{map[string]string{"tp": "4", "ep": "2"}, plan.ExpertSplit{EP: 2, TP: 1, DP: 2}},
		{map[string]string{"tp": "4", "moe-tp": "1"}, plan.ExpertSplit{EP: 4, TP: 1, DP: 1}},
		{map[string]string{"tp": "4", "moe-tp": "2"}, plan.ExpertSplit{EP: 2, TP: 2, DP: 1}},
		{map[string]string{"tp": "4", "redundant": "4"}, plan.ExpertSplit{EP: 4, TP: 1, DP: 1}},
		{map[string]string{"tp": "4", "overlap": "two-batch"}, plan.ExpertSplit{EP: 4, TP: 1, DP: 1}},
		{map[string]string{"tp": "2", "dp": "2"}, plan.ExpertSplit{EP: 4, TP: 1, DP: 1}},
		{map[string]string{"prefill-plan": "tp4", "decode-plan": "tp4"}, plan.ExpertSplit{EP: 1, TP: 4, DP: 1}},
		{map[string]string{"prefill-plan": "tp4", "decode-plan": "dp4·tp1"}, plan.ExpertSplit{EP: 4, TP: 1, DP: 1}},
	} {
		words := map[string]string{"model": "Mixtral-8x7B", "system": "H200", "batch": "8"}
		maps.Copy(words, c.words)
		q := NewQuery(files.Machine, Estimate, words)
		l, err := q.Read()
		if q.Wrong != nil || err != nil {
			t.Fatal(q.Wrong, err)
		}
		d, errs := l.Deploy(&q.Question)
		if got := d.Of(op.Decode).Plan.Experts; len(errs) > 0 || got != c.want {
			t.Errorf("%v: %+v, want %+v; %v", c.words, got, c.want, errs)
		}
	}
}
