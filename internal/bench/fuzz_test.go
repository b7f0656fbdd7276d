package bench

import (
	"bytes"
	"testing"

	"throughline/internal/test/damage"
)

// FuzzEvents: whatever a server streams ends as an answer of no more tokens than were asked for, or
// as a failure with a kind.
func FuzzEvents(f *testing.F) {
	damage.Add(f,
		"data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
		": ping\r\n\r\ndata: {\"text\":\"ab\",\ndata: \"meta_info\":{\"completion_tokens\":2}}\r\n\r\n", "data:{\"error\":{\"message\":\"x\"}}\n\n")
	const most = 4
	f.Fuzz(func(t *testing.T, src []byte) {
		a := answer{most: most, keep: true}
		var c client
		switch failure := c.readStream(bytes.NewReader(src), &a); {
		case failure != nil && failure.Kind == "":
			t.Errorf("a failure without a kind: %+v", failure)
		case a.tokens < 0 || a.prompt < 0 || a.cached < 0 || failure == nil && a.tokens > most:
			t.Errorf("%d + %d tokens, %d of them cached", a.prompt, a.tokens, a.cached)
		}
	})
}

// FuzzResult: the figures in what a benchmark wrote are numbers of known names.
func FuzzResult(f *testing.F) {
	damage.Add(f, "Mean TTFT (ms):   12.5\nOutput token throughput (tok/s): 1,000.0\n", "{\"output_throughput\": 1e3}\n{\"mean_itl_ms\": 5}\n",
		`[{"conversations": [{"value": "a b c"}, {"value": "d e f"}]}]`)
	f.Fuzz(func(t *testing.T, src []byte) {
		for key, v := range ReadPrinted(string(src)) {
			if key == "" || !(v >= 0) {
				t.Errorf("%q is %g", key, v)
			}
		}
		if figures, err := ReadResult(src); err == nil && len(figures) == 0 {
			t.Error("neither figures nor an error")
		}
		conversations(bytes.NewReader(src))
	})
}
