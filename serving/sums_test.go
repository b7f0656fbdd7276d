package serving_test

import (
	"math"
	"testing"

	"throughline/deploy"
	"throughline/internal/test/golden"
	"throughline/internal/test/questions"
	"throughline/op"
	"throughline/serving"
)

// TestSums: what the closed form says of drawn deployments: what clients see, what finds room, what
// is handed over, curves.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for _, s := range questions.Deployments(t, 900, 33) {
		d, l := &s.Deployment, s.Load
		p, err := serving.NewPredictor(d)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := p.Predict(d, l)
		if err != nil {
			sums.Fields("refusals", err.Error())
			continue
		}
		of := d.Engine.Name
		sums.Fields(of, seen)
		confidence := p.Confidence(d, l, &seen)
		sums.Fields(of+" confidence", confidence)
		if fact, known := confidence.Narrower(); fact != nil {
			sums.Fields(of+" confidence with "+fact.Name, known)
		}
		for i, clients := range []int{1, (l.Clients + 3) / 4, 3 * l.Clients} {
			other := l
			other.Clients, other.Requests = clients, 0
			more, err := p.Predict(d, other)
			sums.Fields(of+[]string{" with one client", " with fewer clients", " with three times the clients"}[i], more)
			if err != nil {
				sums.Fields("refusals", err.Error())
			}
		}
		sums.Add(of, "held", p.Held(d, l.Lengths))
		sums.Add(of, "free", p.Free(d, l.Lengths))
		for i := range d.Pools {
			addPool(t, sums, of+" "+d.Pools[i].Role.String(), p, &s, &d.Pools[i], seen.TPOT)
			d.Pools[i].Plan.Batch.Size *= 1000
		}
		p.Fit(d, l.Lengths)
		for i := range d.Pools {
			sums.Add(of, "fitting batch", float64((1+i)*d.Pools[i].Plan.Batch.Size))
		}
	}
	sums.Check(t, "testdata/sums.tsv")
}

// addPool adds what is said about one pool, by its steps.
func addPool(t *testing.T, sums golden.Sums, of string, p *serving.Predictor, s *questions.Served, pool *deploy.Pool, tpot float64) {
	d, n := &s.Deployment, s.Load.Lengths
	tokens, err := p.CacheTokens(d, pool, n)
	if err != nil {
		sums.Fields("refusals", err.Error())
	}
	sums.Add(of, "cache tokens", tokens)
	for _, phase := range []op.Phase{op.Prefill, op.Decode} {
		if pool.Role.Does(phase) {
			bare, err := p.Step(d, phase, &pool.Plan, n)
			if err != nil {
				t.Fatal(err)
			}
			sums.Fields(of+" bare step", bare.Estimate)
		}
	}
	sums.Fields(of+" memory", p.Memory(d, pool, n))
	if pool.Role == deploy.Prefill {
		busy, left, err := p.Transfer(d, n.Input)
		if err != nil {
			t.Fatal(err)
		}
		sums.Add(of, "transfer", busy+10*left)
	}
	for _, exact := range []bool{false, true} {
		c := p.Curve(d, pool, n, 1.5, 0.8*tpot, 1.3*tpot)
		if exact {
			c = p.Steps(d, pool, n, 1.5)
		}
		sums.Fields(of+" curve", c)
		if c.Largest == 0 || pool.Role == deploy.Prefill {
			continue
		}
		sums.Fields(of+" curve at most", c.Most())
		for _, limit := range []float64{0.5 * tpot, tpot, 2 * tpot, math.Inf(1)} {
			sums.Add(of, "requests", c.Requests(limit, 0.1))
		}
		sums.Add(of, "fastest", c.Fastest(0.1))
		if c.Prompt > 0 {
			sums.Add(of, "prefills", c.Prefills())
		}
		batch, token := p.Fullest(d, pool, n, &c, 1.2*tpot, 1.5)
		sums.Add(of, "fullest", float64(batch))
		sums.Add(of, "its token", token)
		sums.Add(of, "token", p.Token(d, pool, n, 3, 1.5))
	}
}
