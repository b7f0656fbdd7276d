package question

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"throughline/engine"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/plan"
)

// reason tells why a setting has no effect beside the others; it is empty where it has one.
type reason func(l *Loaded, of Command) string

// unless is that something does not hold which the setting needs.
func unless(holds func(*Loaded) bool, why string) reason {
	return func(l *Loaded, _ Command) string {
		if holds(l) {
			return ""
		}
		return why
	}
}

// when is that something holds beside which the setting does nothing.
func when(holds func(l *Loaded, of Command) bool, why string) reason {
	return func(l *Loaded, of Command) string {
		if holds(l, of) {
			return why
		}
		return ""
	}
}

// but leaves a reason out for some commands.
func but(of Command, r reason) reason {
	return func(l *Loaded, asked Command) string {
		if asked&of != 0 {
			return ""
		}
		return r(l, asked)
	}
}

// either is the first of several reasons.
func either(reasons ...reason) reason {
	return func(l *Loaded, of Command) string {
		for _, r := range reasons {
			if why := r(l, of); why != "" {
				return why
			}
		}
		return ""
	}
}

// Idle are notes on settings that are given and have no effect, as settings and reasons.
func (l *Loaded) Idle(of Command, given func(name string) bool) []document.Problem {
	var out []document.Problem
	for _, s := range Settings(of) {
		if s.Idle == nil || !given(s.Name) {
			continue
		}
		if why := s.Idle(l, of); why != "" {
			out = append(out, document.Problem{Path: s.Name, Message: "has no effect: " + why})
		}
	}
	return out
}

// What settings need.

func ownTimes(l *Loaded) bool { return l.StepSource == "" || l.StepSource == OwnTimes }
func turns(l *Loaded) bool    { return l.Traffic.Turns > 1 }
func finiteRate(l *Loaded) bool {
	return l.Traffic.MaxRate || l.Rate > 0 || !math.IsInf(l.Traffic.Rate, 1)
}
func givenRate(l *Loaded) bool      { return !l.Traffic.MaxRate }
func drawn(l *Loaded) bool          { return l.Traffic.Trace == "" }
func sharedPrompts(l *Loaded) bool  { return !drawn(l) || turns(l) || l.Traffic.Groups > 0 }
func keptPrompts(l *Loaded) bool    { return l.Traffic.PrefixCache }
func recordedLength(l *Loaded) bool { return strings.HasPrefix(l.Spreading(), "trace:") }

// several reports whether a request may be given to more than one rank.
func several(l *Loaded) bool {
	return l.Simulates() || l.Traffic.Replicas > 1 || l.DP > 1 || l.PP > 1 || l.Split()
}

// chance reports whether anything of a simulation is drawn at random.
func chance(l *Loaded) bool {
	t := &l.Traffic
	spread := l.Distribution != "" && l.Distribution != "fixed" && !recordedLength(l) || t.Ratio > 0 && t.Ratio < 1 || t.Groups > 0
	gaps := finiteRate(l) && (t.Arrival == "poisson" || strings.HasPrefix(t.Arrival, "gamma:"))
	return drawn(l) && (spread || gaps) || drafting(l)
}

// drafting reports whether a decode pool drafts tokens, of which some are right by chance.
func drafting(l *Loaded) bool {
	if l.DecodePlan == "" {
		return l.Drafts > 0
	}
	w, err := plan.ParseWords(l.DecodePlan)
	return err == nil && w.Drafts > 0
}

var (
	drawnRequests = unless(drawn, "the requests are those of the trace")
	lengthsGiven  = unless(func(l *Loaded) bool { return !recordedLength(l) || l.Prefix > 0 }, "the trace gives the lengths")

	recordedPrompts = when(func(l *Loaded, of Command) bool { return of != Simulate && (of != Plan || !l.Simulates()) && !drawn(l) },
		"which prompts of a trace begin alike counts in simulate")
	bareStep = when(func(l *Loaded, of Command) bool { return of == Explain && !l.Clients() && l.Assumptions.Engine },
		"a bare step has neither TTFT nor TPOT, which clients see")
	noRate = when(func(l *Loaded, _ Command) bool { return l.Objective != MinGPUs && !l.Simulates() },
		"only objective min-gpus and limits of percentiles, like p99:2s, serve a given rate")
	onePool     = when(func(l *Loaded, _ Command) bool { return l.Mode == Aggregated }, "one pool does both phases in mode agg")
	bothPlans   = when(func(l *Loaded, _ Command) bool { return l.PrefillPlan != "" && l.DecodePlan != "" }, "prefill-plan and decode-plan say everything")
	prefillPlan = when(func(l *Loaded, _ Command) bool { return l.PrefillPlan != "" }, "only a prefill splits the context, and prefill-plan says how")
	oneRank     = when(func(l *Loaded, _ Command) bool { return l.TP == 1 && l.PrefillPlan == "" && l.DecodePlan == "" },
		"there is one tensor-parallel rank")
	oneProcessor = when(alone, "one GPU sends nothing")
	noPrompt     = when(func(l *Loaded, of Command) bool {
		return of&Point != 0 && (l.Phase == Decode || l.Phase == "" && l.Context > 0)
	},
		"a decode step computes no prompt")
	replicas = when(func(l *Loaded, _ Command) bool { return l.Shape.IsMoE() && l.DP > 1 },
		"prompts of data-parallel attention do not wait for others to fill a step; see balance-steps")
	onePhase = when(func(l *Loaded, _ Command) bool { return l.PrefillPlan != "" || l.DecodePlan != "" },
		"servers of one phase have no prompts and decodes that wait for each other")
	unlimited = when(func(l *Loaded, _ Command) bool { return l.Goals == (Goals{}) }, "there are no limits to hold: give ttft or tpot")
	givenGPUs = when(func(l *Loaded, _ Command) bool { return l.Objective != MinGPUs }, "only objective min-gpus looks for a number of GPUs")
)

