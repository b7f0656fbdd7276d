package simulate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"throughline/internal/document"
)

// Traffic is requests that are drawn: how long they are, when they come and what they share.
type Traffic struct {
	Requests int // conversations, where these have several turns
	// Rate is the requests per second, +Inf for all at once; Clients bounds those under way, 0: no bound. A request that
	// finds no free client is sent when there is one, and its time counts from then on.
	Rate    float64
	Arrival Arrival
	Clients int

	Input, Output Length
	// Groups of requests share the first Prefix tokens of their prompts, besides their input.
	Groups, Prefix int
	// Turns of a conversation: each prompt is all that was said before, and Input tokens more, sent Think seconds after
	// the answer.
	Turns int
	Think float64

	HashTokens int // tokens of the blocks that are shared
	Seed       uint64
}

// Length is how long inputs or outputs are.
type Length struct {
	Mean int     // or the most, of uniform ones
	Kind string  // fixed, uniform or lognormal
	By   float64 // uniform: between By and 1 of the most; lognormal: the deviation of the logarithm
}

// ParseLength reads fixed, uniform:R or lognormal:S.
func ParseLength(words string, mean int) (Length, error) {
	kind, value, given := strings.Cut(words, ":")
	l := Length{Mean: mean, Kind: kind}
	if kind == "" {
		l.Kind = "fixed"
	}
	limits := map[string]float64{"uniform": 1, "lognormal": 3}
	most, known := limits[l.Kind]
	switch {
	case l.Kind == "fixed" && !given:
		return l, nil
	case !known:
		return l, fmt.Errorf("length distribution %q is not one of fixed, uniform:R, lognormal:S", words)
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= 0 && v <= most) {
		return l, fmt.Errorf("%s needs a number between 0 and %g, not %q", l.Kind, most, value)
	}
	l.By = v
	return l, nil
}

// mean is that of the lengths.
func (l *Length) mean() float64 {
	if l.Kind == "uniform" {
		low := max(1, math.Floor(float64(l.Mean)*l.By))
		return (low + float64(l.Mean)) / 2
	}
	return float64(l.Mean)
}

// Average is the mean length, as a whole number.
func (l *Length) Average() int { return max(1, int(math.Round(l.mean()))) }

// draw is one of them. Uniform ones are those of sglang.bench_serving: whole numbers from the ratio of the most, rounded
// down, to the most.
func (l *Length) draw(r *rand.Rand) int {
	switch l.Kind {
	case "uniform":
		low := max(1, int(float64(l.Mean)*l.By))
		return low + r.IntN(l.Mean-low+1)
	case "lognormal":
		return max(1, int(math.Round(float64(l.Mean)*math.Exp(l.By*r.NormFloat64()-l.By*l.By/2))))
	}
	return l.Mean
}

// Arrival is how requests are spread over time.
type Arrival struct {
	Kind string  // poisson, gamma, constant or bursts
	By   float64 // gamma: the coefficient of variation of the gaps; bursts: requests at once
}

// arrivalKinds are the words for them.
var arrivalKinds = []string{"poisson", "gamma:CV", "constant", "bursts:N"}

// ParseArrival reads poisson, gamma:CV, constant or bursts:N.
func ParseArrival(words string) (Arrival, error) {
	kind, value, given := strings.Cut(words, ":")
	a := Arrival{Kind: kind}
	switch kind {
	case "":
		a.Kind = "poisson"
		return a, nil
	case "poisson", "constant":
		if !given {
			return a, nil
		}
	case "gamma":
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v > 0 && v <= 100) {
			return a, fmt.Errorf("gamma:CV needs a coefficient of variation above 0, up to 100, not %q", value)
		}
		a.By = v
		return a, nil
	case "bursts":
		v, err := strconv.Atoi(value)
		if err != nil || v < 1 {
			return a, fmt.Errorf("bursts:N needs a number of requests of at least 1, not %q", value)
		}
		a.By = float64(v)
		return a, nil
	}
	return a, errors.New(document.NotOneOf(words, arrivalKinds))
}

// gap is the time from a request to the next, the nth.
func (a *Arrival) gap(r *rand.Rand, rate float64, n int) float64 {
	if math.IsInf(rate, 1) {
		return 0
	}
	switch a.Kind {
	case "constant":
		return 1 / rate
	case "bursts":
		if n%int(a.By) == 0 {
			return a.By / rate
		}
		return 0
	case "gamma":
		shape := 1 / (a.By * a.By)
		return gamma(r, shape) / (shape * rate)
	}
	return r.ExpFloat64() / rate
}

