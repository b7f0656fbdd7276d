package experts

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/files"
)

// Popularity is how unevenly tokens visit the experts of a layer. The zero value is even.
type Popularity struct {
	// Spread is the standard deviation of the logarithm of expert visits over many steps, Blocks
	// that of what an eighth of the experts, all neighbours, have in common, as in models routed by
	// groups.
	Spread, Blocks float64
	// Exponent of a power law, instead of a spread: rank r gets visits proportional to r^-exponent.
	Exponent float64
	// Alike is how many experts all tokens visit, the same, instead: prompts of one token repeated.
	Alike int
	// Counts are counted visits, by layer and expert, instead of all of these.
	Counts *Counts
	// Drift is the deviation of the logarithm of an expert's visits from step to step.
	Drift float64
}

// Counts are visits of experts, by layer.
type Counts struct{ Layers [][]float64 }

// Even reports whether all experts are visited alike.
func (p *Popularity) Even() bool { return *p == Popularity{} }

// Varies is the standard deviation of the logarithm of expert visits over many steps: for a power
// law its exponent, as that of the logarithm of a uniform share is 1; for counts infinite.
func (p *Popularity) Varies() float64 {
	if p.Counts != nil {
		return math.Inf(1)
	}
	return math.Hypot(math.Hypot(p.Spread, p.Blocks), p.Exponent)
}

// ParsePopularity reads uniform, zipf:EXPONENT, lognormal:SPREAD or counts:FILE, all without drift.
func ParsePopularity(in *files.Door, text string) (Popularity, error) {
	kind, value, given := strings.Cut(text, ":")
	var out Popularity
	number := func(into *float64) error {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v <= 5) {
			return fmt.Errorf("%s must be a number between 0 and 5, not %q", kind, value)
		}
		*into = v
		return nil
	}
	switch {
	case kind == "uniform" && !given:
		return Popularity{}, nil
	case kind == "zipf":
		return out, number(&out.Exponent)
	case kind == "lognormal":
		return out, number(&out.Spread)
	case kind == "counts" && value != "":
		var err error
		out.Counts, err = ReadCounts(in, value)
		return out, err
	}
	return out, fmt.Errorf("%q is not one of uniform, zipf:EXPONENT, lognormal:SPREAD, counts:FILE", text)
}

// ReadCounts reads a CSV table of visits without header: a row per layer, a column per expert.
func ReadCounts(in *files.Door, name string) (*Counts, error) {
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out Counts
	var problems []error
	r := csvfile.NewReader(f, csvfile.Kept)
	for {
		cells, err := r.Read()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, errors.Join(append(problems, fmt.Errorf("%s: %w", name, err))...)
		}
		line := r.Line()
		row, sum := make([]float64, len(cells)), 0.0
		for i, c := range cells {
			v, err := strconv.ParseFloat(strings.TrimSpace(c), 64)
			if err != nil || !(v >= 0 && v <= 1e18) {
				problems = append(problems, fmt.Errorf("%s: line %d, column %d: %q is not a number of visits", name, line, i+1, c))
			}
			row[i] = v
			sum += v
		}
		switch {
		case len(out.Layers) > 0 && len(row) != len(out.Layers[0]):
			problems = append(problems, fmt.Errorf("%s: line %d has %d experts, the first has %d", name, line, len(row), len(out.Layers[0])))
		case !(sum > 0):
			problems = append(problems, fmt.Errorf("%s: line %d: nothing visits these experts", name, line))
		}
		out.Layers = append(out.Layers, row)
	}
	if len(out.Layers) == 0 && problems == nil {
		problems = append(problems, fmt.Errorf("%s: no visits: a row for each expert layer, a column for each expert", name))
	}
	return &out, errors.Join(problems...)
}

// blocks of neighbouring experts have something in common.
const blocks = 8

// quantile is the middle of part i of n of a normal distribution, so that all layers are as uneven.
func quantile(i, n int) float64 { return math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(n)-1) }

// draws is how many layers stand for all where popularity is a distribution.
const draws = 12

func (p *Popularity) layers() int {
	if p.Counts != nil {
		return len(p.Counts.Layers)
	}
	return draws
}

// shares fills in the experts' shares of visits, by repeatable draws that ignore their places.
func (p *Popularity) shares(layer int, out []float64) {
	rng := rand.New(rand.NewPCG(uint64(layer), 0x5ca1ab1e))
	n := len(out)
	for i := range out {
		switch {
		case p.Counts != nil:
			out[i] = p.Counts.Layers[layer][i]
		case p.Alike > 0:
			out[i] = 0
			if i < p.Alike {
				out[i] = 1
			}
		case p.Exponent > 0:
			out[i] = math.Pow(float64(i+1), -p.Exponent)
		default:
			out[i] = math.Exp(p.Spread * quantile(i, n))
		}
	}
	if p.Counts == nil {
		rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		var common [blocks]float64
		for b := range common {
			common[b] = math.Exp(p.Blocks * quantile(b, blocks))
		}
		rng.Shuffle(blocks, func(i, j int) { common[i], common[j] = common[j], common[i] })
		for i := range out {
			out[i] *= common[i*blocks/len(out)]
		}
	}
	sum := 0.0
	for _, s := range out {
		sum += s
	}
	for i := range out {
		out[i] /= sum
	}
}
