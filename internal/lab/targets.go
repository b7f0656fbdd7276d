package lab

import (
	"fmt"
	"math"
	"strings"

	"throughline/internal/validate"
)

// Target is an error that predictions of serving runs should keep.
type Target struct {
	Name   string
	Most   float64 // percent; 0: none
	mean   bool    // of all errors, where the median is meant otherwise
	figure func(*judged) int
	of     func(*judged) bool
}

func only(figure int) func(*judged) int { return func(*judged) int { return figure } }

func aggregated(j *judged) bool { return j.mode == "agg" && !j.drafts && !j.labelled() }
func pools(j *judged) bool      { return j.mode == "disagg" && !j.drafts && !j.labelled() }

// labelled reports whether a run names its source: such runs choose no constant by themselves.
func (j *judged) labelled() bool { return !strings.HasSuffix(j.source, ".csv") }

// oneServer is the runs that NVIDIA's AISimulate is judged by, too.
func oneServer(j *judged) bool { return j.mode == "agg" && strings.HasPrefix(j.source, "InferenceX") }

func chipOf(maker string) func(*judged) bool {
	return func(j *judged) bool {
		amd := strings.HasPrefix(strings.ToLower(j.system), "mi")
		return j.labelled() && j.told && !j.drafts && j.mode == "agg" && amd == (maker == "AMD")
	}
}

var targets = []Target{
	{"one pool, TPOT", 6.5, false, only(tpot), aggregated},
	{"one pool, TTFT", 16, false, only(ttft), aggregated},
	{"two pools, TPOT", 7.5, false, only(tpot), pools},
	{"two pools, TTFT", 22, false, only(ttft), pools},
	{"labelled, NVIDIA, TPOT", 9, false, only(tpot), chipOf("NVIDIA")},
	{"labelled, AMD, TPOT", 12, false, only(tpot), chipOf("AMD")},
	{"drafts, TPOT", 12, false, only(tpot), func(j *judged) bool { return j.drafts }},
	{"P99 of TTFT", 30, false, only(ttftP99), func(j *judged) bool { return j.mode == "agg" }},
	{"InferenceX on one server, TPOT, mean", 9, true, only(tpot), oneServer},
	{"InferenceX on one server, TTFT, mean", 30, true, (*judged).firstToken, oneServer},
	{"sources that say no settings, TPOT", 15, false, only(tpot), func(j *judged) bool { return !j.told }},
	{"sources that say no settings, TTFT", 35, false, (*judged).firstToken, func(j *judged) bool { return !j.told }},
}

// Kept is how a target is kept: errors in percent.
type Kept struct {
	Target
	Runs, Parts int
	Built, Held float64
}

// Kept is how the targets are kept that some runs tell something of.
func (h *Held) Kept() (out []Kept) {
	for i := range targets {
		k := Kept{Target: targets[i]}
		var built, held []float64
		parts := map[string]bool{}
		for _, j := range h.runs {
			if !k.of(j) {
				continue
			}
			f := k.figure(j)
			a, b := j.error(f, &j.built), j.error(f, &j.held)
			if math.IsNaN(a+b) || math.IsInf(a+b, 0) {
				continue
			}
			built, held = append(built, a), append(held, b)
			parts[h.by.of(j)] = true
		}
		if k.Runs, k.Parts = len(built), len(parts); k.Runs == 0 {
			continue
		}
		sum := validate.Median
		if k.mean {
			sum = meanOf
		}
		k.Built, k.Held = 100*sum(built), 100*sum(held)
		out = append(out, k)
	}
	return out
}

func meanOf(list []float64) (mean float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	return mean
}

func (k *Kept) Cells() []string {
	most, verdict := "", ""
	if k.Most > 0 {
		most, verdict = fmt.Sprintf("%g%%", k.Most), "kept"
		if k.Held > k.Most {
			verdict = "missed"
		}
	}
	return []string{k.Name, fmt.Sprint(k.Runs), fmt.Sprint(k.Parts), fmt.Sprintf("%.1f%%", k.Held), fmt.Sprintf("%.1f%%", k.Built), most, verdict}
}

// KeptColumns are the heads of these cells.
var KeptColumns = []string{"error", "runs", "parts", "held out", "as built", "target", ""}
