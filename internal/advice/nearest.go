package advice

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/number"
	"throughline/workload"
)

// Near is a change of the question that has an answer, found by trying.
type Near struct {
	Let
	Gives string `json:"gives"` // what the best deployment then does
}

// nearestPatience bounds the search for changes.
const nearestPatience = 900 * time.Millisecond

// change is a setting, and the values that it is tried with, nearest first.
type change struct {
	setting string
	values  func(l *question.Loaded) []string
}

// changes are tried in this order: formats cost accuracy, GPUs money, limits patience.
var changes = []change{
	{"weights", func(l *question.Loaded) (out []string) {
		for _, f := range []string{"fp8", "int4"} {
			if l.Formats.Weights != f {
				out = append(out, f)
			}
		}
		return out
	}},
	{"gpus", func(l *question.Loaded) (out []string) {
		if l.Objective == MinGPUs {
			return nil
		}
		per := max(1, l.GPUsPerNode)
		for _, n := range []int{l.GPUs + 1, l.GPUs + 2, 2 * l.GPUs, 4 * l.GPUs, 8 * l.GPUs} {
			if n <= 2*per || n%per == 0 {
				out = append(out, strconv.Itoa(n))
			}
		}
		return out
	}},
	{"tpot", func(l *question.Loaded) []string { _, tpot := l.GoalsOf(); return relaxed(tpot) }},
	{"ttft", func(l *question.Loaded) []string { ttft, _ := l.GoalsOf(); return relaxed(ttft) }},
}

// relaxed are limits that are up to eight times as long.
func relaxed(limit workload.Limit) (out []string) {
	if limit.Seconds == 0 {
		return nil
	}
	for _, times := range []float64{1.25, 1.5, 2, 4, 8} {
		text := number.Plain(1e3*times*limit.Seconds, 3) + "ms"
		if limit.Share > 0 {
			text = limit.Statistic() + ":" + text
		}
		out = append(out, text)
	}
	return out
}

// nearest tries one change at a time for as long as a person waits. Rates with limits of
// percentiles are judged by their means, which need no simulation.
func nearest(ctx context.Context, l *question.Loaded) []Near {
	ctx, cancel := context.WithTimeout(ctx, nearestPatience)
	defer cancel()
	var out []Near
	for _, c := range changes {
		for _, value := range c.values(l) {
			words := maps.Clone(l.Words(question.Plan))
			words[c.setting] = value
			got := closedForm(ctx, l.In, words, l.Rate)
			if ctx.Err() != nil {
				return out
			}
			if got != nil {
				out = append(out, Near{Let{c.setting, value}, fmt.Sprintf("%s requests/s at a TPOT of %s and a TTFT of %s", number.Rate(got.Requests), number.Time(got.TPOT, 3), number.Time(got.TTFT, 3))})
				break
			}
		}
	}
	return out
}

// closedForm is the best deployment of a question with limits on means, or nil.
func closedForm(ctx context.Context, in *files.Door, words map[string]string, rate float64) *Candidate {
	q := question.NewQuery(in, question.Plan, words)
	ttft, tpot := q.GoalsOf()
	q.Goals = question.Goals{}
	if ttft.Seconds > 0 {
		q.Goals.TTFT = number.Plain(1e3*ttft.Seconds, 9)
	}
	if tpot.Seconds > 0 {
		q.Goals.TPOT = number.Plain(1e3*tpot.Seconds, 9)
	}
	q.Top, q.Pools = 1, 0
	p, _, err := Ask(q)
	if err != nil {
		return nil
	}
	p.Options.Demand, p.Options.Chance = nil, 0
	got, err := advise(ctx, p.Loaded, p.Options)
	if err != nil || got.Partial || len(got.Ranked) == 0 || got.Ranked[0].Requests < rate {
		return nil
	}
	return &got.Ranked[0]
}
