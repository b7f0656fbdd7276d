package simulate

import (
	"context"
	"math"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/op"
	"throughline/plan"
	"throughline/serving"
	"throughline/workload"
)

// How long the run of a steady state is. It costs steps: there are enough requests, or fewer of few
// clients, whose answers take many steps, or up to twice as many if these take few. Each client
// sends one at least, since less than a round depends on where they begin.
const (
	enough      = 400
	mostSteps   = 12_000
	fewestSteps = 200
	// crowd is the clients above which half of the servers stand for all.
	crowd = 768
	// BenchmarkRequests of each client are usual where a benchmark does not say how many it sends.
	BenchmarkRequests = 10
)

// Loops runs closed loops of deployments that a predictor knows, each with the step times that
// earlier ones have found. It is not for concurrent use.
type Loops struct {
	predictor *serving.Predictor
	times     map[timed]*StepTimes
}

// timed is what step times depend on, beside the model and the engine of the predictor.
type timed struct {
	system *hardware.System
	plan   plan.Plan // without its batch
}

// NewLoops returns loops without step times.
func NewLoops(p *serving.Predictor) *Loops { return &Loops{p, map[timed]*StepTimes{}} }

// Steady is what clients see on average in the steady state: a short run of the closed loop that
// begins with every client somewhere in its answer.
func (x *Loops) Steady(d *deploy.Deployment, l workload.Load) (serving.Prediction, error) {
	_, out, err := x.run(d, l, Settings{meansOnly: true})
	return out, err
}

// Recorded is Steady with the full record of the run.
func (x *Loops) Recorded(d *deploy.Deployment, l workload.Load) (*Record, serving.Prediction, error) {
	return x.run(d, l, Settings{})
}

// Steady is Loops.Steady for one deployment, with its predictor.
func Steady(p *serving.Predictor, d *deploy.Deployment, l workload.Load) (serving.Prediction, error) {
	return NewLoops(p).Steady(d, l)
}

// Cold is the same of a benchmark: all clients start at once, at servers that have just started,
// and send as many requests as the load says.
func Cold(p *serving.Predictor, d *deploy.Deployment, l workload.Load) (serving.Prediction, error) {
	_, out, err := NewLoops(p).run(d, l, Settings{Cold: true, meansOnly: true})
	return out, err
}

func (x *Loops) run(d *deploy.Deployment, l workload.Load, settings Settings) (*Record, serving.Prediction, error) {
	var out serving.Prediction
	var err error
	if out.Room, err = x.predictor.Room(d, l); err != nil {
		return nil, out, err
	}
	settings.times = x.times
	o, err := of(x.predictor, d, l.Lengths, &settings)
	if err != nil {
		return nil, out, err
	}
	// Servers refuse what has no room; means of the others are asked for.
	o.Shortens, o.meansOnly = true, settings.meansOnly
	decode := d.Of(op.Decode)
	rules := &o.Pools[len(o.Pools)-1].Policy
	rules.Sequences = int(min(float64(rules.Sequences), serving.Bounded(d, decode)))
	all := l.Clients
	for l.Clients > crowd && o.halve() {
		l.Clients = (l.Clients + 1) / 2
	}
	t := l.Traffic()
	if settings.Cold {
		t.Requests = max(t.Clients, int(math.Round(l.Requests*float64(t.Clients))))
	} else {
		t.Steady, t.Requests = true, counted(t.Clients, l.Lengths.Output)
		// Longer than a queue of all clients takes, which varies as much as of independent lengths.
		t.Strata = max(8, 2*t.Clients)
		o.Settle(&t)
	}
	r, err := Run(context.Background(), o, t.Source())
	if err != nil {
		return nil, out, err
	}
	out.TTFT, out.TPOT, out.Latency = r.TTFT.Mean(), 0, r.E2E.Mean()
	if r.TPOT.Weight > 0 {
		out.TPOT = r.TPOT.Mean()
	}
	out.Requests = float64(all) / out.Latency
	out.Batch = min(out.Room, max(1, out.Requests*(out.Latency-out.TTFT)/float64(decode.Ranks())))
	if r.Energy != nil {
		out.Watts, out.Idle, out.Beyond = r.WattsPerProcessor(), r.Idle(), r.Energy.Beyond
	}
	return r, out, nil
}

// counted is how many requests of a run count, by its clients and the length of answers.
func counted(clients, output int) int {
	return max(clients, min(enough, 2*clients), min(enough, mostSteps*clients/output), min(2*enough, fewestSteps*clients/output))
}

// longer is how many times the usual length a run may take if it does not come to rest.
const longer = 8

// uneven is the share by which answers of equal length differ in a steady state.
const uneven = 0.01

// Settle counts the requests of a steady state behind those that it begins with. Ranks that wait
// for each other would take prompts of equal requests for ever together, or for ever in turns, by
// whether the number of clients is odd: answers a little apart meet by chance, as real ones do.
func (o *Options) Settle(t *workload.Traffic) {
	if by := int(uneven * float64(t.Output.Mean)); t.Output.Kind == "fixed" && by > 0 && o.Pools[len(o.Pools)-1].Ranks > 1 {
		most := t.Output.Mean + by
		t.Output = workload.Length{Mean: most, Kind: "uniform", By: 1 - 2*float64(by)/float64(most) + 1e-9}
	}
	o.Skip, o.Count = int64(t.Clients), int64(t.Requests)
	o.Most = max(o.Count, longer*min(o.Count, enough))
}

// halve leaves every second server out, if all pools have an even number of them.
func (o *Options) halve() bool { return o.Thin(2) }

// Thin leaves one of every few servers, if that divides those of all pools.
func (o *Options) Thin(by int) bool {
	if o.FrontEnds%by != 0 {
		return false
	}
	for i := range o.Pools {
		if p := &o.Pools[i]; p.Servers%(by*max(1, p.Stages)) != 0 {
			return false
		}
	}
	for i := range o.Pools {
		o.Pools[i].Servers /= by
	}
	o.FrontEnds /= by
	return true
}
