package matrix

import (
	"strings"
	"testing"

	"throughline/internal/rawdata"
)

// TestPredict: a run is predicted as long as it was, though with a request for each client at
// least; without an answer by the closed form; not at all where the load is not known.
func TestPredict(t *testing.T) {
	s := &Server{Deployment: map[string]Word{"model": "Llama-3.1-8B", "system": "H200", "engine": "vllm"}}
	of := func(completed float64, without string) Prediction {
		row := rawdata.NewRow()
		for name, v := range map[string]float64{"ISL": 512, "OSL": 8, "Concurrency": 8} {
			if name != without {
				row.Set(name, v)
			}
		}
		p := predict(t.Context(), s, row, &Outcome{Figures: map[string]float64{"completed": completed}})
		if row.Get("TP") != 1.0 || row.Get("GPU") == nil {
			t.Errorf("the row does not say what it ran on: %v", row)
		}
		return p
	}
	one, each, eight := of(3, ""), of(8, ""), of(64, "")
	if one != each || one == eight {
		t.Errorf("of 3, 8 and 64 requests: %+v, %+v, %+v", one, each, eight)
	}
	// What is at once with seven others waits for their prompts; later requests come one by one.
	if one.TTFT <= eight.TTFT || one.Throughput <= 0 || one.TPOT <= 0 || one.Why != "" {
		t.Errorf("all at once %+v, one after the other %+v", one, eight)
	}
	if most := of(1e9, ""); most != of(mostSimulated, "") {
		t.Errorf("more than %d requests: %+v", mostSimulated, most)
	}
	if none := of(0, ""); none.Source == one.Source || none.Throughput <= 0 {
		t.Errorf("no answer: %+v, %s of runs", none, one.Source)
	}
	for _, column := range []string{"ISL", "OSL", "Concurrency"} {
		if p := of(8, column); !strings.Contains(p.Why, "the client has no "+column) || p.Throughput != 0 {
			t.Errorf("no %s: %+v", column, p)
		}
	}
	if p := predict(t.Context(), &Server{}, rawdata.NewRow(), &Outcome{}); !strings.Contains(p.Why, "does not say what it serves") {
		t.Errorf("no deployment: %+v", p)
	}
}
