package point

import (
	"cmp"
	"fmt"

	"throughline/deploy"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/serving/simulate"
	"throughline/workload"
)

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
