package workload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Terms are the settings of a run.
type Terms struct {
	Backend    string
	Traffic    Traffic
	TTFT, TPOT Limit
}

// Protocol is how requests are sent and answered.
type Protocol struct {
	Warmup           int     // requests before those that are measured
	Flush            bool    // the prefix cache, after the warm-up
	Profile          bool    // SGLang's profiler runs meanwhile
	Retries          int     // of a request that has no answer yet
	Timeout          float64 // seconds that a request may take
	DisableStream    bool
	DisableIgnoreEOS bool
	ReturnLogprob    bool
	Suffix           string // of prompts that are text
	OnlyIDs          bool   // prompts must be token ids
	// Of conversations in a file: tokens of answers, and the most per request; 0: as recorded.
	FixedOutput, Longest int
}

// Traffic is requests: how long they are, when they come and what they share.
type Traffic struct {
	Dataset  string // a name of sglang.bench_serving, or a file
	Requests int    // conversations, where these have several turns; of a trace 0 for all
	// Rate is the requests per second, +Inf for all at once; Clients bounds those under way.
	Rate    float64
	Arrival Arrival
	Clients int

	Input, Output Length
	// Trace is recorded requests instead of drawn ones.
	Trace *Trace
	// Recorded are lengths instead of drawn ones, in turn, starting over at the end.
	Recorded []Recorded
	// Groups of requests share the first Prefix tokens of their prompts, besides their input.
	Groups, Prefix int
	// Turns of a conversation, each Think seconds after the last, with Input new tokens.
	Turns int
	Think float64

	// Steady: clients have been at it for long. Their first requests, which come before those of
	// Requests, are somewhere in their answers when the run begins.
	Steady bool
	// Cached is the leading tokens of prompts that servers have from before, and Repeated the share
	// of first requests whose whole prompts they have.
	Cached   int
	Repeated float64

	// Strata is the successive requests whose lengths are spread evenly, in random order, over what
	// they are drawn from, so that short runs have the same mean; 0: each is drawn by itself.
	Strata int

	HashTokens int // tokens of the blocks that are shared
	Seed       uint64
}

// Closed reports whether clients send drawn requests one after another, so that there is a steady
// state to come to.
func (t *Traffic) Closed() bool {
	return t.Clients > 0 && math.IsInf(t.Rate, 1) && t.Drawn() && t.Turns <= 1 && t.Requests > t.Clients
}

// Length is how long inputs or outputs are.
type Length struct {
	Mean int     // or the most, of uniform ones
	Kind string  // fixed, uniform, lognormal or sharegpt
	By   float64 // uniform: between By and 1 of the most; lognormal: the deviation of the logarithm
}

// Recorded is the lengths of a recorded request.
type Recorded struct{ Input, Output int }

// ParseLength reads fixed, uniform:R, lognormal:S or sharegpt.
func ParseLength(words string, mean int) (Length, error) {
	kind, value, _ := strings.Cut(words, ":")
	l := Length{Mean: mean, Kind: cmp.Or(kind, "fixed")}
	if err := CheckSpread(words); err != nil {
		return l, err
	}
	l.By, _ = strconv.ParseFloat(value, 64) // fixed has none
	return l, nil
}

func (l *Length) mean() float64 {
	if l.Kind == "uniform" {
		low := max(1, math.Floor(float64(l.Mean)*l.By))
		return (low + float64(l.Mean)) / 2
	}
	return float64(l.Mean)
}

// Average is the mean length, as an integer.
func (l *Length) Average() int { return max(1, int(math.Round(l.mean()))) }

// Draw draws a length. Uniform ones are integers from int(By · the most), as in bench_serving.
func (l *Length) Draw(r *rand.Rand) int {
	switch l.Kind {
	case "uniform":
		low := max(1, int(float64(l.Mean)*l.By))
		return low + r.IntN(l.Mean-low+1)
	case "lognormal":
		return max(1, int(math.Round(float64(l.Mean)*math.Exp(l.By*r.NormFloat64()-l.By*l.By/2))))
	case ShareGPT:
		return l.at(r.Float64())
	}
	return l.Mean
}

// at is the length that a share of them does not exceed.
func (l *Length) at(share float64) int {
	switch l.Kind {
	case "uniform":
		low := max(1, int(float64(l.Mean)*l.By))
		return low + int(share*float64(l.Mean-low+1))
	case "lognormal":
		z := math.Sqrt2 * math.Erfinv(2*share-1)
		return max(1, int(math.Round(float64(l.Mean)*math.Exp(l.By*z-l.By*l.By/2))))
	case ShareGPT:
		return max(1, int(math.Round(float64(l.Mean)*shareGPTAt(share)/shareGPTMean)))
	}
	return l.Mean
}

