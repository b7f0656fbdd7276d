package simulate_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"throughline/deploy"
	"throughline/internal/test/golden"
	"throughline/internal/test/questions"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// TestSums: all that is recorded of short runs of drawn deployments: open and closed loops,
// conversations over a prefix cache with a host behind it, little memory, every scheduling and
// routing, and what is seen of a steady state and of cold servers.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for i, s := range questions.Deployments(t, 240, 35) {
		d, l := &s.Deployment, s.Load
		l.Clients = 1 + l.Clients%40
		l.Lengths.Output = 1 + l.Lengths.Output%60
		p, err := serving.NewPredictor(d)
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			steady, err := simulate.Steady(p, d, l)
			addSeen(sums, "steady", steady, err)
			cold, err := simulate.Cold(p, d, workload.Load{Lengths: l.Lengths, Clients: l.Clients, Requests: 3})
			addSeen(sums, "cold", cold, err)
		}
		set := simulate.Settings{
			Prefill: []deploy.Policy{deploy.Chunks, deploy.First, deploy.Prompts}[i%3], PrefixCache: i%2 == 0, HostGiB: float64(i % 3), SwapGBps: float64(20 * (i % 2)), Cold: i%5 == 0, Routing: []deploy.Routing{deploy.RoundRobin, deploy.LeastLoaded, deploy.PrefixAware}[i/2%3],
		}
		if i%3 == 0 {
			set.CacheTokens = 2 * (l.Lengths.Input + l.Lengths.Output)
		}
		o, err := simulate.Of(d, l.Lengths, &set)
		if err != nil {
			sums.Fields("refusals", err.Error())
			continue
		}
		o.Seed, o.Every, o.Shortens = uint64(i), 0.5, true
		o.Each = func(e *simulate.Ended) { sums.Fields("requests", *e) }
		o.Watch = func(s *simulate.Step) {
			sums.Add("steps", "start", s.Start)
			sums.Add("steps", "blocks", float64(s.Blocks))
			sums.Add("steps", "waiting", float64(s.Waiting))
		}
		traffic := l.Traffic()
		traffic.Requests, traffic.Turns, traffic.Seed = 60, 1+i%3, uint64(i)
		if i%2 == 0 {
			traffic.Rate, traffic.Clients = 20, 0
		}
		r, err := simulate.Run(context.Background(), o, traffic.Source())
		if err != nil {
			sums.Fields("refusals", err.Error())
			continue
		}
		addRecord(t, sums, r)
	}
	addTables(sums)
	addSought(t, sums)
	sums.Check(t, "testdata/sums.tsv")
}

func addSeen(sums golden.Sums, of string, p serving.Prediction, err error) {
	sums.Fields(of, p)
	if err != nil {
		sums.Fields("refusals", errors.Unwrap(err) == nil)
	}
}

// addRecord adds what is recorded of a run, and how it is told.
func addRecord(t *testing.T, sums golden.Sums, r *simulate.Record) {
	sums.Fields("record", r.Summary)
	sums.Fields("pools", r.Pools)
	sums.Fields("timeline", r.Timeline)
	sums.Fields("energy", r.Energy)
	for name, v := range map[string]int64{"computed": r.Computed, "preemptions": r.Preemptions, "steps": r.Steps, "peak": int64(r.PeakBlocks), "hits": r.HitTokens, "lookups": r.LookupTokens, "loaded": r.LoadedTokens} {
		sums.Add("counts", name, float64(v))
	}
	sums.Fields("kinds", r.Kinds)
	for name, d := range map[string]*simulate.Distribution{"ttft": &r.TTFT, "tpot": &r.TPOT, "latency": &r.E2E, "queued": &r.Queued} {
		if d.Mean() == 0 {
			continue
		}
		sums.Add(name, "mean", d.Mean())
		sums.Add(name, "deviation", d.Deviation())
		for _, share := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
			sums.Add(name, "quantile", d.Quantile(share))
		}
		sums.Add(name, "above", d.Above(d.Mean()))
		sums.Fields(name+" counts", d.Counts(5))
	}
	if r.Energy != nil {
		sums.Add("energy", "joules", r.Joules()+10*r.Idle()+100*r.WattsPerProcessor())
	}
	for i := range r.Pools {
		sums.Add("pools", "busy", r.Busy(i))
	}
	out := simulate.Result{Record: r, Terms: workload.Terms{TTFT: workload.Limit{Seconds: 0.5}, TPOT: workload.Limit{Seconds: 0.02, Share: 0.9}}}
	text, err := out.JSON()
	if err != nil {
		t.Fatal(err)
	}
	sums.Fields("told", []string{string(text), out.Block(), out.Bottleneck()})
	sums.Fields("told in notes", out.Notes())
	for i, yes := range []bool{out.Holds(), out.Saturated(), out.Rising()} {
		if yes {
			sums.Add("told", "is so", float64(1+i))
		}
	}
	if u := out.Utilisation(); !math.IsNaN(u) {
		sums.Add("told", "utilisation", u)
	}
}

