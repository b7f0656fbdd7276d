package emulate

import (
	"math"
	"slices"
	"testing"
)

// TestBuckets: bounds of histograms rise, and are as many and add up as in the engines' sources,
// which metrics.go names: dashboards made for an engine ask for buckets by these numbers.
func TestBuckets(t *testing.T) {
	for name, c := range map[string]struct {
		of  []float64
		n   int
		sum float64
	}{
		"vLLM TTFT": {vllmTTFT, 22, 3527.816}, "vLLM ITL": {vllmITL, 19, 168.56}, "vLLM requests": {vllmRequest, 21, 11638.6}, "vLLM steps": {vllmStep, 13, 32761},
		"SGLang TTFT": {sglangTTFT, 18, 933.1}, "SGLang ITL": {sglangITL, 23, 23.435}, "SGLang latency": {sglangLatency, 22, 6933.1}, "SGLang queue": {sglangQueued, 40, 19480.866},
	} {
		sum := 0.0
		for _, bound := range c.of {
			sum += bound
		}
		if len(c.of) != c.n || math.Abs(sum-c.sum) > 1e-6 || !slices.IsSorted(c.of) || len(slices.Compact(slices.Clone(c.of))) != c.n {
			t.Errorf("%s: %d bounds, together %.6f: %v", name, len(c.of), sum, c.of)
		}
	}
}
