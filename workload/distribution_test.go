package workload

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSpread(t *testing.T) {
	base := Lengths{Input: 1000, Output: 100, Cached: 200}
	for words, want := range map[string]Lengths{
		"fixed": base,
		// Between 500 and 1000: mean 750; mean square (1 + 0.5 + 0.25)/3 of 1000², over 0.75²: 0.58333/0.5625.
		"uniform:0.5": {Input: 750, Output: 75, Cached: 150, Squares: (1.75 / 3) / 0.5625, LongestInput: 1000, Longest: 1100},
		"uniform:1":   {Input: 1000, Output: 100, Cached: 200, Squares: 1, LongestInput: 1000, Longest: 1100},
		// e^0.25; one in ten thousand exceeds e^(3.719·0.5 - 0.125) = 5.666 times the mean.
		"lognormal:0.5": {Input: 1000, Output: 100, Cached: 200, Squares: 1.2840254166877414, LongestInput: 5667, Longest: 5667 + 567},
	} {
		got, err := base.Spread(words)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Squares-want.Squares) > 1e-12 {
			t.Errorf("%s: squares %v, want %v", words, got.Squares, want.Squares)
		}
		got.Squares = want.Squares
		if got != want {
			t.Errorf("%s: %+v, want %+v", words, got, want)
		}
	}
	for _, words := range []string{"uniform", "uniform:2", "lognormal:x", "zipf:1", "trace:/no/such/file"} {
		if _, err := base.Spread(words); err == nil {
			t.Errorf("%q is accepted", words)
		}
	}
}

func TestTraces(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, err string }{
		"a.csv":   {"arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,300,30\n", ""},
		"b.jsonl": {"{\"input_length\": 100, \"output_length\": 10}\n\n{\"input_length\": 300, \"output_length\": 30}\n", ""},
		"c.csv":   {"a,b\n1,2\n", "line 1: no column"},
		"d.csv":   {"isl,osl\n1,2\nx,2\n", "line 3"},
		"e.jsonl": {"{\"input_length\": 100}\n", "line 1: no number"},
		"f.csv":   {"isl,osl\n", "no requests"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Lengths{Input: 1, Output: 1}.Spread("trace:" + file)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want one with %q", name, err, c.err)
			}
			continue
		}
		// Means 200 and 20; mean square (10000 + 90000)/2 = 50000, over 40000.
		if want := (Lengths{Input: 200, Output: 20, Squares: 1.25, LongestInput: 300, Longest: 330}); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}
