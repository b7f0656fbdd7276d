package advice

import (
	"fmt"
	"slices"

	"throughline/engine"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/op"
)

// Running is the limit on running requests that the decode pool is launched with.
func (c *Candidate) Running() int {
	p := &c.Deployment.Of(op.Decode).Plan
	return c.Deployment.ServerOptions.Sequences * p.Attention.DP * p.Attention.PP
}

// Both returns the record with both phases, even where one pool runs them.
func (c *Candidate) Both() *result.Record {
	r := c.Record
	if decode := r.Sides[op.Decode]; !c.Deployment.Split() {
		s := result.NewSide(op.Prefill, decode.System, c.steps[op.Prefill], r.Model.IsMoE())
		s.Instances, s.Held, s.Usable, s.Latency = decode.Instances, decode.Held, decode.Usable, r.TTFT
		r.Sides[op.Prefill] = s
	}
	return &r
}

// Engine prices the candidate; nil: none that can be started.
func (c *Candidate) Engine() *engine.Engine { return engine.Behind(&c.Deployment) }

// Versus returns the best of each mode, if both are ranked, and the throughput of disaggregated
// over aggregated.
func (a *Advice) Versus() (aggregated, disaggregated *Candidate, ratio float64) {
	aggregated, disaggregated = a.Best(Aggregated), a.Best(Disaggregated)
	if aggregated == nil || disaggregated == nil {
		return nil, nil, 0
	}
	return aggregated, disaggregated, disaggregated.PerGPU() / aggregated.PerGPU()
}

func (a *Advice) Best(mode Mode) *Candidate {
	for i := range a.Ranked {
		if a.Ranked[i].Mode == string(mode) {
			return &a.Ranked[i]
		}
	}
	return nil
}

// addPrices says which prices of systems the dollars rest on.
func (a *Advice) addPrices(l *question.Loaded) {
	price, err := l.Prices(l.Price)
	if err != nil || len(a.Ranked) == 0 || a.Ranked[0].DollarsPerMillion == 0 {
		return
	}
	for i := range a.Ranked[0].Deployment.Pools {
		sys := a.Ranked[0].Deployment.Pools[i].System
		if _, own := price(sys); own != nil {
			a.Notes = addOnce(a.Notes, "price: "+result.Listed(sys.Name, own))
		}
	}
}

// addNotes collects remarks on weights, exchanges and stand-in kernels, each once.
func (a *Advice) addNotes() {
	for _, rows := range [][]Candidate{a.Ranked, a.Frontier} {
		for i := range rows {
			d := &rows[i].Deployment
			texts := engine.Notes(d)
			for _, why := range d.StandIns() {
				texts = append(texts, fmt.Sprintf("rows of %s: %s", d.Engine.Name, why))
			}
			a.Notes = addOnce(a.Notes, texts...)
		}
	}
}

func addOnce(list []string, texts ...string) []string {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
