package sweep

import (
	"context"
	"slices"
	"testing"

	"throughline/internal/files"
	"throughline/internal/scan"
)

// A step that moves gives, to the last bit, what asking anew gives, at points that were not
// compared before.
func TestMovedSteps(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"decode of a dense model":    {"model": "llama_3_8b", "system": "H200", "phase": "decode", "batch": "8,64"},
		"prefill of a dense model":   {"model": "llama_3_8b", "system": "H200", "phase": "prefill", "tp": "2", "batch": "2"},
		"decode of an expert model":  {"model": "Qwen3-30B-A3B", "system": "H200", "phase": "decode", "engine": "sglang", "dp": "8", "batch": "32"},
		"without measured kernels":   {"model": "llama_3_8b", "system": "SOW-U1-POR", "phase": "decode", "batch": "16", "assume": "reference"},
		"a decode step at a context": {"model": "llama_3_8b", "system": "H200", "context": "4096", "batch": "8"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scan.New(files.Machine, &scan.Request{Command: "estimate", Settings: settings, Design: "latin", Samples: 12, Seed: 5,
				Vary: []string{"sys.mem1.GBps=x0.3:x4:9", "sys.networks[0].bandwidth=x0.5:x3:log9", "sys.mem1.GiB=x0.2:x2:9"}})
			if err != nil {
				t.Fatal(err)
			}
			moved, anew := newScanner(t, s), newScanner(t, s)
			anew.moving.off = true
			for i := range s.Len() {
				a, err := moved.At(context.Background(), i)
				if err != nil {
					t.Fatal(err)
				}
				b, err := anew.At(context.Background(), i)
				if err != nil {
					t.Fatal(err)
				}
				if a.Reason != b.Reason || !slices.Equal(a.Figures, b.Figures) || a.Figures == nil {
					t.Fatalf("point %d:\n%v %s\n%v %s", i, a.Figures, a.Reason, b.Figures, b.Reason)
				}
			}
			if moved.moving.off {
				t.Error("nothing moved")
			}
		})
	}
}

func newScanner(t *testing.T, s *scan.Scan) *Scanner {
	t.Helper()
	c, err := NewScanner(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
