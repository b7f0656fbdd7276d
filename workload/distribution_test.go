package workload

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"throughline/internal/files"
)

func TestSpread(t *testing.T) {
	base := Lengths{Input: 1000, Output: 100, Cached: 200}
	for words, want := range map[string]Lengths{
		"fixed": base,
		// Between 500 and 1000: mean 750; mean square (1 + 0.5 + 0.25)/3 of 1000², over 0.75²:
		// 0.58333/0.5625.
		"uniform:0.5": {Input: 750, Output: 75, Cached: 150, Squares: (1.75 / 3) / 0.5625, LongestInput: 1000, Longest: 1100},
		"uniform:1":   {Input: 1000, Output: 100, Cached: 200, Squares: 1, LongestInput: 1000, Longest: 1100},
		// e^0.25; one in ten thousand exceeds e^(3.719·0.5 - 0.125) = 5.666 times the mean.
		"lognormal:0.5": {Input: 1000, Output: 100, Cached: 200, Squares: 1.2840254166877414, LongestInput: 5667, Longest: 5667 + 567},
	} {
		got, err := base.Spread(files.Machine, words)
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
		if _, err := base.Spread(files.Machine, words); err == nil {
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
		got, err := Lengths{Input: 1, Output: 1}.Spread(files.Machine, "trace:"+file)
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

// TestShareGPT: drawn lengths have the mean that is asked for, half of them 124/197 of it and a
// tenth 11/197, as counted in the dataset.
func TestShareGPT(t *testing.T) {
	l, err := ParseLength("sharegpt", 1970)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var list []int
	sum := 0
	for range 20_000 {
		n := l.Draw(r)
		list, sum = append(list, n), sum+n
	}
	slices.Sort(list)
	for _, c := range []struct{ got, want float64 }{
		{float64(sum) / float64(len(list)), 1970}, {float64(list[len(list)/2]), 1240}, {float64(list[len(list)/10]), 110}, {float64(list[len(list)*9/10]), 4910},
	} {
		if math.Abs(c.got/c.want-1) > 0.05 {
			t.Errorf("%g, want about %g", c.got, c.want)
		}
	}
	n, err := Lengths{Input: 200, Output: 100}.Spread(files.Machine, "sharegpt")
	if err != nil || n.Input != 200 || math.Abs(n.Squares-2.134) > 0.02 {
		t.Errorf("%+v, %v", n, err)
	}
	if load := (&Load{Lengths: n, Clients: 4}).Traffic(); load.Output.Kind != ShareGPT || load.Output.Mean != 100 {
		t.Errorf("%+v", load.Output)
	}
	if _, err := n.Spread(files.Machine, "sharegpt:2"); err == nil {
		t.Error("takes a number")
	}
}
