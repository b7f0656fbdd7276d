package matrix

import (
	"context"
	"fmt"
	"math"

	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/rawdata"
	"throughline/workload"
)

// mostSimulated is the most simulated requests of a run: more do not change means.
const mostSimulated = 2000

// deployment checks that predictions are possible for a server's deployment.
func (c *checker) deployment(path string, words map[string]Word) {
	if words == nil {
		return
	}
	path += ".deployment"
	q, ok := c.ask(question.Estimate, path, words)
	if !ok {
		return
	}
	if q.Phase != "" || q.Context != 0 {
		c.doc.Problemf(path, "asks for bare steps (phase, context); clients see whole requests")
		return
	}
	_, err := point.NewEstimator().Answer(&q)
	c.report(path, err)
}

// Prediction is what a run should show.
type Prediction struct {
	Throughput, TPOT, TTFT float64 // tokens/s, ms, ms; 0: none, as for answers of one token
	Source                 string  // as in the raw data: simulated or estimated
	Why                    string  // there is none; empty: there is one
}

// predict completes a row by the server's deployment, and predicts what clients see.
func predict(ctx context.Context, s *Server, row rawdata.Row, out *Outcome) Prediction {
	if s.Deployment == nil {
		return Prediction{Why: "the server does not say what it serves (deployment)"}
	}
	q, missing := s.question(row, out.Load)
	a, err := point.NewEstimator().Answer(&q)
	if err != nil {
		return Prediction{Why: err.Error()}
	}
	if a.Seen == nil {
		return Prediction{Why: a.Remark}
	}
	var traffic *workload.Traffic
	if requests := int(min(out.Figures["completed"], mostSimulated)); requests > 0 {
		t, err := q.ReadTraffic(func(string) bool { return true })
		if err != nil {
			return Prediction{Why: err.Error()}
		}
		t.Requests, t.Clients = max(requests, a.Load.Clients), a.Load.Clients
		traffic = &t
	}
	predicted, err := rawdata.Of(ctx, &a.Deployment, a.Load, a.Seen, traffic)
	if err != nil {
		return Prediction{Why: err.Error()}
	}
	for _, name := range []string{"Model", "Quantization", "Framework", "GPU", "Num GPUs", "TP", "PP", "EP", "DP", "MTP"} {
		if row.Get(name) == nil {
			row.Set(name, predicted.Get(name))
		}
	}
	if missing != "" {
		return Prediction{Why: fmt.Sprintf("the load is not known: the client has no %s", missing)}
	}
	number := func(name string) float64 { v, _ := predicted.Get(name).(float64); return v }
	return Prediction{Throughput: number("Output throughput"), TPOT: number("TPOT"), TTFT: number("TTFT"), Source: predicted.Get("Source").(string)}
}

// question is the server's deployment under the load of a row, and the first column that it lacks.
func (s *Server) question(row rawdata.Row, load map[string]string) (q question.Question, missing string) {
	q = question.DefaultOf(question.Estimate)
	q.In = files.Machine
	given := map[string]bool{}
	for name, word := range s.Deployment {
		if set, ok := setting(question.Estimate, name); ok {
			given[set.Name] = set.Set(&q, string(word)) == nil
		}
	}
	for _, l := range []struct {
		column, setting string
		into            *int
	}{{"ISL", "isl", &q.Input}, {"OSL", "osl", &q.Output}, {"Concurrency", "concurrency", &q.Concurrency}} {
		if v, ok := row.Get(l.column).(float64); ok && v >= 0.5 {
			*l.into = int(math.Round(v)) // the client's load takes precedence over the planned one
		} else if !given[l.setting] && missing == "" {
			missing = l.column
		}
	}
	for column, setting := range map[string]string{"lengths": "lengths", "request_rate": "rate", "arrival": "arrival", "seed": "seed"} {
		if set, ok := question.Lookup(question.Simulate, setting); ok && load[column] != "" {
			_ = set.Set(&q, load[column]) // values out of bounds are ignored
		}
	}
	return q, missing
}
