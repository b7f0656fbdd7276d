package lab

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"throughline/cost"
	"throughline/estimate"
	"throughline/internal/test/long"
	"throughline/internal/validate"
)

// sampleOf is a sample of TPOT.
func sampleOf(group, series string, e float64, causes ...estimate.Cause) validate.Sample {
	all := estimate.Causes{estimate.Pairs: true}
	for _, c := range causes {
		all[c] = true
	}
	return validate.Sample{Confidence: estimate.Known(estimate.TPOT, cost.Fitted, 0, all), Group: group, Series: series, Error: e}
}

// TestParted: two series of errors, 0.3 ± 0.1 and -0.3 ± 0.1, have a median of their own taken off.
// By hand: of three in a series 0, 0.1 and 0.1 are left, stretched by √(3/2) to 0.122; of the whole
// 0.2 to 0.4. The quantile of what is left is 0.122, of the whole 0.4: of a common width of 0.4
// loads are 0.122, and pairs √(0.4² - 0.122²) = 0.381.
func TestParted(t *testing.T) {
	var list []validate.Sample
	for _, s := range []struct {
		pair string
		bias float64
	}{{"a", 0.3}, {"b", -0.3}} {
		for _, off := range []float64{-0.1, 0, 0.1} {
			list = append(list, sampleOf(s.pair, s.pair, s.bias+off))
		}
	}
	loads, pairs := parted(list, 0.4)
	if math.Abs(loads-0.122) > 1e-3 || math.Abs(pairs-0.381) > 1e-3 {
		t.Errorf("loads %v and pairs %v, by hand 0.122 and 0.381", loads, pairs)
	}
	// Runs without settings say nothing of it, and series of two neither.
	list = append(list, sampleOf("c", "c", 5, estimate.Settings), sampleOf("c", "c", -5, estimate.Settings), sampleOf("c", "c", 0, estimate.Settings))
	if again, _ := parted(list, 0.4); again != loads {
		t.Errorf("runs without settings move loads from %v to %v", loads, again)
	}
}

// normal are samples of pairs with a bias of their own, and further causes with theirs: of a normal
// distribution four in five lie within 1.282 standard deviations.
func normal(pairs, each int, within, between, unseen float64) (out []validate.Sample) {
	random := rand.New(rand.NewPCG(1, 2))
	for p := range pairs {
		var causes []estimate.Cause
		bias := between * random.NormFloat64()
		if p%2 == 1 {
			causes = append(causes, estimate.Unseen)
			bias += unseen * random.NormFloat64()
		}
		for range each {
			out = append(out, sampleOf(fmt.Sprint("pair ", p), fmt.Sprint(p), bias+within*random.NormFloat64(), causes...))
		}
	}
	return out
}

// TestFitWidths: the parts of drawn errors are found again, and bands hold four in five of pairs
// that had no part in them.
func TestFitWidths(t *testing.T) {
	samples := normal(300, 20, 0.1, 0.15, 0.4)
	wild := samples[0]
	wild.Error, wild.Doubtful = 100, true
	samples = append(samples, wild)
	w := FitWidths(samples)[estimate.TPOT]
	at := math.Sqrt2 * math.Erfinv(aim)
	for cause, want := range map[estimate.Cause]float64{estimate.Loads: 0.1 * at, estimate.Pairs: 0.15 * at, estimate.Unseen: 0.4 * at} {
		if got := w[cause]; math.Abs(got/want-1) > 0.15 {
			t.Errorf("%s: %v, drawn with %v", estimate.CauseNames[cause], got, want)
		}
	}
	// Of few pairs no cause is told from their biases.
	if few := FitWidths(normal(8, 20, 0.1, 0.15, 0.4))[estimate.TPOT]; few[estimate.Unseen] != 0 {
		t.Errorf("four unseen pairs tell %v", few[estimate.Unseen])
	}
	out := Trustworthy(LeftOut(normal(60, 20, 0.1, 0.15, 0.4)))
	if got := validate.InsideOf(out); got < validate.Fewest || got > validate.Most {
		t.Errorf("%.1f%% of pairs that were left out lie inside", 100*got)
	}
}