// Why settings have no effect.

func closedLoop(l *Loaded, of Command) string {
	switch {
	case of == Simulate, of == Plan && l.Simulates():
		return ""
	case of == Plan:
		return "clients send a request when their last has ended; with limits of percentiles, like p99:2s, they come by themselves"
	}
	return "clients send a request when their last has ended; simulate lets them come by themselves"
}

func engineNotAssumed(l *Loaded, of Command) string {
	if of != Plan && !l.Assumptions.Engine {
		return fmt.Sprintf("the assumptions %q have no serving engine", l.Assumptions.Name)
	}
	return ""
}

func nodesWithoutEngine(l *Loaded, of Command) string {
	if alone(l, of) {
		return "one GPU is in one node"
	}
	if l.GPUsPerNode < hardware.NodeSize && slices.ContainsFunc(l.kinds(), func(s *hardware.System) bool { return s.Networks[0].Size == l.GPUsPerNode }) {
		return "" // which joins no more than a node
	}
	if of != Plan && (l.Engine == engine.Generic.Name || !l.Assumptions.Engine) {
		return "only serving engines are limited by nodes"
	}
	return ""
}

func noClients(l *Loaded, _ Command) string {
	switch {
	case !l.Clients():
		return "a bare step has no clients"
	case !l.Assumptions.Engine:
		return fmt.Sprintf("the assumptions %q have no clients", l.Assumptions.Name)
	}
	return ""
}

// asDelivered is why power limits change nothing: none is below that of a chip.
func asDelivered(l *Loaded, _ Command) string {
	limits := l.PowerLimits()
	if len(limits) == 0 {
		return ""
	}
	for _, s := range l.kinds() {
		if s.Power == nil || slices.Min(limits) <= s.Power.Limit {
			return ""
		}
	}
	s := l.kinds()[0]
	return fmt.Sprintf("%s is limited to %.0f W as delivered", s.Name, s.Power.Limit)
}

// unmetered is why energy has no price: watts of whoever serves clients are not known.
func unmetered(l *Loaded, of Command) string {
	for _, s := range l.kinds() {
		if s.Power == nil {
			return fmt.Sprintf("%s has no block \"power\": its watts are not known", s.Name)
		}
	}
	if of == Plan {
		return ""
	}
	return noClients(l, of)
}

func priced(l *Loaded) bool { return l.Tariff.PerKWh > 0 || l.Tariff.Carbon > 0 }

// alone reports whether a deployment has one processor.
func alone(l *Loaded, of Command) bool {
	return of != Plan && !l.Split() && l.TP == 1 && l.PP == 1 && l.DP == 1 && l.CP == 1 && l.Traffic.Replicas == 1
}

func dense(l *Loaded, _ Command) string {
	if l.Shape != nil && !l.Shape.IsMoE() {
		return l.Shape.Name + " has no experts"
	}
	return ""
}

func noExperts(l *Loaded, of Command) string {
	if of == Plan && !l.Shape.IsMoE() {
		return l.Shape.Name + " has no experts"
	}
	return bothPlans(l, of)
}

func balanced(l *Loaded, _ Command) string {
	switch {
	case !l.Shape.IsMoE():
		return l.Shape.Name + " has no experts"
	case !l.Assumptions.Imbalance && !l.Assumptions.TouchedExperts:
		return "the assumptions have all GPUs do the same"
	}
	return ""
}

func noDrafts(l *Loaded, of Command) string {
	switch {
	case of == Plan && l.Shape.DraftLayers == 0 && l.Engine != engine.Generic.Name:
		return fmt.Sprintf("%s has no layers that draft tokens, which engines need", l.Shape.Name)
	case l.Phase == Prefill && l.Shape.DraftLayers > 0: // without such layers it may decide which engine can run this
		return "a prefill drafts nothing"
	case l.DecodePlan != "":
		return "decode-plan says it"
	}
	return ""
}

func oneReplica(l *Loaded, _ Command) string {
	switch {
	case !l.Shape.IsMoE():
		return "the replicas of " + l.Shape.Name + ", which has no experts, exchange nothing"
	case l.DP == 1:
		return "there is one replica of attention"
	}
	return ""
}
