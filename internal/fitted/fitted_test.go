package fitted

import (
	"math"
	"strings"
	"testing"

	"throughline/number"
)

const whole = `{"model": "m", "system": "s", "engine": "vllm", "weights": "bf16", "plan": "tp8", "lengths": [[1000, 500]], "runs": 2}`

// TestReadWrite: a file reads as it was written; what is left out corrects nothing.
func TestReadWrite(t *testing.T) {
	f, doc := Read("a.json", []byte(whole))
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	if fit := f.Fit(1000, 500); fit.Decode != 1 || fit.Prefill != 1 || fit.First != 0 || fit.Wave != 0 {
		t.Errorf("a file that corrects nothing: %+v", fit)
	}
	f.Decode, f.First = 1.2345, -12.5
	src, err := f.Write()
	if err != nil {
		t.Fatal(err)
	}
	again, doc := Read("a.json", src)
	if err := doc.Err(); err != nil || again.Decode != 1.2345 || again.First != -12.5 || again.Lengths[0] != f.Lengths[0] {
		t.Errorf("written %+v, read %+v: %v", f, again, err)
	}
	if got := f.Words(); got != "2 runs (1000 + 500 tokens)" {
		t.Errorf("in words: %s", got)
	}
}

// TestReadRefuses: bounds, unknown and missing keys, all at once.
func TestReadRefuses(t *testing.T) {
	bad := strings.Replace(whole, `"runs": 2`, `"decode_scale": 11, "prefil_scale": 1, "lengths": [], "first_wave_ms": -1`, 1)
	bad = strings.Replace(bad, `"lengths": [[1000, 500]], `, "", 1)
	_, doc := Read("a.json", []byte(bad))
	err := doc.Err()
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{"decode_scale", `did you mean "prefill_scale"`, "lengths", "first_wave_ms", "runs"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: nothing of %s", err, want)
		}
	}
}

// TestRounded: five digits of a scale, four of a time.
func TestRounded(t *testing.T) {
	for _, c := range []struct {
		x      float64
		digits int
		want   float64
	}{{1.2345678, 5, 1.2346}, {0.98765432, 5, 0.98765}, {-1234.56, 4, -1235}, {0, 4, 0}} {
		if got := number.Round(c.x, c.digits); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v with %d digits: %v", c.x, c.digits, got)
		}
	}
}
