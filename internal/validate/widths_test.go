package validate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"throughline/cost"
	"throughline/estimate"
	"throughline/internal/test/racing"
)

// made are samples of TPOT whose errors are spread evenly up to a limit: a tenth, with experts two tenths.
func made(groups int) (out []Sample) {
	for g := range groups {
		for i := range 100 {
			experts := i%2 == 1
			e := 0.1 * (float64(i) + 0.5) / 100
			if experts {
				e *= 2
			}
			if g%2 == 1 {
				e = -e
			}
			c := estimate.Known(estimate.TPOT, cost.Fitted, 0, estimate.Circumstance{Experts: experts, Processors: 1})
			out = append(out, Sample{Confidence: c, Group: fmt.Sprint(g), Error: e})
		}
	}
	return out
}

// TestFitWidths: of errors up to a tenth 81% are below 0.081, with experts below twice that.
func TestFitWidths(t *testing.T) {
	samples := made(10)
	wild := samples[0]
	wild.Error, wild.Doubtful = 100, true
	samples = append(samples, wild)
	w := FitWidths(samples)[estimate.TPOT]
	if got := math.Exp(w.Base); math.Abs(got-0.081) > 0.003 {
		t.Errorf("a width of %v, by hand 0.081", got)
	}
	if got := math.Exp(w.Experts); math.Abs(got-2) > 0.1 {
		t.Errorf("with experts %v times that, by hand twice", got)
	}
	crossed := CrossCovered(Trustworthy(samples), groupsOf(samples))
	if len(crossed) != 1000 {
		t.Fatalf("%d samples", len(crossed))
	}
	for _, c := range append(Covered(crossed), MeanCovered(samples)...) {
		if c.Quantity != estimate.TPOT || c.Level != cost.Fitted || c.Rows != 1000 || math.Abs(c.Inside-aim) > 0.03 {
			t.Errorf("%+v", c)
		}
	}
}

// TestCovered: of six samples with bands from 10% to 60%, all off by a factor of 1.25, four lie inside.
func TestCovered(t *testing.T) {
	var samples []Sample
	for i := range 6 {
		samples = append(samples, Sample{Confidence: estimate.Confidence{Quantity: estimate.TTFT, Level: cost.Estimated, Band: float64(6-i) / 10}, Error: math.Log(1.25)})
	}
	c := Covered(samples)
	if len(c) != 1 || c[0].Rows != 6 || math.Abs(c[0].Inside-4./6) > 1e-12 || c[0].Median != 0.4 || !math.IsNaN(c[0].Thirds[0]) {
		t.Fatalf("%+v", c)
	}
	if got := strings.Join(c[0].Cells(), "|"); got != "TTFT|estimated|6|67%||||±40%" {
		t.Error(got)
	}
	for range 5 {
		samples = append(samples, samples[:6]...)
	}
	if got := Covered(samples)[0].Thirds; got != [3]float64{0, 1, 1} {
		t.Errorf("thirds %v: all below 25%% are outside", got)
	}
}

func samples(t *testing.T) []Sample {
	t.Helper()
	if racing.Enabled {
		t.Skip("predictions of thousands of runs take long under the race detector")
	}
	out, err := Evidence(t.Context(), "../..")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the measurements are not beside the project")
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBandsCurrent: the widths and the tables about them are what the predictions of today give.
func TestBandsCurrent(t *testing.T) {
	s := samples(t)
	want, err := BandsOf(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/validation.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := BandsPage(doc, s)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile("../../estimate/bands.json"); err != nil || !bytes.Equal(is, want) {
		t.Errorf("estimate/bands.json is old: run go run ./cmd/bands and look at the difference (%v)", err)
	}
	if !bytes.Equal(doc, shown) {
		t.Error("docs/validation.md is old: run go run ./cmd/bands and look at the difference")
	}
}

// TestCoverage: with widths from the other half of the groups, 75 to 88% of the predictions of every level with 100 rows or more
// lie inside their bands. No band is wider than it must be: by a tenth narrower, fewer than four in five would be.
func TestCoverage(t *testing.T) {
	s := Trustworthy(samples(t))
	crossed := CrossCovered(s, groupsOf(s))
	levels := 0
	for _, c := range Covered(crossed) {
		if c.Rows < 100 {
			continue
		}
		levels++
		if c.Inside < 0.75 || c.Inside > 0.88 {
			t.Errorf("%s, %s: %.1f%% of %d inside", estimate.Quantities[c.Quantity], c.Level, 100*c.Inside, c.Rows)
		}
	}
	if levels < 5 {
		t.Errorf("only %d levels have 100 rows or more", levels)
	}
	for i := range crossed {
		crossed[i].Band *= 0.9
	}
	if narrow := insideOf(crossed); narrow > 0.8 {
		t.Errorf("bands narrower by a tenth hold %.1f%%", 100*narrow)
	}
}
