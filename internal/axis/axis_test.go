package axis

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var numbers = Reader{Number: func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }}

func texts(a *Axis) (out []string) {
	for i := range a.Len() {
		out = append(out, a.Text(i))
	}
	return out
}

// Every form of the grammar, by hand.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"1,2,4":        "1 2 4",
		"1:5":          "1 2 3 4 5",
		"10:50:5":      "10 20 30 40 50",
		"1:100:log3":   "1 10 100",
		"1:32:x2":      "1 2 4 8 16 32",
		"1:33:x2":      "1 2 4 8 16 32",
		"x0.5:x2:log3": "x0.5 x1 x2",
		"x0.5:x4:log4": "x0.5 x1 x2 x4",
		"x1,x3":        "x1 x3",
		"0:1:5":        "0 0.25 0.5 0.75 1",
		"1:1000:x10":   "1 10 100 1000",
	} {
		a, err := numbers.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(texts(a), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	whole := Reader{Number: numbers.Number, Whole: true}
	if a, err := whole.Parse("1:10:4"); err != nil || strings.Join(texts(a), " ") != "1 4 7 10" {
		t.Errorf("whole numbers: %v, %v", a, err)
	}
	if a, err := (Reader{}).Parse("H100_SXM, H200"); err != nil || strings.Join(texts(a), " ") != "H100_SXM H200" || a.IsNumeric() {
		t.Errorf("words: %v, %v", a, err)
	}
}

// What is no list or range says why.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"1,,2": "empty place", "1,1": "twice", "5:1": "lower end", "1:2:3:4": "3 colons", "0.5:2": "whole numbers", "0:5:log3": "above 0",
		"1:5:x1": "above 1", "1:5:1": "from 2", "1:5:many": "from 2", "x1:4:3": "both ends", "x1,2": "none is", "a,b": "invalid syntax; ", "a:b": `"a:b": `,
		"1:99999999999": "more than",
	} {
		if a, err := numbers.Parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v, want %q", text, a, err, want)
		}
	}
	whole := Reader{Number: numbers.Number, Whole: true}
	if _, err := whole.Parse("1:3:7"); err == nil || !strings.Contains(err.Error(), "3 whole numbers") {
		t.Errorf("more values than whole numbers: %v", err)
	}
}

// The first points of the sequence are those that its table's own program prints, in another order.
func TestSobolSequence(t *testing.T) {
	var got [][3]float64
	for i := range 8 {
		var p [3]float64
		for k := range p {
			p[k] = float64(sobol(uint32(i), k)) / (1 << 32)
		}
		got = append(got, p)
	}
	for _, want := range [][3]float64{{0, 0, 0}, {0.5, 0.5, 0.5}, {0.75, 0.25, 0.75}, {0.25, 0.75, 0.25}, {0.375, 0.375, 0.625}, {0.875, 0.875, 0.125}} {
		if !slices.Contains(got, want) {
			t.Errorf("%v is not among %v", want, got)
		}
	}
}

// Of 2^k points of a Sobol sequence, scrambled or not, each of 2^k parts of every axis has one; so
// has each part of a Latin hypercube, of any number.
func TestEveryPartOnce(t *testing.T) {
	for _, c := range []struct {
		d Design
		n int
	}{{Sobol, 256}, {Sobol, 4096}, {Latin, 100}, {Latin, 7}, {Latin, 1}} {
		var seen [19][]bool
		for k := range seen {
			seen[k] = make([]bool, c.n)
		}
		p := make([]float64, len(seen))
		for i := range c.n {
			if err := c.d.Spread(i, c.n, 7, p); err != nil {
				t.Fatal(err)
			}
			for k, u := range p {
				part := int(u * float64(c.n))
				if seen[k][part] {
					t.Fatalf("%s of %d: two points in part %d of axis %d", c.d, c.n, part, k)
				}
				seen[k][part] = true
			}
		}
	}
}

