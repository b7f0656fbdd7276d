package difference

import (
	"math"
	"testing"

	"throughline/internal/files"
	"throughline/internal/test/damage"
)

// FuzzFile: figures of a file of results have paths and values, whichever form it has, or it is
// refused.
func FuzzFile(f *testing.F) {
	damage.Add(f, "run,tpot,ok\na,1.5,yes\na,NaN,\n", `{"a": {"b": [1, true, null, "x"]}}`+"\n"+`{"c": 1e400}`, `{"ranked": [{"mode": "agg", "decode": {"tp": 2}}], "question": {"model": "Llama-3.1-8B"}}`, `{"mem1": {"GBps": 1}}`)
	f.Fuzz(func(t *testing.T, src []byte) {
		door := files.Held(map[string][]byte{"x.csv": src, "x.jsonl": src, "x.json": src})
		for _, read := range []func() (*side, error){
			func() (*side, error) { return readTable(door, "x", "x.csv", "") },
			func() (*side, error) { return readTable(door, "x", "x.csv", "1") },
			func() (*side, error) { return readLines(door, "x", "x.jsonl", "") },
			func() (*side, error) { return readLines(door, "x", "x.jsonl", "2") },
			func() (*side, error) { return readJSON(door, "x.json", "x.json", "", false) },
			func() (*side, error) { return readJSON(door, "x.json", "x.json", "1", true) },
		} {
			s, err := read()
			if (s == nil) == (err == nil) {
				t.Fatal("neither figures nor an error")
			}
			if err != nil {
				continue
			}
			for _, v := range s.figures {
				if x, ok := v.Value.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
					t.Errorf("%s is %g", v.Field, x)
				}
			}
		}
	})
}
