package web

import (
	"fmt"
	"slices"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/result"
	"throughline/internal/sentence"
	"throughline/number"
	"throughline/op"
)

// picked is the deployment beside the chart: what it is, what it holds, how it is launched.
type picked struct {
	row
	About    string
	Memory   []memoryBar
	GiB      string
	Balance  []balanceBar
	Launched launched
	Load     string
}

// memoryBar is what a GPU of a pool holds, in hundredths of its memory.
type memoryBar struct {
	Name                    string
	Weights, Cache, Working float64
	From                    float64 // where the cache begins
	Usable                  float64
	Held, Tells             string
	Over                    bool
}

// balanceBar is the rate that a pool carries, of what it could.
type balanceBar struct {
	Name        string
	Used, Limit float64 // in hundredths of the larger one
	Rate, Of    string
}

// launched is how a deployment is started.
type launched struct {
	Engine   string
	Launches []launch
	Remarks  []string // on all of them
}

// launch is the lines that start servers.
type launch struct {
	ID, What, Lines, Config string
	Remarks                 []string
}

// pick opens the row of the address, or the best.
func (c *choice) pick(st *state, plans []*systemPlan) {
	rows := rankedRows(plans)
	number := st.shown[rowName]
	at := max(0, slices.IndexFunc(rows, func(r rankedRow) bool { return r.number == number }))
	for k, f := range plans {
		for i := range f.Frontier {
			if rowNumber(k, fmt.Sprintf("f%d", i+1)) == number {
				rows, at = []rankedRow{{f, &f.Frontier[i], number}}, 0
			}
		}
	}
	r := rows[at]
	shown := c.shownRow(r.number)
	if shown == nil {
		return
	}
	shown.On = true
	c.Picked = &picked{row: *shown, About: aboutRow(r), GiB: fmt.Sprintf("%s GiB", plain(r.Deployment.Of(op.Decode).System.Memory.GiB))}
	c.Picked.Memory, c.Picked.Balance = memoryBars(st.language, &r.Record), balanceBars(&r.Record)
	if words := r.of.rowWords(r.Candidate); words != nil {
		c.Picked.Load = st.to(loading, without(words, "batch", "concurrency"), planOrigin(st), st.pins)
	}
	c.Picked.Launched = launchedAs(&r.Deployment)
}

// launchedAs is empty where no engine can be started.
func launchedAs(d *deploy.Deployment) (out launched) {
	e := engine.Behind(d)
	if e == nil {
		return out
	}
	out.Engine = strings.TrimSpace(e.Title + " " + e.Options.Version)
	for i, part := range e.Parts(d) {
		out.Launches = append(out.Launches, launch{fmt.Sprintf("launch%d", i), part.What, strings.Join(part.Commands, "\n"), part.Config, part.Remarks})
	}
	out.shareRemarks()
	return out
}

// shareRemarks takes what is said of all launches out of each.
func (l *launched) shareRemarks() {
	shared := func(text string) bool {
		return !slices.ContainsFunc(l.Launches, func(one launch) bool { return !slices.Contains(one.Remarks, text) })
	}
	if len(l.Launches) < 2 {
		return
	}
	for _, text := range l.Launches[0].Remarks {
		if shared(text) {
			l.Remarks = append(l.Remarks, text)
		}
	}
	for i := range l.Launches {
		one := &l.Launches[i]
		one.Remarks = slices.DeleteFunc(slices.Clone(one.Remarks), func(text string) bool { return slices.Contains(l.Remarks, text) })
	}
}

func plain(v float64) string { return number.Plain(v, 4) }

// shownRow finds a row of the tables.
func (c *choice) shownRow(number string) *row {
	for _, list := range [][]row{c.Rows, c.Front} {
		for i := range list {
			if list[i].Number == number {
				return &list[i]
			}
		}
	}
	return nil
}

func aboutRow(r rankedRow) string {
	return fmt.Sprintf("%s. %s clients, %s requests/s.", sentence.Pools(&r.Deployment), number.Grouped(r.Clients), number.Rate(r.Requests))
}

// inTime is the phases in the order in which a request passes them.
var inTime = [...]op.Phase{op.Prefill, op.Decode}

// memoryBars are those of the pools.
func memoryBars(l *language, r *result.Record) (out []memoryBar) {
	for _, phase := range inTime {
		s := r.Sides[phase]
		if s == nil || !s.Found || s.Usable == 0 {
			continue
		}
		name := l.say("both")
		if !r.Shared {
			name = phase.Name()
		}
		all := s.System.Memory.GiB * (1 << 30)
		m := &s.Step.Memory
		weights := m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
		share := func(v float64) float64 { return 100 * min(1, max(0, v/all)) }
		cache := s.Held - min(s.Held, m.WithoutCache())
		b := memoryBar{Name: name, Weights: share(weights), Working: share(m.WithoutCache() - weights), Cache: share(cache), From: share(m.WithoutCache()),
			Usable: share(s.Usable), Held: number.Plain(s.Held/(1<<30), 3), Over: s.Held > s.Usable}
		b.Tells = fmt.Sprintf("%s: weights %s GiB, KV cache %s GiB, together %s of %s GiB usable", name, plain(weights/(1<<30)), plain(cache/(1<<30)), plain(s.Held/(1<<30)), plain(s.Usable/(1<<30)))
		out = append(out, b)
	}
	return out
}

// balanceBars are the rates of two pools.
func balanceBars(r *result.Record) (out []balanceBar) {
	if r.Shared || r.Sides[op.Prefill] == nil || r.Sides[op.Decode] == nil {
		return nil
	}
	most := r.Requests
	for _, s := range r.Sides {
		most = max(most, s.Rate())
	}
	for _, phase := range inTime {
		s := r.Sides[phase]
		out = append(out, balanceBar{phase.Name(), 100 * r.Requests / most, 100 * s.Rate() / most, number.Rate(r.Requests), number.Rate(s.Rate())})
	}
	return out
}
