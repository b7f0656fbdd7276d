package gap

import (
	"context"
	"errors"
	"fmt"

	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/validate"
	"throughline/number"
)

// Result is a measurement beside its prediction.
type Result struct {
	*Explanation // nil: no client can be served, which the remarks say
	Answer       *point.Answer
	Measured     *Measured
	Remarks      []question.Remark
}

func Ask(ctx context.Context, q *question.Query) (*Result, error) {
	m, err := Read(q.In, q.Seen)
	errs := []error{q.Wrong, question.OfSetting("measured", err)}
	if !q.Clients() {
		errs = append(errs, question.OfSetting("measured", errors.New("is what clients see, not a bare step: leave out `phase` and `context`")))
	}
	if err == nil {
		errs = append(errs, question.OfSetting("explain", m.Missing(q.Explained)))
	}
	var run *validate.OneRun
	if err == nil && document.Join(errs...) == nil {
		run, err = m.Run(ctx, &q.Question, q.Given)
		errs = append(errs, err)
	}
	if err := document.Join(errs...); err != nil {
		return &Result{}, question.Once(err)
	}
	out := &Result{Measured: m}
	if out.Answer, out.Remarks, err = m.Answer(q, run); err != nil || out.Answer.Seen == nil {
		return out, err
	}
	if out.Explanation, err = Explain(out.Answer, run, m, q.Explained); err != nil {
		return out, err
	}
	out.Load = loadWords(out.Answer, run, m, !q.Given("concurrency"))
	return out, nil
}

// loadWords describes the predicted load: a run starts with all clients sending at once, while
// figures without a run describe none.
func loadWords(a *point.Answer, run *validate.OneRun, m *Measured, fromFile bool) string {
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
