package workload

import (
	"bytes"
	"io"
	"math"
	"testing"

	"throughline/internal/test/damage"
)

// FuzzTrace: each request of a trace has lengths and a time that can be simulated, or the line is
// named.
func FuzzTrace(f *testing.F) {
	damage.Add(f,
		`{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`+"\n"+`{"prompt_tokens": 5, "completion_tokens": 6}`+"\n",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04,1,1\n",
		"arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,100,20\n\n1e3,7,1\n", "isl,osl\n1,2\n")
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, name := range []string{"trace.csv", "trace.jsonl"} {
			r, err := newTraceReader(name, io.NopCloser(bytes.NewReader(src)))
			if err != nil {
				continue
			}
			for {
				q, line, err := r.next()
				if err == io.EOF || err != nil && line == 0 {
					break
				}
				if err != nil {
					continue
				}
				if q.Input < 1 || q.Output < 1 || math.IsNaN(q.Arrival) || math.IsInf(q.Arrival, 0) {
					t.Errorf("line %d: %+v", line, q)
				}
			}
		}
	})
}

// FuzzWords: arrivals, limits and lengths in words are numbers that a load can have, or are refused.
func FuzzWords(f *testing.F) {
	damage.Add(f, "poisson", "gamma:0.5", "p99:2s", "mean:50ms", "lognormal:300", "uniform:0.5", "1e3ms", "2min", "-1s", "p0:inf")
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	f.Fuzz(func(t *testing.T, src []byte) {
		text := string(src)
		if a, err := ParseArrival(text); err == nil && a.Kind == "" {
			t.Errorf("arrivals %q: %+v", text, a)
		}
		if l, err := ParseLimit(text); err == nil && !(l.Share >= 0 && l.Share <= 1 && l.Seconds >= 0 && finite(l.Seconds)) {
			t.Errorf("limit %q: %+v", text, l)
		}
		if l, err := ParseLength(text, 100); err == nil && !(l.mean() > 0 && finite(l.mean())) {
			t.Errorf("lengths %q: %g", text, l.mean())
		}
	})
}
