package point

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Simulation is requests that are to be sent through a deployment.
type Simulation struct {
	*Service
	Query *question.Query
	terms workload.Terms
}

// NewSimulation reads the files of a question and prepares its requests and its deployment.
func NewSimulation(a *question.Query) (*Simulation, []question.Remark, error) {
	if a.From != "" && !a.Given("concurrency") && (a.Given("rate") || a.Traffic.Trace != "" || a.Traffic.MaxRate) {
		a.Concurrency = 0 // the clients of the plan are not those who come
	}
	terms, err := a.Terms(a.Given)
	m := &Simulation{Query: a, terms: terms}
	before := document.Join(a.Wrong, a.Check(question.Simulate), err)
	input, output := terms.Traffic.Lengths()
	m.terms.Traffic.Steady = !a.Traffic.Cold && terms.Traffic.Closed()
	service, remarks, err := NewService(a, workload.Lengths{Input: max(1, input), Output: max(1, output)}, before, m.fits)
	if err != nil {
		return nil, remarks, err
	}
	m.Service, m.terms.Backend = service, service.Deployment.Engine.Name
	m.Options.Limits = simulate.Limits{TTFT: m.terms.TTFT.Seconds, TPOT: m.terms.TPOT.Seconds}
	return m, remarks, nil
}

// fits refuses a trace with requests that are longer than the model takes.
func (m *Simulation) fits(longest int) error {
	if t := m.terms.Traffic.Trace; t != nil && longest > 0 && t.Longest > longest {
		return fmt.Errorf("%s: line %d: a request of %d tokens is longer than the %d that the model takes (`max-context`)", t.Name, t.LongestLine, t.Longest, longest)
	}
	return nil
}

// Settle runs at the highest rate that meets the limits, where the question asks for it.
func (m *Simulation) Settle(ctx context.Context) error {
	if !m.Query.Traffic.MaxRate {
		return nil
	}
	best, err := simulate.MaxRate(func(rate float64, times int) (*simulate.Result, error) {
		return m.at(ctx, rate, times, m.Options)
	})
	if err != nil {
		return err
	}
	m.terms.Traffic.Rate, m.terms.Traffic.Requests = best.Traffic.Rate, int(best.Requests)
	return nil
}

// MaxRate is the highest rate that meets the limits, and how many requests it took to tell.
func (m *Simulation) MaxRate(ctx context.Context) (rate float64, requests int, err error) {
	m.Query.Traffic.MaxRate = true
	if err := m.Settle(ctx); err != nil {
		return 0, 0, err
	}
	return m.terms.Traffic.Rate, m.terms.Traffic.Requests, nil
}

// Run sends the requests; options may add what to watch.
func (m *Simulation) Run(ctx context.Context, options simulate.Options) (*simulate.Result, error) {
	return m.at(ctx, m.terms.Traffic.Rate, 1, options)
}

// at is a run at a rate with a multiple of the requests, of which a trace has no more.
func (m *Simulation) at(ctx context.Context, rate float64, times int, options simulate.Options) (*simulate.Result, error) {
	result := &simulate.Result{Terms: m.terms}
	t := m.terms.Traffic
	if result.Traffic.Rate, t.Rate = rate, rate; t.Trace == nil {
		t.Requests *= times
	}
	if t.Steady {
		options.Settle(&t)
		options.Most = options.Count // as many as were asked for
	}
	var err error
	if result.Record, err = simulate.Run(ctx, options, t.Source()); errors.Is(err, simulate.ErrTooLong) {
		err = fmt.Errorf("%w (`max-context`)", err)
	}
	if err != nil {
		return nil, err
	}
	if result.Energy != nil {
		result.Energy.Tariff = m.Query.Tariff
	}
	return result, nil
}

// After are remarks on what a run shows of the settings it was made with.
func (m *Simulation) After(r *simulate.Result) []question.Remark {
	if m.Query.Traffic.SwapGBps == 0 || r.Preemptions > 0 {
		return nil
	}
	return []question.Remark{{Kind: question.Note, Setting: "swap-gbps", Text: "has no effect: there was room in the cache for all, and nobody was swapped out"}}
}

// Service is a deployment that requests are sent through.
type Service struct {
	Options    simulate.Options
	Deployment deploy.Deployment
	Longest    int                 // tokens of a request that the model takes; 0: any number
	Trusted    *serving.Confidence // in the times of steps under its clients; nil: unknown
	Price      func(*hardware.System) (float64, *hardware.Price)
}

// NewService is the deployment of a question for requests of these mean lengths. It reports earlier
// problems with its own; fits refuses requests longer than the model takes.
func NewService(a *question.Query, n workload.Lengths, before error, fits func(longest int) error) (*Service, []question.Remark, error) {
	set, wrong := schedulingOf(a.In, &a.Traffic)
	q := a.Service(n)
	e := NewEstimator()
	e.Rough = true // requests are still to be sent
	answer, err := e.Answer(&q)
	remarks := question.Warnings(e.Warnings(&q))
	if err := document.Join(before, wrong, a.Refused(), err); err != nil {
		return nil, remarks, question.Once(err)
	}
	loaded := *answer.Phases[0].Loaded
	loaded.Question = a.Question
	remarks = append(remarks, a.Ineffective(&loaded)...)
	d := answer.Deployment
	longest := cmp.Or(a.Traffic.MaxContext, d.Model.Positions)
	if err := fits(longest); err != nil {
		return nil, remarks, err
	}
	remarks = append(remarks, answer.remark()...)
	if !d.Fitted.IsNone() {
		remarks = append(remarks, question.Remark{Text: d.Fitted.String()})
	}
	remarks = append(remarks, answer.Overfull()...)
	for i := range d.Pools {
		d.Pools[i].Count *= a.Traffic.Replicas
	}
	options, err := simulate.Of(&d, n, set)
	if err != nil {
		return nil, remarks, err
	}
	options.Seed, options.Longest = uint64(a.Traffic.Seed), longest
	return &Service{options, d, longest, answer.Trusted, answer.price}, remarks, nil
}

// schedulingOf is how the ranks schedule, and the table of step times where one is named.
func schedulingOf(in *files.Door, t *question.Traffic) (*simulate.Settings, error) {
	set := &simulate.Settings{
		CacheTokens: t.CacheTokens, BlockTokens: t.BlockTokens, PrefixCache: t.PrefixCache,
		HostGiB: t.HostGiB, SwapGBps: t.SwapGBps, Routing: deploy.Routing(t.Routing), Cold: t.Cold,
	}
	if t.StepsAhead >= 0 {
		set.Ahead = &t.StepsAhead
	}
	for _, p := range question.Policies {
		if p.Name == t.Policy {
			set.Prefill = p.Is
		}
	}
	if t.StepTimes == "" {
		return set, nil
	}
	table, err := readStepTimes(in, t.StepTimes)
	if err == nil {
		set.Times = table
	}
	return set, err
}

func readStepTimes(in *files.Door, name string) (*simulate.Table, error) {
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	defer f.Close()
	rows, err := simulate.ReadTable(f, "")
	if err == nil {
		var t *simulate.Table
		if t, err = simulate.NewTable(rows, nil, nil); err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}