// gamma draws from a gamma distribution of scale 1 (Marsaglia and Tsang 2000).
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Pow(1-r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if u := 1 - r.Float64(); math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// Check lists what is wrong with traffic.
func (t *Traffic) Check() []error {
	var out []error
	note := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, fmt.Errorf(format, args...))
		}
	}
	note(t.Requests < 1, "num-prompts must be at least 1, not %d", t.Requests)
	note(!(t.Rate > 0), "rate must be above 0, or inf for all requests at once, not %g", t.Rate)
	note(t.Clients < 0, "max-concurrency must be at least 1, not %d", t.Clients)
	note(t.Input.Mean < 1 || t.Output.Mean < 1, "input and output lengths must be at least 1, not %d and %d", t.Input.Mean, t.Output.Mean)
	note(t.Groups < 0 || t.Prefix < 0 || (t.Groups > 0) != (t.Prefix > 0), "groups that share a prefix need both a number of groups and its tokens, not %d and %d", t.Groups, t.Prefix)
	note(t.Turns < 0, "turns must be at least 1, not %d", t.Turns)
	note(!(t.Think >= 0) || math.IsInf(t.Think, 0), "think-time must be a number of seconds from 0 on, not %g", t.Think)
	note(t.Turns > 1 && t.Groups > 0, "turns and groups that share a prefix: give one of them")
	return out
}

// Lengths are the mean lengths of requests, of all turns of a conversation.
func (t *Traffic) Lengths() (input, output int) {
	input, output = t.Input.Average()+t.Prefix, t.Output.Average()
	if t.Turns > 1 {
		input += (t.Turns - 1) * (input + output) / 2
	}
	return input, output
}

// Source draws the requests.
func (t *Traffic) Source() Source {
	return &drawn{Traffic: *t, lengths: rand.New(rand.NewPCG(t.Seed, 1)), gaps: rand.New(rand.NewPCG(t.Seed, 2)), groups: rand.New(rand.NewPCG(t.Seed, 3)), left: map[int]int{}}
}

// drawn is traffic under way. Lengths, gaps and groups have random numbers of their own, so that the same requests come at
// every rate.
type drawn struct {
	Traffic
	lengths, gaps, groups *rand.Rand
	sent                  int
	began                 int // clients
	at                    float64
	left                  map[int]int // turns of the conversations under way
}

// Next is the next request that waits for no end.
func (d *drawn) Next() (Request, bool, error) {
	if d.sent == d.Requests || d.Clients > 0 && d.began == d.Clients {
		return Request{}, false, nil
	}
	d.began++
	return d.draw(), true, nil
}

// Ended is the next turn of a conversation, or what the client sends next where their number is bounded.
func (d *drawn) Ended(client int, r *Request, t float64) (Request, bool) {
	if left := d.left[client]; left > 1 {
		d.left[client] = left - 1
		next := *r
		next.Arrival = t + d.Think
		next.Input = r.Input + r.Output + d.Input.draw(d.lengths)
		next.Output = d.Output.draw(d.lengths)
		next.Shared, next.Burst = next.Input, false
		return next, true
	}
	delete(d.left, client)
	if d.Clients == 0 || d.sent == d.Requests {
		return Request{}, false
	}
	next := d.draw()
	if next.Arrival < t {
		next.Arrival = t
	}
	next.Burst = false
	return next, true
}

func (d *drawn) draw() Request {
	r := Request{Input: d.Input.draw(d.lengths), Output: d.Output.draw(d.lengths), Client: d.sent, Burst: true}
	if d.sent > 0 { // the first comes at 0, as in sglang.bench_serving
		d.at += d.Arrival.gap(d.gaps, d.Rate, d.sent)
	}
	r.Arrival = d.at
	switch {
	case d.Groups > 0:
		r.Chain, r.Shared, r.HashTokens = mix(d.Seed+1+uint64(d.groups.IntN(d.Groups))), d.Prefix, d.HashTokens
		r.Input += d.Prefix
	case d.Turns > 1:
		r.Chain, r.Shared, r.HashTokens = mix(d.Seed+1+uint64(d.sent)), r.Input, d.HashTokens
		d.left[d.sent] = d.Turns
	}
	d.sent++
	return r
}
