package sentence

import (
	"fmt"
	"strings"

	"throughline/internal/explain"
	"throughline/internal/point"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
)

// Point says what clients of a deployment see, or how long a bare step takes, what binds, and
// whether it fits.
func Point(a *point.Answer) []string {
	r := a.Record
	if !r.Served {
		return sentences(append(steps(a), fits(r))...)
	}
	first := fmt.Sprintf("%s gives %s %s, %s requests/s; %s.", capitalized(engineName(&a.Deployment)), number.Count(r.Clients, "client"), PerGPU(r), number.Rate(r.Requests), clientsSentence(r))
	second := ""
	if b := boundText(r); b != "" {
		second = join(b+".", clockText(r.Sides[op.Decode], "decode step"))
	}
	return sentences(first, join(second, fits(r)), Holds(r), costs(r))
}

func join(parts ...string) string {
	out := ""
	for _, p := range parts {
		if out != "" && p != "" {
			out += " "
		}
		out += p
	}
	return out
}

// steps says how long bare steps take, and what binds them.
func steps(a *point.Answer) (out []string) {
	for i := range a.Phases {
		p := &a.Phases[i]
		s := a.Sides[p.Phase]
		out = append(out, fmt.Sprintf("A %s takes %s; %s.", p.StepTitle(), number.Banded(p.Estimate.StepTime, p.Confidence.Band), share(s, "it")),
			clockText(s, p.Phase.Name()+" step"))
	}
	return out
}

// fits says how much memory is left, or how much is missing.
func fits(r *result.Record) string {
	free, found := 0.0, false
	for _, s := range r.Sides {
		if s == nil || !s.Found || s.Usable == 0 {
			continue
		}
		if text := s.TooMuch(); text != "" {
			return "✗ " + capitalized(text) + "."
		}
		if left := s.Usable - s.Held; !found || left < free {
			free, found = left, true
		}
	}
	if !found {
		return ""
	}
	return fmt.Sprintf("It fits: %s GiB of a GPU stay free.", number.Plain(free/(1<<30), 3))
}

// Explained says which time is explained, what binds it, and which number of the hardware would
// change it the most.
func Explained(x *explain.Explained) []string {
	a := x.Answer
	var out []string
	for i, why := range x.Why {
		if why == nil {
			continue
		}
		p := &a.Phases[i]
		r, s := a.Record, a.Sides[p.Phase]
		name, seconds, band := p.StepTitle(), p.Estimate.StepTime, p.Confidence.Band
		text := fmt.Sprintf("A %s takes %s; %s.", name, number.Banded(seconds, band), share(s, "it"))
		if r.Served && p.Phase == op.Decode && r.TPOT == 0 {
			out = append(out, "There is no TPOT: requests end with their first token. "+text, fits(r))
			continue
		}
		if r.Served {
			name, seconds, band = "TPOT", r.TPOT, r.Trusted.TPOT.Band
			if p.Phase == op.Prefill {
				name, seconds, band = "TTFT", r.TTFT, r.Trusted.TTFT.Band
			}
			text = fmt.Sprintf("%s is %s%s. The %s takes %s, and %s.", name, number.Banded(seconds, band), largestOutside(x.Parts, p.Phase), p.StepTitle(), number.Time(p.Estimate.StepTime, 3), share(s, "it"))
		}
		out = append(out, join(text, clockText(s, p.Phase.Name()+" step"), strongestParameter(why, r.Served, p.Phase)), fits(r))
	}
	return sentences(append(out, Holds(a.Record), costs(a.Record))...)
}

// largestOutside names the part outside the step that takes most of what clients see, if it is a
// quarter; empty: none does.
func largestOutside(all *explain.Parts, phase op.Phase) string {
	if all == nil {
		return ""
	}
	parts := all.TPOT
	if phase == op.Prefill {
		parts = all.TTFT
	}
	sum, most := 0.0, explain.Part{}
	for _, p := range parts {
		sum += p.Ms
		if (p.Of == explain.OfOthers || p.Of == explain.OfWaiting) && p.Ms > most.Ms {
			most = p
		}
	}
	if most.Ms < sum/4 {
		return ""
	}
	return fmt.Sprintf("; %s of it are %s", number.Time(most.Ms/1e3, 3), most.Name)
}

// strongestParameter is the number of the hardware that shortens the time the most.
func strongestParameter(why *explain.Explanation, served bool, phase op.Phase) string {
	var best *explain.Effect
	gain := func(e *explain.Effect) float64 {
		switch {
		case !served:
			return e.Step
		case phase == op.Prefill:
			return e.TTFT
		}
		return e.TPOT
	}
	for i := range why.Sensitivity {
		if e := &why.Sensitivity[i]; best == nil || gain(e) < gain(best) {
			best = e
		}
	}
	if best == nil || gain(best) > -5e-4 {
		return ""
	}
	of := "it"
	if served {
		of = [...]string{op.Prefill: "TTFT", op.Decode: "TPOT"}[phase]
	}
	return fmt.Sprintf("10%% more %s would change %s by %s, the most of all numbers.", parameterWords(best.Parameter), of, number.Signed(gain(best), 1))
}

// parameterWords is a number of a system file in words, with its path where that says more.
func parameterWords(path string) string {
	words := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	switch last := words[len(words)-1]; {
	case path == "mem1.GBps":
		return "memory bandwidth"
	case path == "mem1.GiB":
		return "memory"
	case path == "power.limit_W":
		return "power limit"
	case last == "tflops" && len(words) == 3:
		return fmt.Sprintf("%s rate in %s", words[0], words[1])
	case words[0] == "networks" && len(words) == 3:
		return fmt.Sprintf("%s of network %s", last, words[1])
	}
	return path
}
