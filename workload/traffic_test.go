package workload_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"throughline/internal/files"
	"throughline/serving/simulate"
	"throughline/workload"
)

// all are the requests of traffic that wait for no end.
func all(t *testing.T, traffic *workload.Traffic) (out []workload.Request) {
	t.Helper()
	for s := traffic.Source(); ; {
		r, ok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		out = append(out, r)
	}
}

// TestArrivals: gaps have the mean and the deviation that they are asked for.
func TestArrivals(t *testing.T) {
	for words, cv := range map[string]float64{"poisson": 1, "gamma:3": 3, "gamma:0.5": 0.5, "constant": 0} {
		a, err := workload.ParseArrival(words)
		if err != nil {
			t.Fatal(err)
		}
		var d simulate.Distribution
		last := 0.0
		traffic := workload.Traffic{Requests: 1_000_001, Rate: 5, Arrival: a, Input: workload.Fixed(1), Output: workload.Fixed(1)}
		for _, r := range all(t, &traffic)[1:] {
			d.Add(r.Arrival-last, 1)
			last = r.Arrival
		}
		if mean, got := d.Mean(), d.Deviation()/d.Mean(); math.Abs(mean*5-1) > 0.01 || math.Abs(got-cv) > 0.02*(cv+0.01) {
			t.Errorf("%s: mean %v, variation %v", words, mean, got)
		}
	}
	traffic := workload.Traffic{Requests: 7, Rate: 2, Arrival: workload.Arrival{Kind: "bursts", By: 3}, Input: workload.Length{Mean: 1, Kind: "fixed"}, Output: workload.Length{Mean: 1, Kind: "fixed"}}
	var got []float64
	for _, r := range all(t, &traffic) {
		got = append(got, r.Arrival)
	}
	if want := []float64{0, 0, 0, 1.5, 1.5, 1.5, 3}; !slices.Equal(got, want) {
		t.Errorf("bursts at %v, want %v", got, want)
	}
	for _, words := range []string{"gamma", "gamma:0", "gamma:nan", "bursts:0", "posson", "constant:2"} {
		if _, err := workload.ParseArrival(words); err == nil {
			t.Errorf("%q is accepted", words)
		}
	}
}

// TestLengths: they have the mean that they are asked for, and uniform ones the bounds of
// sglang.bench_serving.
func TestLengths(t *testing.T) {
	for words, mean := range map[string]float64{"fixed": 100, "uniform:0.5": 75, "uniform:0": 50.5, "lognormal:1": 100} {
		l, err := workload.ParseLength(words, 100)
		if err != nil {
			t.Fatal(err)
		}
		var d simulate.Distribution
		random := rand.New(rand.NewPCG(1, 1))
		for range 500_000 {
			d.Add(float64(l.Draw(random)), 1)
		}
		if math.Abs(d.Mean()/mean-1) > 0.01 || math.Abs(float64(l.Average())-mean) > 0.5 || d.Min < 1 || strings.HasPrefix(words, "uniform") && (d.Max != 100 || d.Min != max(1, 100*l.By)) {
			t.Errorf("%s: mean %v from %v to %v", words, d.Mean(), d.Min, d.Max)
		}
	}
	for _, words := range []string{"uniform:2", "uniform", "lognormal:x", "fixed:3", "zipf:1"} {
		if _, err := workload.ParseLength(words, 100); err == nil {
			t.Errorf("%q is accepted", words)
		}
	}
}

func TestLimits(t *testing.T) {
	for words, want := range map[string]workload.Limit{
		"": {}, "p99:2s": {Share: 0.99, Seconds: 2}, "p95:50ms": {Share: 0.95, Seconds: 0.05}, "mean:1.5s": {Share: 0, Seconds: 1.5}, "median:3ms": {Share: 0.5, Seconds: 0.003}, "2000": {Share: 0.99, Seconds: 2}, "p90:250": {Share: 0.9, Seconds: 0.25},
	} {
		if got, err := workload.ParseLimit(words); err != nil || math.Abs(got.Share-want.Share) > 1e-12 || math.Abs(got.Seconds-want.Seconds) > 1e-12 {
			t.Errorf("%q: %v, %v", words, got, err)
		}
	}
	for _, words := range []string{"p99", "p0:2s", "p100:2s", "x99:2s", "p99:-2s", "p99:0", "p99:two"} {
		if _, err := workload.ParseLimit(words); err == nil {
			t.Errorf("%q is accepted", words)
		}
	}
}