// TestCovered: of six samples with bands from 10% to 60%, all off by a factor of 1.25, four lie
// inside.
func TestCovered(t *testing.T) {
	var samples []validate.Sample
	for i := range 6 {
		samples = append(samples, validate.Sample{Confidence: estimate.Confidence{Quantity: estimate.TTFT, Level: cost.Estimated, Band: float64(6-i) / 10}, Error: math.Log(1.25)})
	}
	c := validate.Covered(samples)
	if len(c) != 1 || c[0].Rows != 6 || math.Abs(c[0].Inside-4./6) > 1e-12 || c[0].Median != 0.4 || !math.IsNaN(c[0].Thirds[0]) {
		t.Fatalf("%+v", c)
	}
	if got := strings.Join(c[0].Cells(), "|"); got != "TTFT|estimated|6|67%||||±40%" {
		t.Error(got)
	}
	for range 5 {
		samples = append(samples, samples[:6]...)
	}
	if got := validate.Covered(samples)[0].Thirds; got != [3]float64{0, 1, 1} {
		t.Errorf("thirds %v: all below 25%% are outside", got)
	}
}

// TestThirds: bands of one width are in no order.
func TestThirds(t *testing.T) {
	of := func(band float64, inside ...bool) (out []validate.Sample) {
		for i := range 30 {
			s := validate.Sample{Confidence: estimate.Confidence{Band: band}}
			if !inside[i*len(inside)/30] {
				s.Error = 2 * math.Log1p(band)
			}
			out = append(out, s)
		}
		return out
	}
	near := func(got [3]float64, want ...float64) bool {
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				return false
			}
		}
		return true
	}
	third, two := of(0.1, true, true, false), of(0.5, true, true)
	if got := validate.Covered(third)[0].Thirds; !near(got, 2./3, 2./3, 2./3) {
		t.Errorf("of equal bands, two thirds inside: %v", got)
	}
	// 60 rows: 20 of the narrow ones; the other 10 of them and 10 of the wide ones; the rest of
	// these.
	together := validate.Covered(append(slices.Clone(third), two...))[0]
	if !near(together.Thirds, 2./3, 5./6, 1) || math.Abs(together.Inside-5./6) > 1e-12 || math.Abs(together.Above-1./6) > 1e-12 {
		t.Errorf("one set of widths: %+v", together)
	}
	// 50 of 60 are inside; so many are off by nothing, the rest by twice a tenth.
	if math.Abs(together.Constant) > 1e-12 || together.Median != 0.5 {
		t.Errorf("one band for all of %v, a median of %v", together.Constant, together.Median)
	}
}

// TestBandsCurrent: the widths and the tables about them are what the predictions of today give,
// and of pairs that were left out 75 to 88% lie inside at every level with 100 rows or more.
func TestBandsCurrent(t *testing.T) {
	if !long.Mode() {
		t.Skip("chooses constants for every pair again: minutes")
	}
	besideProject(t, evidence.serving)
	found, err := Evidence(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	want, err := BandsOf(found)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/validation/bands.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := BandsPage(doc, found.Samples)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile("../../estimate/bands.json"); err != nil || !bytes.Equal(is, want) {
		t.Errorf("estimate/bands.json is old: run go run ./cmd/lab bands and look at the difference (%v)", err)
	}
	if !bytes.Equal(doc, shown) {
		t.Error("docs/validation/bands.md is old: run go run ./cmd/lab bands and look at the difference")
	}
	for _, c := range validate.Covered(Trustworthy(LeftOut(found.Samples))) {
		if c.Rows >= validate.EnoughToJudge && (c.Inside < validate.Fewest || c.Inside > validate.Most) {
			t.Errorf("%s, %s, %d rows: %.1f%% inside", estimate.Quantities[c.Quantity], c.Level, c.Rows, 100*c.Inside)
		}
	}
}