// Pairs of axes of a Sobol sequence fill boxes evenly: 1,024 points, 32 × 32 boxes, one in each, on
// the first two axes.
func TestSobolNet(t *testing.T) {
	seen := map[[2]int]bool{}
	var p [2]float64
	for i := range 1024 {
		if err := Sobol.Spread(i, 1024, 3, p[:]); err != nil {
			t.Fatal(err)
		}
		seen[[2]int{int(32 * p[0]), int(32 * p[1])}] = true
	}
	if len(seen) != 1024 {
		t.Errorf("%d boxes of 1024 have a point", len(seen))
	}
}

// The mean of a product of a smooth function of each axis is 1: designs come closer than chance
// does.
func TestIntegral(t *testing.T) {
	const n, axes = 4096, 5
	for _, d := range []Design{Sobol, Halton, Latin} {
		sum := 0.0
		p := make([]float64, axes)
		for i := range n {
			if err := d.Spread(i, n, 11, p); err != nil {
				t.Fatal(err)
			}
			f := 1.0
			for _, u := range p {
				f *= 0.5 + u
			}
			sum += f
		}
		// By chance the deviation would be sqrt((13/12)^5-1)/64 = 0.011.
		if off := math.Abs(sum/n - 1); off > 0.011 {
			t.Errorf("%s: off by %.4f", d, off)
		}
	}
}

func TestTooManyAxes(t *testing.T) {
	if err := Sobol.Spread(0, 1, 0, make([]float64, 40)); err == nil {
		t.Error("40 axes")
	}
}

// TestJoeKuo: the table has the numbers of a second print of it, NLopt's (stevengj/nlopt@0573e4bd
// src/util/soboldata.h), which lists the second numbers of all dimensions, then the third, and so
// on, beside the polynomials.
func TestJoeKuo(t *testing.T) {
	polynomials := []uint32{3, 7, 11, 13, 19, 25, 37, 59, 47, 61, 55, 41, 67, 97, 91, 109, 103, 115, 131}
	printed := [][]uint32{
		{1, 3, 1, 3, 1, 3, 3, 1, 3, 1, 3, 1, 3, 1, 1, 3, 1, 3},
		{7, 5, 1, 3, 3, 7, 5, 5, 7, 7, 1, 3, 3, 7, 5, 1, 1},
		{1, 7, 9, 13, 11, 1, 3, 7, 9, 5, 13, 13, 11, 3, 15},
		{9, 3, 27, 15, 29, 21, 23, 19, 11, 25, 7, 13, 17},
		{37, 33, 7, 5, 11, 39, 63},
		{13},
	}
	for d, row := range sobolTable {
		if row.polynomial != polynomials[d] || row.first[0] != 1 || len(row.first) != bits.Len32(row.polynomial)-1 {
			t.Errorf("dimension %d: polynomial %d, %v", d+2, row.polynomial, row.first)
		}
		for k, m := range row.first[1:] {
			if want := printed[k][d-len(sobolTable)+len(printed[k])]; m != want {
				t.Errorf("dimension %d: number %d is %d, printed is %d", d+2, k+2, m, want)
			}
		}
	}
}

// The radical inverse by hand: 6 is 20 in base 3, and 0.02 in base 3 is 2/9.
func TestRadical(t *testing.T) {
	for _, c := range []struct {
		i, base int
		want    float64
	}{{0, 2, 0}, {1, 2, 0.5}, {6, 2, 0.375}, {6, 3, 2. / 9}, {25, 5, 1. / 125}, {11, 7, 29. / 49}} {
		if got := radical(c.i, c.base); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%d in base %d: %v, want %v", c.i, c.base, got, c.want)
		}
	}
	// Two shifted points differ by the difference of their inverses.
	var a, b [3]float64
	if err := errors.Join(Halton.Spread(0, 9, 4, a[:]), Halton.Spread(6, 9, 4, b[:])); err != nil {
		t.Fatal(err)
	}
	for k, base := range []int{2, 3, 5} {
		if d := b[k] - a[k] - radical(6, base); math.Abs(d-math.Round(d)) > 1e-12 {
			t.Errorf("axis %d: from %v to %v", k, a[k], b[k])
		}
	}
}