// addTables adds steps of tables of measured ones, right ones and wrong ones.
func addTables(sums golden.Sums) {
	const header = "n_decode,sum_ctx,prefill_tokens,prefill_seqs,past_per_seq,wall_ms,model,kind\n"
	prompts := "0,0,100,1,0,5,,\n0,0,100,1,0,7,,\n0,0,1000,2,0,30,m,\n0,0,2000,1,5000,90,m,\n0,0,4000,1,0,100,other,\n0,0,4000,2,0,1,m,prompt-unequal\n"
	decodes := "1,100,0,0,0,3,,\n1,5000,0,0,0,4,,\n8,800,0,0,0,5,,\n8,64000,0,0,0,9,,\n64,6400,0,0,0,12,,\n"
	mixed := "8,800,1000,1,0,40,,\n64,6400,1000,1,0,60,,\n64,6400,100,1,0,25,,\n"
	for _, text := range []string{
		header + prompts + decodes + mixed, header + prompts + decodes, header + prompts, header + decodes, header, "", "n_decode,x\n1,2\n", "n_decode,gpu_ms\n1,2\n",
		header + "x,-1,1e16,NaN,,,,\n1.5,,,,,1,,\n0,0,5,0,0,1,,\n", header + "1,100,0,0,0,0,,\n" + prompts,
	} {
		rows, err := simulate.ReadTable(strings.NewReader(text), "m")
		sums.Fields("tables", rows)
		if err != nil {
			sums.Fields("tables refused", err.Error())
			continue
		}
		for _, pads := range [][]int{nil, {1, 4, 16, 64}} {
			table, err := simulate.NewTable(rows, pads, pads)
			if err != nil {
				sums.Fields("tables refused", err.Error())
				continue
			}
			for _, decodes := range []int{0, 1, 3, 8, 30, 64, 200} {
				for _, tokens := range []int{0, 50, 100, 1500, 9000} {
					w := simulate.Work{Decodes: decodes, Context: int64(700 * decodes)}
					if tokens > 0 {
						w.Chunks = []simulate.Chunk{{New: tokens / 2, Past: 300}, {New: tokens - tokens/2}}
					}
					if decodes+tokens > 0 {
						sums.Add("tables", "seconds", table.Seconds(&w))
					}
				}
			}
		}
	}
}

// addSought adds the rates that searches end with.
func addSought(t *testing.T, sums golden.Sums) {
	for _, most := range []float64{1e-7, 1e-6, 0.3, 1, 7.5, 1e8, math.Inf(1)} {
		for _, first := range []float64{0.5, 1, 20} {
			tried, last := 0, 0.0
			err := simulate.SeekRate(first, 1.05, func(rate float64) (bool, error) {
				tried++
				if rate <= most {
					last = rate
				}
				return rate <= most, nil
			})
			sums.Fields("sought", []any{tried, last, err != nil})
			if most > 1e-5 && most < 1e9 && !(last <= most && 1.05*last >= most) {
				t.Errorf("the highest rate up to %v is %v", most, last)
			}
		}
	}
}
