package cli

import (
	"cmp"
	"fmt"

	"throughline/deploy"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/serving/simulate"
	"throughline/workload"
)

// served is a deployment that requests are sent through.
type served struct {
	options    simulate.Options
	deployment deploy.Deployment
	longest    int // tokens that the model takes; 0: any number
}

// serve is the deployment of a question, for requests of these lengths on average. What was found to be wrong before is told
// with what is found here; fits refuses what is longer than the model takes.
func serve(s Streams, flags *settings, q *question.Question, n workload.Lengths, set *simulate.Settings, before error, fits func(longest int) error) (*served, error) {
	p := *q
	// The batches of a simulation are those that come; two sequences are the fewest that every overlap can split.
	p.Batch, p.Distribution, p.Traffic = 2, "", question.Default().Traffic
	p.Traffic.ServerOptions = q.Traffic.ServerOptions
	p.Input, p.Output = n.Input, n.Output
	estimator := point.NewEstimator()
	answer, err := estimator.Answer(&p)
	warn(s, estimator.Warnings(&p))
	if err := document.Join(before, err); err != nil {
		return nil, question.Once(err)
	}
	loaded := *answer.Phases[0].Loaded
	loaded.Question = *q
	flags.note(s, &loaded)
	out := &served{deployment: answer.Deployment}
	d := &out.deployment
	out.longest = cmp.Or(q.Traffic.MaxContext, d.Model.Positions)
	if err := fits(out.longest); err != nil {
		return nil, err
	}
	if answer.Remark != "" {
		fmt.Fprintln(s.Err, "warning:", answer.Remark)
	}
	if !d.Fitted.IsNone() {
		fmt.Fprintln(s.Err, d.Fitted.String())
	}
	warnOfMemory(s, answer)
	for i := range d.Pools {
		d.Pools[i].Count *= q.Traffic.Replicas
	}
	if out.options, err = simulate.Of(d, n, set); err != nil {
		return nil, err
	}
	out.options.Seed, out.options.Longest = uint64(q.Traffic.Seed), out.longest
	return out, nil
}

// scheduling reads how the ranks schedule.
func scheduling(q *question.Question, note func(error)) *simulate.Settings {
	t := &q.Traffic
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
	if t.StepTimes != "" {
		table, err := readStepTimes(t.StepTimes)
		note(err)
		if err == nil {
			set.Times = table
		}
	}
	return set
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
