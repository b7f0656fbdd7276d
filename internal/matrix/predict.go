package matrix

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/rawdata"
	"throughline/workload"
)

// mostSimulated is the requests of a run that are simulated at most: more do not change means.
const mostSimulated = 2000

// deployment checks that predictions can be made of what a server says that it serves.
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
	c.told(path, err)
}

// Prediction is what a run should show.
type Prediction struct {
	Throughput, TPOT, TTFT float64 // tokens/s, ms, ms; 0: there is none, as of answers of one token
	Source                 string  // as in the raw data: simulated or estimated
	Why                    string  // there is none; empty: there is one
}

// loadOf is what a server serves under the load of its client; missing is the first column of that
// load which nobody gave.
func loadOf(s *Server, row rawdata.Row, out *Outcome) (q question.Question, missing string) {
	q = question.DefaultOf(question.Estimate)
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
			*l.into = int(math.Round(v)) // what the client asked comes before what the server was planned for
		} else if !given[l.setting] && missing == "" {
			missing = l.column
		}
	}
	for column, setting := range map[string]string{"request_rate": "rate", "seed": "seed"} {
		if set, ok := question.Lookup(question.Simulate, setting); ok && out.Asked[column] != "" {
			_ = set.Set(&q, out.Asked[column]) // what is out of bounds is as if nothing was said
		}
	}
	if ratio, ok := strings.CutPrefix(out.Asked["length_spread"], drawnSpread); ok {
		if r, err := strconv.ParseFloat(ratio, 64); err == nil && r >= 0 && r <= 1 {
			q.Traffic.Ratio = r
		}
	}
	return q, missing
}

// predict fills in how a server is launched as far as its deployment says it, and predicts what its clients see under the load
// of a row.
func predict(ctx context.Context, s *Server, row rawdata.Row, out *Outcome) Prediction {
	if s.Deployment == nil {
		return Prediction{Why: "the server does not say what it serves (deployment)"}
	}
	q, missing := loadOf(s, row, out)
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
