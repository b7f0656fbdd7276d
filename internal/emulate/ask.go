package emulate

import (
	"cmp"
	"errors"
	"strings"

	"throughline/deploy"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/workload"
)

// Ask returns the emulation of a question and its deployment.
func Ask(a *question.Query) (*Config, *deploy.Deployment, []question.Remark, error) {
	n := a.Lengths()
	var lengths error
	if strings.HasPrefix(a.Distribution, "trace:") {
		lengths = question.OfSetting("lengths", errors.New("of answers are fixed, uniform:R, lognormal:S or sharegpt here, not those of a trace"))
	}
	before := document.Join(a.Wrong, a.Check(question.Emulate))
	if lengths != nil {
		a.Distribution = ""
	}
	answers, _ := workload.ParseLength(a.Distribution, n.Output) // checked before
	faults, err := ParseFaults(question.Words(a.Emulation.Faults))
	wrong := document.Join(lengths, ofFaults(err))
	a.Refuse = func([]string) error { return wrong }
	n.Input, n.Output, n.Cached = max(1, n.Input), answers.Average(), 0
	s, remarks, err := point.NewService(a, n, before, func(int) error { return nil })
	if err != nil {
		return nil, nil, remarks, err
	}
	if err := CheckFaults(faults, Replicas(&s.Options)); err != nil {
		return nil, nil, remarks, ofFaults(err)
	}
	return &Config{
		Simulation: s.Options, Model: cmp.Or(a.Emulation.Served, s.Deployment.Model.Name), Context: s.Longest, Answers: answers, Speed: a.Emulation.Speed,
		Faults: faults, Connections: a.Emulation.Connections, Seed: uint64(a.Traffic.Seed),
	}, &s.Deployment, remarks, nil
}

// ofFaults attributes problems to the setting of faults.
func ofFaults(err error) error {
	var all *document.Error
	if !errors.As(err, &all) {
		return question.OfSetting("fault", err)
	}
	var errs []error
	for _, p := range all.Problems {
		errs = append(errs, question.OfSetting("fault", errors.New(p.Message)))
	}
	return document.Join(errs...)
}
