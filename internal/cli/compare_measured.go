package cli

import (
	"context"
	"errors"
	"fmt"

	"throughline/internal/document"
	"throughline/internal/gap"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/table"
	"throughline/internal/validate"
	"throughline/number"
)

// compareMeasured prints what would explain a measurement.
func compareMeasured(ctx context.Context, s Streams, q *question.Query, asJSON bool, v table.View) error {
	m, err := gap.Read(q.Seen)
	errs := []error{q.Wrong, ofFlag("measured", err)}
	if q.Kernels != "" {
		errs = append(errs, ofFlag("kernels", errors.New("compares a step, measured what clients see; give one of them")))
	}
	if !q.Clients() {
		errs = append(errs, ofFlag("measured", errors.New("is what clients see, not a bare step: leave out --phase and --context")))
	}
	if err == nil {
		errs = append(errs, ofFlag("figure", m.Missing(q.Explained)))
	}
	var run *validate.OneRun
	if err == nil && document.Join(errs...) == nil {
		run, err = m.Run(ctx, &q.Question, q.Given)
		errs = append(errs, err)
	}
	if err := document.Join(errs...); err != nil {
		return question.Once(err)
	}
	answer, remarks, err := m.Answer(q, run)
	showRemarks(s, remarks)
	if err != nil {
		return err
	}
	if answer.Seen == nil {
		return exitError{exitNoPlan} // already printed
	}
	why, err := gap.Explain(answer, run, m, q.Explained)
	if err != nil {
		return err
	}
	why.Load = loadWords(answer, run, m, !q.Given("concurrency"))
	if asJSON {
		return failed(report.WriteObject(s.data, why))
	}
	text := v.Wrap(report.PointTitle(answer)) + "\n" + v.Wrap("Load: "+why.Load) + "\n" + report.Gap(v, why)
	if why.Causes[0].Able && !why.Causes[0].Contradicts {
		text += v.WrapUnder("- ", "a profile of the decode step: throughline compare --kernels tells its classes apart") + "\n"
	}
	return write(s.Out, text)
}

// loadWords describes the predicted load: a run starts with all clients sending at once, while
// flags describe no run.
func loadWords(a *point.Answer, run *validate.OneRun, m *gap.Measured, fromFile bool) string {
	clients, requests := a.Load.Clients, m.Requests
	inferred := fromFile && m.Row != nil && m.Row["concurrency"] == ""
	if run != nil {
		clients, requests, inferred = run.Load.Clients, run.Load.Requests, run.Inferred
	}
	switch {
	case run != nil && run.Rate > 0:
		return fmt.Sprintf("%s requests/s, simulated; %d under way on average (completed · E2E / duration)", number.Plain(run.Rate, 4), clients)
	case inferred:
		return fmt.Sprintf("%d clients, inferred: the run does not say them, and so many requests were under way (completed · E2E / duration)%s", clients, startWords(requests))
	}
	return fmt.Sprintf("%d %s%s", clients, map[bool]string{true: "client", false: "clients"}[clients == 1], startWords(requests))
}

// startWords tells whether the start of a run counts.
func startWords(requests float64) string {
	if requests == 0 {
		return ", sending for a long time: the wait of a first wave is not part of TTFT"
	}
	return fmt.Sprintf(", %s requests each from a common start: the wait of the first wave is part of TTFT", number.Plain(requests, 3))
}
