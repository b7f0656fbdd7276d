package lab

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"throughline/cost"
	"throughline/estimate"
	"throughline/internal/test/racing"
	"throughline/internal/validate"
)

// made are samples of TPOT whose errors are spread evenly up to a limit: a tenth, with experts two tenths.
func made(groups int) (out []validate.Sample) {
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
			c := estimate.Known(estimate.TPOT, cost.Fitted, 0, estimate.Circumstance{Experts: experts})
			out = append(out, validate.Sample{Confidence: c, Group: fmt.Sprint(g), Error: e})
		}
	}
	return out
}

// TestFitWidths: of errors up to a tenth 82% are below 0.082, with experts below twice that.
func TestFitWidths(t *testing.T) {
	samples := made(200)
	wild := samples[0]
	wild.Error, wild.Doubtful = 100, true
	samples = append(samples, wild)
	w := FitWidths(samples)[estimate.TPOT]
	if got := math.Exp(w.Base); math.Abs(got-0.082) > 0.003 {
		t.Errorf("a width of %v, by hand 0.082", got)
	}
	if got := math.Exp(w.Experts); math.Abs(got-2) > 0.1 {
		t.Errorf("with experts %v times that, by hand twice", got)
	}
	if few := FitWidths(made(4))[estimate.TPOT]; few.Experts < 0.1 || few.Experts > 0.9*w.Experts {
		t.Errorf("four groups tell %v of experts, 200 %v", few.Experts, w.Experts)
	}
	crossed := CrossCovered(Trustworthy(samples), groupsOf(samples))
	if len(crossed[0]) != 10_000 || len(crossed[1]) != 10_000 {
		t.Fatalf("%d and %d samples", len(crossed[0]), len(crossed[1]))
	}
	c := validate.Covered(crossed[:]...)
	if len(c) != 1 || c[0].Quantity != estimate.TPOT || c[0].Level != cost.Fitted || c[0].Rows != 20_000 || math.Abs(c[0].Inside-aim) > 0.03 {
		t.Errorf("%+v", c)
	}
}

// TestMeanCovered: whatever halves ten equal groups are put into, as many lie inside as of the first ones, and the halvings do
// not differ.
func TestMeanCovered(t *testing.T) {
	samples := made(10)
	crossed := CrossCovered(samples, groupsOf(samples))
	once := validate.Covered(crossed[:]...)[0]
	list, together := MeanCovered(samples)
	if together != 0 && math.Abs(together-1) > 1e-9 {
		t.Errorf("%v of equal halvings hold", together)
	}
	if mean := list[0]; mean.Rows != 1000 || math.Abs(mean.Inside-once.Inside) > 1e-9 || math.Abs(mean.Median-once.Median) > 1e-9 || mean.Spread[0] > 1e-6 {
		t.Errorf("%+v, one halving %+v", mean, once)
	}
}

// TestCovered: of six samples with bands from 10% to 60%, all off by a factor of 1.25, four lie inside.
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

// TestThirds: bands of one width are in no order, and those of two sets of widths are not compared.
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
	// 60 rows: 20 of the narrow ones; the other 10 of them and 10 of the wide ones; the rest of these.
	together := validate.Covered(append(slices.Clone(third), two...))[0]
	if !near(together.Thirds, 2./3, 5./6, 1) || math.Abs(together.Inside-5./6) > 1e-12 || math.Abs(together.Above-1./6) > 1e-12 {
		t.Errorf("one set of widths: %+v", together)
	}
	if got := validate.Covered(third, two)[0].Thirds; !near(got, 5./6, 5./6, 5./6) {
		t.Errorf("two sets of widths: %v", got)
	}
	// 50 of 60 are inside; so many are off by nothing, the rest by twice a tenth.
	if math.Abs(together.Constant) > 1e-12 || together.Median != 0.5 {
		t.Errorf("one band for all of %v, a median of %v", together.Constant, together.Median)
	}
}

// predicted are the samples of today, which several tests look at.
var evident = sync.OnceValues(func() ([]validate.Sample, error) { return Evidence(context.Background(), "../..") })

func samples(t *testing.T) []validate.Sample {
	t.Helper()
	if racing.Enabled {
		t.Skip("predictions of thousands of runs take long under the race detector")
	}
	besideProject(t, evidence.serving)
	out, err := evident()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out)
}

