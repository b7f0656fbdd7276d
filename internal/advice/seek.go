package advice

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/hardware"
	"throughline/internal/explain"
	"throughline/internal/question"
)

// aimed are the goals that a search can rank by: the best that any deployment reaches which gives a
// minimum of tokens per second.
var aimed = map[string]func(a *Advice, tokens float64) float64{
	"tpot": func(a *Advice, tokens float64) float64 {
		best := math.Inf(1)
		for _, list := range [][]Candidate{a.Ranked, a.Frontier} {
			for i := range list {
				if list[i].Tokens() >= tokens {
					best = min(best, 1e3*list[i].TPOT)
				}
			}
		}
		return best
	},
	"throughput": func(a *Advice, _ float64) (best float64) {
		for i := range a.Ranked {
			best = max(best, a.Ranked[i].Tokens())
		}
		return best
	},
}

// Seek finds the value of a hardware number at which the best deployment on as many GPUs as the
// explained one, and with no less throughput, reaches the goal of a question.
func Seek(ctx context.Context, asked *question.Query, words map[string]string, x *explain.Explained) error {
	goal, err := explain.ParseGoal(asked.Until)
	if err != nil {
		return err
	}
	best, ok := aimed[goal.Metric()]
	if !ok {
		return question.OfSetting("replan", fmt.Errorf("searches for the goals tpot and throughput, not %s", goal.Metric()))
	}
	gpus := 0
	for i := range x.Deployment.Pools {
		gpus += x.Deployment.Pools[i].Procs()
	}
	system := x.Deployment.Pools[0].System
	at := func(v float64) (float64, error) {
		plans, _, err := Ask(question.NewQuery(asked.In, question.Plan, planWords(words, gpus, asked.Seek, v)))
		if err == nil {
			err = plans.Search(ctx)
		}
		switch {
		case err != nil:
			return 0, err
		case plans.Partial:
			return 0, context.Canceled
		}
		return best(plans.Advice, x.Tokens()), nil
	}
	answer, err := goal.SeekPlans(system, asked.Seek, func(v float64) (float64, error) { return at(settled(system, asked.Seek, v)) })
	if err != nil {
		return err
	}
	if math.IsInf(answer.NowMetric, 0) {
		return question.OfSetting("replan", errors.New("no deployment is found at the present value that gives as many tokens/s; throughline plan says why"))
	}
	if math.IsInf(answer.Best, 0) {
		answer.Best, answer.BestAt = answer.NowMetric, answer.Now
	}
	for _, why := range x.Why {
		if why != nil {
			why.Seek = answer
		}
	}
	return nil
}

// settled is a value as the system takes it.
func settled(system *hardware.System, path string, v float64) float64 {
	p, _ := system.Parameter(path)
	return p.Of(p.With(system, v))
}

// layoutSettings are what a search decides.
var layoutSettings = []string{"seek", "until", "replan", "phase", "batch", "concurrency", "from", "objective"}

// planWords are the words of a question as those of a search with another number of the system.
func planWords(words map[string]string, gpus int, path string, v float64) map[string]string {
	out := map[string]string{}
	for name, text := range words {
		if s, ok := question.Lookup(question.Plan, name); ok && !slices.Contains(layoutSettings, s.Name) {
			out[name] = text
		}
	}
	out["gpus"] = strconv.Itoa(gpus)
	change := fmt.Sprintf("%s.%s=%s", question.OfSystem, path, strconv.FormatFloat(v, 'g', -1, 64))
	out["set"] = strings.Trim(out["set"]+","+change, ",")
	return out
}
