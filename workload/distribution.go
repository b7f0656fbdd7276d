package workload

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"throughline/internal/files"
)

// Spread changes fixed lengths to those of a distribution, given in words:
//
//	fixed           every request is as long as the lengths say
//	uniform:R       lengths are spread evenly between R times the given one and the given one
//	lognormal:S     lengths have the given mean and a standard deviation of S of their logarithm
//	sharegpt        lengths have the given mean and are spread as those of ShareGPT
//	trace:FILE      lengths are those of the requests in a file
//
// Only mean lengths are used, and the mean square of inputs, as attention grows with the square.
func (l Lengths) Spread(in *files.Door, words string) (Lengths, error) {
	kind, value, given := strings.Cut(words, ":")
	switch {
	case kind == "trace" && value == "":
		return l, errors.New("trace:FILE needs a file of requests")
	case (kind == "fixed" || kind == ShareGPT) && given:
		return l, fmt.Errorf("%s takes no number, but there is %q", kind, value)
	}
	switch kind {
	case "", "fixed":
		return l, nil
	case "uniform":
		r, err := strconv.ParseFloat(value, 64)
		if err != nil || !(r >= 0) || r > 1 {
			return l, fmt.Errorf("uniform:R needs a ratio between 0 and 1, not %q", value)
		}
		// Between r and 1 the mean is (1+r)/2, the mean square (1+r+r²)/3.
		mean, square := (1+r)/2, (1+r+r*r)/3
		out := l.scaled(mean, square/(mean*mean))
		out.LongestInput, out.Longest = l.Input, l.Final()
		return out, nil
	case "lognormal":
		s, err := strconv.ParseFloat(value, 64)
		if err != nil || !(s >= 0) || s > 3 {
			return l, fmt.Errorf("lognormal:S needs a deviation between 0 and 3, not %q", value)
		}
		// A log-normal variable has a mean square of e^(s²) times the square of its mean.
		out := l.scaled(1, math.Exp(s*s))
		// Its logarithm has the mean log(mean) - s²/2.
		rare := math.Exp(rarest*s - s*s/2)
		out.LongestInput = int(math.Ceil(rare * float64(l.Input)))
		out.Longest = out.LongestInput + int(math.Ceil(rare*float64(l.Output)))
		return out, nil
	case ShareGPT:
		out := l.scaled(1, shareGPTSquares)
		longest := shareGPTAt(1) / shareGPTMean
		out.LongestInput = int(math.Ceil(longest * float64(l.Input)))
		out.Longest = out.LongestInput + int(math.Ceil(longest*float64(l.Output)))
		out.Shape = ShareGPT
		return out, nil
	case "trace":
		return l.fromTrace(in, value)
	}
	return l, fmt.Errorf("length distribution %q is not one of fixed, uniform:R, lognormal:S, sharegpt, trace:FILE", words)
}

// rarest is the deviations above the mean that one in ten thousand of a normal distribution
// exceeds, as log-normal lengths have no longest.
const rarest = 3.719

// CheckSpread reports what is wrong with the words of a distribution, without opening files.
func CheckSpread(words string) error {
	if file, ok := strings.CutPrefix(words, "trace:"); ok && file != "" {
		return nil
	}
	_, err := Lengths{Input: 1, Output: 1}.Spread(nil, words)
	return err
}

// scaled multiplies the mean lengths, and sets the mean square of the inputs relative to it.
func (l Lengths) scaled(mean, squares float64) Lengths {
	part := float64(l.Cached) / float64(max(1, l.Input))
	l.Input = max(1, int(math.Round(mean*float64(l.Input))))
	l.Output = max(1, int(math.Round(mean*float64(l.Output))))
	l.Cached = int(part * float64(l.Input))
	l.Squares = squares
	return l
}

func (l Lengths) fromTrace(door *files.Door, name string) (Lengths, error) {
	list, err := ReadLengths(door, name)
	if err != nil {
		return l, err
	}
	var in, out, squares float64
	l.LongestInput, l.Longest = 0, 0
	for _, r := range list {
		l.LongestInput, l.Longest = max(l.LongestInput, r.Input), max(l.Longest, r.Input+r.Output)
		in += float64(r.Input)
		out += float64(r.Output)
		squares += float64(r.Input) * float64(r.Input)
	}
	n := float64(len(list))
	part := float64(l.Cached) / float64(max(1, l.Input))
	l.Input, l.Output = max(1, int(math.Round(in/n))), max(1, int(math.Round(out/n)))
	l.Cached = int(part * float64(l.Input))
	l.Squares = squares / n / (in / n * in / n)
	return l, nil
}