// gap is the time from a request to the next, the nth.
func gap(a *Arrival, r *rand.Rand, rate float64, n int) float64 {
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

// Fixed is lengths that are all the same.
func Fixed(tokens int) Length { return Length{Mean: tokens, Kind: "fixed"} }

// Ratio is that of the least to the largest length.
func (l *Length) Ratio() float64 {
	if l.Kind == "uniform" {
		return l.By
	}
	return 1
}

// Drawn reports whether lengths are drawn rather than read from a file.
func (t *Traffic) Drawn() bool { return t.Trace == nil && len(t.Recorded) == 0 && t.Input.Mean > 0 }

// Count is the requests, counting turns of conversations one by one.
func (t *Traffic) Count() int {
	if t.Trace != nil && (t.Requests == 0 || t.Requests > t.Trace.Requests) {
		return t.Trace.Requests
	}
	return t.Requests * max(1, t.Turns)
}

// Lengths are the mean lengths of requests, of all turns of a conversation.
func (t *Traffic) Lengths() (input, output int) {
	if t.Trace != nil {
		return max(1, int(math.Round(t.Trace.MeanInput))), max(1, int(math.Round(t.Trace.MeanOutput)))
	}
	input, output = t.Input.Average()+t.Prefix, t.Output.Average()
	if n := len(t.Recorded); n > 0 {
		var sum Recorded
		for _, r := range t.Recorded {
			sum.Input += r.Input
			sum.Output += r.Output
		}
		input, output = (sum.Input+n/2)/n+t.Prefix, (sum.Output+n/2)/n
	}
	if t.Turns > 1 {
		input += (t.Turns - 1) * (input + output) / 2
	}
	return input, output
}

// Source draws the requests, or reads those of the trace.
func (t *Traffic) Source() Source {
	if t.Trace != nil {
		return ByClients(t.Trace.source(t.Rate, t.Requests), t.Clients)
	}
	return ByClients(&drawn{Traffic: *t, lengths: rand.New(rand.NewPCG(t.Seed, 1)), gaps: rand.New(rand.NewPCG(t.Seed, 2)), groups: rand.New(rand.NewPCG(t.Seed, 3)), left: map[int]int{}}, t.Clients)
}

// drawn draws lengths, gaps and groups separately, so that the same requests come at every rate.
type drawn struct {
	Traffic
	lengths, gaps, groups *rand.Rand
	sent                  int
	recorded              int      // lengths taken
	strata                [2][]int // of inputs and outputs, those to come
	at                    float64
	left                  map[int]int // turns of the conversations under way
}

// Next is the next request that waits for no end.
func (d *drawn) Next() (Request, bool, error) {
	if d.sent == d.Requests && !d.Steady { // which clients never leave
		return Request{}, false, nil
	}
	return d.draw(), true, nil
}

// Ended is the next turn of a conversation.
func (d *drawn) Ended(client int, r *Request, t float64) (Request, bool) {
	left := d.left[client]
	if left <= 1 {
		delete(d.left, client)
		return Request{}, false
	}
	d.left[client] = left - 1
	next := *r
	next.Arrival = t + d.Think
	input, output := d.length()
	next.Input, next.Output = r.Input+r.Output+input, output
	next.Shared = next.Input
	return next, true
}

// length is that of the next prompt and its answer.
func (d *drawn) length() (input, output int) {
	if n := len(d.Recorded); n > 0 {
		r := d.Recorded[d.recorded%n]
		d.recorded++
		return r.Input, r.Output
	}
	if d.Strata > 0 {
		return d.stratum(0, &d.Input), d.stratum(1, &d.Output)
	}
	input = d.Input.Draw(d.lengths)
	return input, d.Output.Draw(d.lengths)
}

// stratum draws a length from the next stratum of inputs or outputs.
func (d *drawn) stratum(of int, l *Length) int {
	if len(d.strata[of]) == 0 {
		d.strata[of] = d.lengths.Perm(d.Strata)
	}
	low := d.strata[of][0]
	d.strata[of] = d.strata[of][1:]
	return l.at((float64(low) + d.lengths.Float64()) / float64(d.Strata))
}

// begin changes the first request of a client to what a run finds at its begin. Multiples of the
// golden ratio spread over the clients evenly, and in no order.
func (d *drawn) begin(r *Request) {
	part := math.Mod(float64(d.sent+1)*math.Phi, 1)
	if d.Steady {
		r.Input, r.Output = r.Input+int((1-part)*float64(r.Output)), max(1, int(math.Round(part*float64(r.Output))))
		r.UnderWay = true
	}
	if d.Steady || part < d.Repeated {
		r.Cached = r.Input
	}
}

func (d *drawn) draw() Request {
	r := Request{Client: d.sent}
	r.Input, r.Output = d.length()
	if r.Cached = min(d.Cached, r.Input); d.sent < d.Clients {
		d.begin(&r)
	}
	if d.sent > 0 { // the first comes at 0, as in sglang.bench_serving
		d.at += gap(&d.Arrival, d.gaps, d.Rate, d.sent)
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