// TestTraceFormats: formats of traces, and what is wrong with them.
func TestTraceFormats(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"mooncake.jsonl": {`{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}` + "\n" + `{"timestamp": 27482, "input_length": 600, "output_length": 0, "hash_ids": [1, 3]}` + "\n", "[{0 1000 5 [1 2] 512 0 0 0 false 0} {27.482 600 1 [1 3] 512 0 0 0 false 0}]"},
		"azure.csv":      {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n", "[{0 4808 10 [] 0 0 0 0 false 0} {0.052 3180 8 [] 0 0 0 0 false 0}]"},
		"vidur.csv":      {"arrived_at,num_prefill_tokens,num_decode_tokens\n1.5,374,44\n4.5,396,109\n", "[{0 374 44 [] 0 0 0 0 false 0} {3 396 109 [] 0 0 0 0 false 0}]"},
		"back.csv":       {"arrived_at,num_prefill_tokens,num_decode_tokens\n1,3,4\n0.5,3,4\n", "line 3: arrives at 0.5 s, before the request in front of it at 1 s; a trace must not go back in time"},
		"nan.csv":        {"arrived_at,num_prefill_tokens,num_decode_tokens\nnan,3,4\n", "line 2: an arrival must be a time from 0 to 1e+12 s, not NaN s"},
		"far.csv":        {"arrived_at,num_prefill_tokens,num_decode_tokens\n0,3,4\n1e308,3,4\n", "line 3: an arrival must be a time from 0 to 1e+12 s, not 1e+308 s"},
		"zero.csv":       {"arrived_at,num_prefill_tokens,num_decode_tokens\n1,0,4\n", "line 2: an input must be 1 to 1e9 tokens and an output 0 to 1e9, not 0 and 4"},
		"word.csv":       {"arrived_at,num_prefill_tokens,num_decode_tokens\nnoon,1,4\n", `line 2: "noon" is no time: seconds, or a date like 2023-11-16 18:17:03.979`},
		"columns.csv":    {"a,b\n1,2\n", "line 1: no column is named one of input_length, num_prefill_tokens"},
		"long.jsonl":     {strings.Repeat("x", 2<<20), "line 1 has more than 1048576 bytes, the most that is read"},
		"none.jsonl":     {"\n", "has no requests"},
		"broken.jsonl":   {"{\n", "line 1: "},
		"part.jsonl":     {`{"timestamp": 0}` + "\n", "line 1: no number is named one of input_length, num_prefill_tokens"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		trace, err := workload.OpenTrace(files.Machine, file)
		if err != nil {
			if !strings.Contains(err.Error(), name+": "+c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
			continue
		}
		traffic := workload.Traffic{Trace: trace, Rate: math.Inf(1)}
		got := all(t, &traffic)
		for i := range got {
			got[i].Arrival = math.Round(1e6*got[i].Arrival) / 1e6
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// TestFirstRequestsOfClients: three clients send one request each at the start. Where one has its
// answer before the front end has taken in the others, it sends the fourth request, not one of
// theirs.
func TestFirstRequestsOfClients(t *testing.T) {
	list := workload.List{Requests: make([]workload.Request, 5)}
	for i := range list.Requests {
		list.Requests[i].Input = 1 + i
	}
	s := workload.ByClients(&list, 3)
	next := func() [2]float64 {
		r, ok, err := s.Next()
		if err != nil || !ok {
			return [2]float64{}
		}
		return [2]float64{float64(r.Input), r.Arrival}
	}
	ended := func(at float64) [2]float64 {
		r, ok := s.Ended(0, &workload.Request{}, at)
		if !ok {
			return [2]float64{}
		}
		return [2]float64{float64(r.Input), r.Arrival}
	}
	got := [][2]float64{next(), ended(7), next(), next(), next(), ended(8), ended(9)}
	if want := [][2]float64{{1, 0}, {4, 7}, {2, 0}, {3, 0}, {}, {5, 8}, {}}; !reflect.DeepEqual(got, want) {
		t.Errorf("requests and arrivals %v, not %v", got, want)
	}
}

// TestStrata: of every eight successive requests one is in each eighth of the distribution: an
// eighth of the uniform lengths, or between its octiles, of which the lognormal ones of deviation σ
// have their middle at e^(−σ²/2) of the mean, and lengths are in no order.
func TestStrata(t *testing.T) {
	const strata = 8
	traffic := workload.Traffic{Requests: 800, Rate: math.Inf(1), Clients: 1, Turns: 1, Seed: 1, Strata: strata,
		Input: workload.Length{Mean: 800, Kind: "uniform"}, Output: workload.Length{Mean: 100_000, Kind: "lognormal", By: 0.5}}
	source := traffic.Source()
	r, _, err := source.Next()
	if err != nil {
		t.Fatal(err)
	}
	rising := 0
	for range 800 / strata {
		var seen [strata]bool
		shorter, last := 0, 0
		for range strata {
			at := (r.Input - 1) * strata / 800
			if seen[at] {
				t.Fatalf("two lengths in eighth %d, the second of %d tokens", at, r.Input)
			}
			seen[at] = true
			if float64(r.Output) < 1e5*math.Exp(-0.125) {
				shorter++
			}
			if r.Input > last {
				rising++
			}
			last = r.Input
			r, _ = source.Ended(0, &r, 0)
		}
		if shorter != strata/2 {
			t.Fatalf("%d of %d lengths are below their median", shorter, strata)
		}
	}
	// The first of a block counts; of the others half follow a shorter one.
	if want := 100 * (1 + 7*0.5); math.Abs(float64(rising)-want) > 40 {
		t.Errorf("%d lengths follow a shorter one, want about %v", rising, want)
	}
}
