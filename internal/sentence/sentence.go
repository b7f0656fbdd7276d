// Package sentence answers questions in words: one or two sentences that open every form of an
// answer, on terminals, in pages, in workbooks. Each number in them is one of the record that the
// tables below show.
package sentence

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/result"
	"throughline/internal/table"
	"throughline/number"
	"throughline/op"
)

// Pools is how the GPUs of a deployment are divided, as the start of a sentence.
func Pools(d *deploy.Deployment) string { return capitalized(pools(d)) }

// list joins parts as a person would.
func list(parts []string) string {
	switch n := len(parts); n {
	case 0:
		return ""
	case 1:
		return parts[0]
	default:
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
}

// capitalized starts a sentence; names such as vLLM stay as they are.
func capitalized(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); size == 0 || unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Percent of a chance; what is nearly certain is not called so.
func Percent(share float64) string {
	switch p := 100 * share; {
	case p > 99:
		return "over 99%"
	case p < 1:
		return "under 1%"
	default:
		return fmt.Sprintf("%.0f%%", p)
	}
}

func engineName(d *deploy.Deployment) string {
	if d.Engine.Name == engine.Generic.Name || d.Engine.Title == "" {
		return "a generic engine"
	}
	return d.Engine.Title
}

// gpusText counts the GPUs of a deployment by kind.
func gpusText(d *deploy.Deployment) string {
	var kinds []string
	count := map[string]int{}
	for i := range d.Pools {
		name := d.Pools[i].System.Name
		if count[name] == 0 {
			kinds = append(kinds, name)
		}
		count[name] += d.Pools[i].Procs()
	}
	for i, name := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", count[name], name)
	}
	return list(kinds)
}

// pools describes how the GPUs are divided.
func pools(d *deploy.Deployment) string {
	var parts []string
	for i := range d.Pools {
		p := &d.Pools[i]
		role := ""
		if p.Role != deploy.Both {
			role = p.Role.String() + " "
		}
		each := p.Plan.Attention.Procs()
		switch {
		case p.Count == 1 && p.Role == deploy.Both:
			parts = append(parts, "one instance")
		case p.Count == 1:
			parts = append(parts, fmt.Sprintf("one %sinstance of %s", role, number.Count(each, "GPU")))
		default:
			parts = append(parts, fmt.Sprintf("%d %sinstances of %s", p.Count, role, number.Count(each, "GPU")))
		}
	}
	return list(parts)
}

// clientsSentence is what clients see, each with its band.
func clientsSentence(r *result.Record) string {
	ttft, tpot := 0.0, 0.0
	if r.Trusted != nil {
		ttft, tpot = r.Trusted.TTFT.Band, r.Trusted.TPOT.Band
	}
	out := "TTFT is " + number.Banded(r.TTFT, ttft)
	if r.Lengths.Output > 1 {
		out = "TPOT is " + number.Banded(r.TPOT, tpot) + " and " + out
	}
	return out
}

// Holds says of each limit whether it holds, and of all how surely.
func Holds(r *result.Record) string {
	all := r.Verdicts()
	if len(all) == 0 {
		return ""
	}
	var lines []string
	for i := range all {
		lines = append(lines, all[i].String())
	}
	out := list(lines)
	if chance := r.Chance(); !math.IsNaN(chance) && r.Trusted != nil {
		out += chanceText(chance, len(all))
	}
	return out + "."
}

func chanceText(chance float64, limits int) string {
	return fmt.Sprintf(": a chance of %s that %s", Percent(chance), map[bool]string{true: "it holds", false: "both hold"}[limits == 1])
}

// boundText says what takes the largest share of the step that limits requests.
func boundText(r *result.Record) string {
	prefill, decode := r.Sides[op.Prefill], r.Sides[op.Decode]
	switch {
	case decode == nil || !decode.Found:
		return ""
	case !r.Shared && prefill != nil && prefill.Found && r.Complete:
		name := "Decode"
		if r.Bottleneck() == "prefill" {
			name = "Prefill"
		}
		return fmt.Sprintf("%s binds; %s", name, share(decode, "a decode step"))
	}
	return capitalized(share(decode, "a decode step"))
}

// share says how much of a step its strongest bound takes.
func share(s *result.Side, what string) string {
	return fmt.Sprintf("%s binds %.0f%% of %s", s.Bound.By, 100*s.Bound.Share, what)
}

// clockText says how far the limit of power lowers the clock of a step; empty: hardly.
func clockText(s *result.Side, name string) string {
	if s == nil || !s.Found || s.Step.Drawn == nil {
		return ""
	}
	watts, limit, clock := s.Step.Drawn.Watts(), s.System.Limit(), s.Step.Drawn.Clock
	switch {
	case watts > limit*(1+1e-9):
		return fmt.Sprintf("Even at the lowest clock, %.0f%%, the %s draws more than %.0f W.", 100*clock, name, limit)
	case clock < slowed:
		return fmt.Sprintf("%.0f W hold the clock of the %s at %.0f%%.", limit, name, 100*clock)
	}
	return ""
}

// slowed is the share of the full clock below which a limit of power is said to bind.
const slowed = 0.95

// costText is what an answer costs in money and energy, as far as known; empty: neither.
func costText(r *result.Record) string {
	var parts []string
	if r.DollarsPerMillion > 0 {
		parts = append(parts, fmt.Sprintf("$%s per million output tokens", number.Plain(r.DollarsPerMillion, 3)))
	}
	switch {
	case r.Energy != nil:
		parts = append(parts, fmt.Sprintf("%s J per output token at %.0f W per GPU%s", number.Plain(r.Energy.Output, 3), r.Energy.Watts, r.Energy.Held()))
		if bill := r.Energy.Bill(); bill != "" {
			parts = append(parts, bill)
		}
	case r.TokensPerJoule > 0:
		parts = append(parts, fmt.Sprintf("%s output tokens per joule", number.Plain(r.TokensPerJoule, 3)))
	}
	return list(parts)
}

// columns is the width of sentences where nothing says how wide they may be.
const columns = 80

func Text(v table.View, lines []string) string {
	v.Width = cmp.Or(v.Width, columns)
	out := v.Wrap(strings.Join(lines, "\n"))
	if v.Bold {
		out = table.BoldOn + out + table.BoldOff
	}
	return out + "\n"
}

// sentences drops empty parts.
func sentences(parts ...string) (out []string) {
	for _, p := range parts {
		if p != "" {
			out = append(out, capitalized(p))
		}
	}
	return out
}

// costs is the sentence on what an answer costs; empty: unknown.
func costs(r *result.Record) string {
	text := costText(r)
	if text == "" {
		return ""
	}
	return "It takes " + text + "."
}
