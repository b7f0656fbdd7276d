package point

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"throughline/deploy"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Simulation is requests that are to be sent through a deployment.
type Simulation struct {
	*Service
	Asked   *question.Asked
	traffic simulate.Traffic
	trace   *simulate.Trace
	terms   simulate.Terms // of the run, as it was asked for
}

// NewSimulation reads the files of a question and prepares its requests and its deployment.
func NewSimulation(a *question.Asked) (*Simulation, []question.Remark, error) {
	if a.From != "" && !a.Given("concurrency") && (a.Given("rate") || a.Traffic.Trace != "" || a.Traffic.MaxRate) {
		a.Concurrency = 0 // the clients of the plan are not those who come
	}
	m := &Simulation{Asked: a}
	before := document.Join(a.Wrong, a.Check(question.Simulate), m.draw(), m.open())
	service, remarks, err := NewService(a, m.lengths(), before, m.fits)
	if err != nil {
		return nil, remarks, err
	}
	m.Service, m.terms.Backend = service, service.Deployment.Engine.Name
	m.Options.Limits = simulate.Limits{TTFT: m.terms.TTFT.Seconds, TPOT: m.terms.TPOT.Seconds}
	return m, remarks, nil
}

// draw prepares requests that are drawn. What is wrong with the words of settings has been told.
func (m *Simulation) draw() error {
	q, from, t := &m.Asked.Question, &m.Asked.Traffic, &m.traffic
	var err error
	*t, err = Drawn(q)
	t.Requests, t.Clients, t.Rate = from.Requests, q.Concurrency, from.Rate
	m.terms.TTFT, _ = workload.ParseLimit(from.TTFT)
	m.terms.TPOT, _ = workload.ParseLimit(from.TPOT)
	m.terms.Asked = simulate.Asked{Dataset: "random", Input: q.Lengths().Input, Output: q.Lengths().Output, Ratio: from.Ratio}
	if len(t.Recorded) > 0 {
		m.terms.Asked = simulate.Asked{Dataset: strings.TrimPrefix(q.Distribution, "trace:")}
	} else if t.Input.Kind == "uniform" {
		m.terms.Asked.Ratio = t.Input.By
	}
	m.terms.Concurrency, m.terms.Seed, m.terms.Rate = t.Clients, t.Seed, t.Rate
	if from.Groups > 0 {
		m.terms.Asked.Dataset = "generated-shared-prefix"
	}
	return err
}

// open reads requests that a trace has recorded, where one is named.
func (m *Simulation) open() error {
	name, t := m.Asked.Traffic.Trace, &m.traffic
	if name == "" {
		return nil
	}
	trace, err := simulate.OpenTrace(name)
	if err != nil {
		return err
	}
	m.trace, m.terms.Asked = trace, simulate.Asked{Dataset: name}
	if !m.Asked.Given("num-prompts") {
		t.Requests = 0 // all
	}
	if math.IsInf(t.Rate, 1) {
		t.Rate = trace.Rate()
		m.terms.Rate = t.Rate
	}
	if !trace.Timed {
		return fmt.Errorf("%s: has no arrivals; `lengths` trace:%s takes its lengths", name, name)
	}
	return nil
}

// fits refuses a trace with requests that are longer than the model takes.
func (m *Simulation) fits(longest int) error {
	if t := m.trace; t != nil && longest > 0 && t.Longest > longest {
		return fmt.Errorf("%s: line %d: a request of %d tokens is longer than the %d that the model takes (`max-context`)", t.Name, t.LongestLine, t.Longest, longest)
	}
	return nil
}

// lengths are the mean ones of requests.
func (m *Simulation) lengths() workload.Lengths {
	input, output := m.traffic.Lengths()
	if m.trace != nil {
		input, output = int(math.Round(m.trace.MeanInput)), int(math.Round(m.trace.MeanOutput))
	}
	return workload.Lengths{Input: max(1, input), Output: max(1, output)}
}

// Settle finds the highest rate that holds the limits, where the question asks for that, and makes it that of the run.
func (m *Simulation) Settle(ctx context.Context) error {
	if !m.Asked.Traffic.MaxRate {
		return nil
	}
	best, err := simulate.MaxRate(func(rate float64, times int) (*simulate.Result, error) {
		return m.at(ctx, rate, times, m.Options)
	})
	if err != nil {
		return err
	}
	m.terms.Rate, m.traffic.Requests = best.Rate, int(best.Requests)
	return nil
}

// Run sends the requests. The options are those of the simulation, with more to watch where that is wanted.
func (m *Simulation) Run(ctx context.Context, options simulate.Options) (*simulate.Result, error) {
	return m.at(ctx, m.terms.Rate, 1, options)
}

// at is a run at a rate with a multiple of the requests.
func (m *Simulation) at(ctx context.Context, rate float64, times int, options simulate.Options) (*simulate.Result, error) {
	var source simulate.Source
	if m.trace != nil {
		speed := 1.0
		if !math.IsInf(rate, 1) {
			speed = rate / m.trace.Rate()
		}
		var err error
		if source, err = m.trace.Source(speed, m.traffic.Requests, m.traffic.Clients); err != nil {
			return nil, err
		}
	} else {
		t := m.traffic
		t.Rate, t.Requests = rate, times*t.Requests
		source = t.Source()
	}
	record, err := simulate.Run(ctx, options, source)
	if errors.Is(err, simulate.ErrTooLong) {
		err = fmt.Errorf("%w (`max-context`)", err)
	}
	if err != nil {
		return nil, err
	}
	result := &simulate.Result{Record: record, Terms: m.terms}
	result.Rate = rate
	return result, nil
}

// After are remarks on what a run shows of the settings it was made with.
func (m *Simulation) After(r *simulate.Result) []question.Remark {
	if m.Asked.Traffic.SwapGBps == 0 || r.Preemptions > 0 {
		return nil
	}
	return []question.Remark{{Kind: question.Note, Setting: "swap-gbps", Text: "has no effect: there was room in the cache for all, and nobody was swapped out"}}
}

// Service is a deployment that requests are sent through.
type Service struct {
	Options    simulate.Options
	Deployment deploy.Deployment
	Longest    int // tokens of a request that the model takes; 0: any number
}

// NewService is the deployment of a question for requests of these lengths on average. Problems found before
// are reported with its own; fits refuses requests that are longer than the model takes.
func NewService(a *question.Asked, n workload.Lengths, before error, fits func(longest int) error) (*Service, []question.Remark, error) {
	set, wrong := schedulingOf(&a.Traffic)
	q := a.Service(n)
	e := NewEstimator()
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
	return &Service{options, d, longest}, remarks, nil
}

// schedulingOf is how the ranks schedule, and the table of step times where one is named.
func schedulingOf(t *question.Traffic) (*simulate.Settings, error) {
	set := &simulate.Settings{
		CacheTokens: t.CacheTokens, BlockTokens: t.BlockTokens, PrefixCache: t.PrefixCache,
		SwapGBps: t.SwapGBps, Routing: deploy.Routing(t.Routing), Cold: t.Cold,
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
	table, err := readStepTimes(t.StepTimes)
	if err == nil {
		set.Times = table
	}
	return set, err
}

func readStepTimes(name string) (*simulate.Table, error) {
	f, err := csvfile.Open(name)
	if err != nil {
		return nil, document.Unreadable(name, err)
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