// TestBandsCurrent: the widths and the tables about them are what the predictions of today give.
func TestBandsCurrent(t *testing.T) {
	s := samples(t)
	want, err := BandsOf(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/validation/bands.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := BandsPage(doc, s)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile("../../estimate/bands.json"); err != nil || !bytes.Equal(is, want) {
		t.Errorf("estimate/bands.json is old: run go run ./cmd/lab bands and look at the difference (%v)", err)
	}
	if !bytes.Equal(doc, shown) {
		t.Error("docs/validation/bands.md is old: run go run ./cmd/lab bands and look at the difference")
	}
}

// TestCoverage: with widths from the other half of the groups, 75 to 88% of the predictions of every level with 100 rows or more
// lie inside their bands, and of each third of them: in the halves of the groups in turns, and on average of halves by chance, of which no fewer
// hold all at once than of bands that are right.
// No band is wider than it must be: a rung narrower, fewer than four in five would be, and one for
// all that holds as many is no narrower on average of the halves by chance, but for a rung.
func TestCoverage(t *testing.T) {
	rung := math.Pow(10, 1./20)
	s := Trustworthy(samples(t))
	crossed := CrossCovered(s, groupsOf(s))
	chance, together := MeanCovered(s)
	levels := 0
	for i := range chance {
		c := &chance[i].Coverage
		if c.Rows < validate.EnoughToJudge {
			continue
		}
		levels++
		if !c.Held() {
			t.Errorf("%s, %s, %d rows: %.1f%% inside, by thirds %.3f", estimate.Quantities[c.Quantity], c.Level, c.Rows, 100*c.Inside, c.Thirds)
		}
		if c.Median > rung*c.Constant {
			t.Errorf("%s, %s: a median band of %.3f, where %.3f for all would hold as many", estimate.Quantities[c.Quantity], c.Level, c.Median, c.Constant)
		}
	}
	if levels < 5 {
		t.Errorf("only %d levels have 100 rows or more", levels)
	}
	turns := validate.Covered(crossed[:]...)
	for i := range turns {
		if c := &turns[i]; c.Rows >= validate.EnoughToJudge && !c.Held() {
			t.Errorf("halves in turns: %s, %s, %d rows: %.1f%% inside, by thirds %.3f", estimate.Quantities[c.Quantity], c.Level, c.Rows, 100*c.Inside, c.Thirds)
		}
	}
	luck := LuckOf(s)
	if together < luck.Known {
		t.Errorf("all hold at once in %.3f of the halves by chance, of bands that are right in %.3f", together, luck.Known)
	}
	all := slices.Concat(crossed[:]...)
	for i := range all {
		all[i].Band /= rung
	}
	if narrow := validate.InsideOf(all); narrow > 0.8 {
		t.Errorf("bands a rung narrower hold %.1f%%", 100*narrow)
	}
}

// TestLuck: errors of groups that have nothing in common, in many groups, are inside as often as they should be in every half; groups
// that are each off by one number have all in common, and hold all at once or not by luck.
func TestLuck(t *testing.T) {
	draw := func(common float64) (out []validate.Sample) {
		random := rand.New(rand.NewPCG(3, 3))
		for g := range 40 {
			own := random.NormFloat64()
			for range 60 {
				c := estimate.Known(estimate.TPOT, cost.Fitted, 0, estimate.Circumstance{})
				e := math.Sqrt(common)*own + math.Sqrt(1-common)*random.NormFloat64()
				out = append(out, validate.Sample{Confidence: c, Group: fmt.Sprint(g), Error: 0.1 * e})
			}
		}
		return out
	}
	alone, together := LuckOf(draw(0)), LuckOf(draw(0.9))
	if got := alone.Alike[estimate.TPOT]; got > 0.03 {
		t.Errorf("groups with nothing in common have %v", got)
	}
	if got := together.Alike[estimate.TPOT]; got < 0.8 || got > 0.97 {
		t.Errorf("of 0.9 in common %v are found", got)
	}
	if alone.Known < 0.95 || alone.Found < 0.8 || math.Abs(alone.Fair-fair) > 0.03 || alone.Members[estimate.TPOT] != 40 {
		t.Errorf("errors of their own: %+v", alone)
	}
	if together.Known > 0.9*alone.Known || together.Outside < alone.Outside {
		t.Errorf("common errors: %+v, their own: %+v", together, alone)
	}
}

// TestUnseen: runs of others that had no part in any width, those of one benchmark whose scripts are known, without drafts, lie inside the
// bands of TPOT as often as they should, on AMD's chips, too. Those whose settings are not told would not.
func TestUnseen(t *testing.T) {
	if racing.Enabled {
		t.Skip("predictions of thousands of runs take long under the race detector")
	}
	name := besideProject(t, evidence.labelled)
	table, r, err := predicted(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	told := FitWidths(Trustworthy(samples(t)))
	var unseen, untold []validate.Sample
	by := map[string][]validate.Sample{}
	for i := range r.Rows {
		one := validate.Report{Rows: r.Rows[i : i+1]}
		maker := "others"
		if strings.HasPrefix(strings.ToLower(table.rows[i].Get("system")), "mi") {
			maker = "AMD"
		}
		for _, s := range one.Samples() {
			switch {
			case s.Quantity == estimate.UntoldTPOT && !s.Circumstance.Drafts:
				s.Judge(&told[estimate.TPOT]) // as if they were
				untold = append(untold, s)
			case s.Quantity < estimate.UntoldTTFT && !s.Circumstance.Drafts:
				if s.Quantity == estimate.TPOT {
					unseen = append(unseen, s)
				}
				at := fmt.Sprintf("%s, %s, %s", estimate.Quantities[s.Quantity], s.Level, maker)
				by[at] = append(by[at], s)
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(by)) {
		t.Logf("%s: %d rows, %.0f%% inside", at, len(by[at]), 100*validate.InsideOf(by[at]))
	}
	t.Logf("TPOT of %d rows: %.0f%% inside; of %d whose settings are not told, with the same widths: %.0f%%", len(unseen), 100*validate.InsideOf(unseen), len(untold), 100*validate.InsideOf(untold))
	if got := validate.InsideOf(unseen); len(unseen) < 100 || got < validate.Fewest {
		t.Errorf("TPOT of %d runs: %.1f%% inside", len(unseen), 100*got)
	}
	if got := validate.InsideOf(untold); got > validate.Fewest {
		t.Errorf("settings that are not told do not matter: %.1f%% inside", 100*got)
	}
}
