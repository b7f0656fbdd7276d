package advice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"throughline/internal/files"
	"throughline/internal/parallel"
	"throughline/internal/question"
	"throughline/number"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Near is a change of the question that has an answer, found by trying.
type Near struct {
	Let
	Gives string `json:"gives"` // what the best deployment then does
}

// nearestPatience bounds the search for changes; tests have more.
var nearestPatience = 900 * time.Millisecond

// change is a setting, and the values that it is tried with, nearest first.
type change struct {
	setting string
	// values are what is tried and, where they are known, the deployments of the first.
	values func(ctx context.Context, l *question.Loaded) (out []string, first []Candidate)
	rising bool // where the last value has no answer, none has
}

// changes are named in this order: formats cost accuracy, GPUs money, limits patience.
var changes = []change{
	{"weights", func(_ context.Context, l *question.Loaded) (out []string, first []Candidate) {
		now, known := number.Find(l.Precision.Name)
		for _, name := range []string{"fp8", "int4"} {
			if f, _ := number.Find(name); !known || f.Bytes < now.Bytes {
				out = append(out, name)
			}
		}
		return out, nil
	}, false},
	{"gpus", moreGPUs, false},
	{"tpot", func(_ context.Context, l *question.Loaded) ([]string, []Candidate) {
		_, tpot := l.GoalsOf()
		return relaxed(tpot), nil
	}, true},
	{"ttft", func(_ context.Context, l *question.Loaded) ([]string, []Candidate) {
		ttft, _ := l.GoalsOf()
		return relaxed(ttft), nil
	}, true},
}

// moreGPUs are more of them, in whole nodes beyond two: at a rate from the fewest that hold it in
// closed form on, which has no queues.
func moreGPUs(ctx context.Context, l *question.Loaded) (out []string, fewest []Candidate) {
	if l.Objective == MinGPUs {
		return nil, nil
	}
	per := max(1, l.GPUsPerNode)
	try := []int{l.GPUs + 1, l.GPUs + 2, 2 * l.GPUs, 4 * l.GPUs, 8 * l.GPUs}
	if l.Rate > 0 {
		if fewest = fewestAtRate(ctx, l); len(fewest) == 0 {
			return nil, nil
		}
		n := fewest[0].Procs
		try = []int{n, n + per, n * 5 / 4, n * 3 / 2, 2 * n}
	}
	for _, n := range try {
		if n > 2*per {
			n = (n + per - 1) / per * per
		}
		if n > l.GPUs && (n <= 2*per || n%per == 0) && !slices.Contains(out, strconv.Itoa(n)) {
			out = append(out, strconv.Itoa(n))
		}
	}
	return out, fewest
}

// fewestAtRate are deployments on the fewest GPUs that serve the rate in closed form, sought among
// a few times as many as were asked for first, which takes less time.
func fewestAtRate(ctx context.Context, l *question.Loaded) []Candidate {
	for _, most := range []int{4 * l.GPUs, mostPlanned} {
		words := maps.Clone(l.Words(question.Plan))
		words["objective"], words["gpus"] = string(MinGPUs), strconv.Itoa(min(most, mostPlanned))
		if fewest := closedForm(ctx, l.In, words, l.Rate); len(fewest) > 0 {
			return fewest
		}
	}
	return nil
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

// nearest tries changes, one setting each, for as long as a person waits. Where limits are of
// percentiles, what the closed form finds is simulated once.
func nearest(ctx context.Context, l *question.Loaded) (out []Near) {
	ctx, cancel := context.WithTimeout(ctx, nearestPatience)
	defer cancel()
	found := make([]*Near, len(changes))
	for at := 0; at < len(changes); at += 2 { // what keeps the limits first, where time is short
		var wait parallel.Group
		for i := at; i < min(at+2, len(changes)); i++ {
			wait.Go(func() { found[i] = changes[i].first(ctx, l) })
		}
		wait.Wait()
	}
	for _, n := range found {
		if n != nil {
			out = append(out, *n)
		}
	}
	return out
}

// first is the first value that has an answer; nil: none, or none in time.
func (c *change) first(ctx context.Context, l *question.Loaded) *Near {
	values, known := c.values(ctx, l)
	var last *Near
	if n := len(values); c.rising && n > 0 {
		if last = c.try(ctx, l, values[n-1], nil); last == nil {
			return nil
		}
		values = values[:n-1]
	}
	for i, value := range values {
		if i > 0 {
			known = nil
		}
		if got := c.try(ctx, l, value, known); got != nil || ctx.Err() != nil {
			return cmp.Or(got, last)
		}
	}
	return last
}

// try is a value that has an answer, or nil; some deployments may be known to serve the rate with
// it.
func (c *change) try(ctx context.Context, l *question.Loaded, value string, ranked []Candidate) *Near {
	words := maps.Clone(l.Words(question.Plan))
	words[c.setting] = value
	if ranked == nil {
		ranked = closedForm(ctx, l.In, words, l.Rate)
	}
	if len(ranked) == 0 || ctx.Err() != nil {
		return nil
	}
	plans, _, err := Ask(question.NewQuery(l.In, question.Plan, words))
	if err != nil {
		return nil
	}
	if gives := whatHolds(ctx, ranked, plans.Options.Demand); gives != "" {
		return &Near{Let{c.setting, value}, gives}
	}
	return nil
}

// whatHolds says what the first deployment gives or, with a demand, the first that holds it.
func whatHolds(ctx context.Context, ranked []Candidate, d *Demand) string {
	if d == nil {
		c := &ranked[0]
		return fmt.Sprintf("%s requests/s at a TPOT of %s and a TTFT of %s", number.Rate(c.Requests), number.Time(c.TPOT, 3), number.Time(c.TTFT, 3))
	}
	for i := range ranked {
		t, _, err := d.candidate(&ranked[i])
		if err != nil {
			continue
		}
		if ok, seen, err := t.Glance(ctx); err == nil && ok {
			text := number.Rate(d.Rate) + " requests/s"
			for _, figure := range []struct {
				name  string
				limit workload.Limit
				seen  *simulate.Percentiles
			}{{"TTFT", d.TTFT, &seen.TTFT}, {"TPOT", d.TPOT, &seen.TPOT}} {
				if figure.limit.Seconds > 0 {
					text += fmt.Sprintf(", %s %s %s", figure.limit.Statistic(), figure.name, number.Time(figure.seen.Asked.Value, 3))
				}
			}
			return text
		}
	}
	return ""
}

// glanced is how many deployments of a change are simulated, the best of the closed form first.
const glanced = 3

// closedForm ranks the deployments of a question that serve a rate, with limits on means.
func closedForm(ctx context.Context, in *files.Door, words map[string]string, rate float64) []Candidate {
	q := question.NewQuery(in, question.Plan, words)
	ttft, tpot := q.GoalsOf()
	q.Goals = question.Goals{}
	if ttft.Seconds > 0 {
		q.Goals.TTFT = number.Plain(1e3*ttft.Seconds, 9)
	}
	if tpot.Seconds > 0 {
		q.Goals.TPOT = number.Plain(1e3*tpot.Seconds, 9)
	}
	q.Top, q.Pools = glanced, 0
	p, _, err := Ask(q)
	if err != nil {
		return nil
	}
	p.Options.Demand, p.Options.Chance = nil, 0
	got, err := advise(ctx, p.Loaded, p.Options)
	if err != nil || got.Partial {
		return nil
	}
	return slices.DeleteFunc(got.Ranked, func(c Candidate) bool { return c.Requests < rate })
}
