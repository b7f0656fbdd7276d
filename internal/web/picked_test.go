package web

import (
	"math"
	"regexp"
	"testing"

	"throughline/estimate"
	"throughline/hardware"
	"throughline/internal/result"
	"throughline/internal/test/builtin"
	"throughline/op"
)

// A pool of four instances that each take 2 requests/s of prompts, before one that decodes 10: the
// prompts bind, and the pools are named in the order in which a request passes them.
func TestBarsOfPools(t *testing.T) {
	side := func(instances int, requests, weightsGiB float64, s *hardware.System) *result.Side {
		out := &result.Side{Instances: instances, Found: true, System: s, Usable: 100 << 30, Held: weightsGiB * (1 << 30)}
		out.Step = &estimate.Contents{}
		out.Step.Requests = requests
		out.Step.Memory.Weights[op.MLPBlock] = weightsGiB * (1 << 30)
		return out
	}
	s := builtin.System(t, "H200")
	r := &result.Record{}
	r.Requests = 8
	r.Sides[op.Prefill], r.Sides[op.Decode] = side(4, 2, 70.2, s), side(1, 10, 35.1, s)

	balance := balanceBars(r)
	want := []balanceBar{{Name: "prefill", Used: 80, Limit: 80, Rate: "8", Of: "8"}, {Name: "decode", Used: 80, Limit: 100, Rate: "8", Of: "10"}}
	for i, w := range want {
		if i >= len(balance) || balance[i].Name != w.Name || balance[i].Used != w.Used || balance[i].Limit != w.Limit {
			t.Errorf("balance %d: %+v, not %+v", i, balance, w)
		}
	}
	memory := memoryBars(english, r)
	for i, w := range []memoryBar{{Name: "prefill", Weights: 50}, {Name: "decode", Weights: 25}} { // of 140.4 GiB
		if i >= len(memory) || memory[i].Name != w.Name || math.Abs(memory[i].Weights-w.Weights) > 0.01 {
			t.Errorf("memory %d: %+v, not %+v", i, memory, w)
		}
	}
}

// bigFigure is the number that an answer opens with.
var bigFigure = regexp.MustCompile(`<span class="big">[^<]+</span>`)

// The answer is the best row of the ranking, whichever system was named first.
func TestBestOfSystems(t *testing.T) {
	const asked = "&gpus=1&isl=512&model=llama_3_8b&osl=64&mode=agg&engine=vllm"
	says := func(systems string) string {
		found := bigFigure.FindAllString(led(patient(), "/choose?system="+systems+asked).Body.String(), -1)
		return found[len(found)-1] // the others are of the best so far
	}
	alone, first, last := says("B200"), says("B200,H200"), says("H200,B200")
	if first != alone || last != alone {
		t.Errorf("B200 %q, before H200 %q, behind it %q", alone, first, last)
	}
}
