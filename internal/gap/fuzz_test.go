package gap

import (
	"math"
	"testing"

	"throughline/internal/files"
	"throughline/internal/test/damage"
)

// FuzzMeasured: what is measured has names and positive numbers, in words or in a file of others.
func FuzzMeasured(f *testing.F) {
	damage.Add(f, "tpot=31ms,ttft=0.4s", "model,system,tp,concurrency,tpot_ms,ttft_ms\nLlama-3.1-8B,H200,1,8,9.5,100\n", `{"tag": "a", "mean_tpot_ms": 9.5, "max_concurrency": 8}`+"\n")
	f.Fuzz(func(t *testing.T, src []byte) {
		door := files.Held(map[string][]byte{"runs.csv": src, "runs.jsonl": src})
		for _, text := range []string{string(src), "runs.csv", "runs.csv#2", "runs.jsonl", "runs.jsonl#a"} {
			m, err := Read(door, text)
			if err != nil {
				continue
			}
			if len(m.Figures) == 0 {
				t.Errorf("%s: neither figures nor an error", text)
			}
			for _, v := range m.Figures {
				if v.Name == "" || !(v.Value > 0) || math.IsInf(v.Value, 0) {
					t.Errorf("%s: %+v", text, v)
				}
			}
		}
	})
}
