package sentence

import (
	"fmt"
	"math"
	"strings"

	"throughline/internal/gap"
	"throughline/internal/profile"
	"throughline/number"
)

// figures are the measured ones in words.
var figures = map[string]string{"tpot": "TPOT", "ttft": "TTFT", "e2e": "E2E", "requests": "requests"}

// Figure is what a measured figure is called.
func Figure(name string) string { return figures[name] }

// Valued is a measured or predicted figure with its unit.
func Valued(value float64, unit string) string {
	return strings.Replace(number.Plain(value, 3)+" "+unit, " /s", "/s", 1)
}

// Gap says how far a prediction is off, whether that is usual, and which causes are left.
func Gap(why *gap.Explanation) []string {
	inside := ""
	if off := math.Abs(math.Log(why.Predicted / why.Measured)); why.Band > 0 && off <= math.Log1p(why.Band) {
		inside = fmt.Sprintf(": within what predictions like this are off by, %.0f%%", 100*why.Band)
	}
	first := fmt.Sprintf("%s %s measured, %s predicted (%s)%s.", Figure(why.Figure), Valued(why.Measured, why.Unit), Valued(why.Predicted, why.Unit), number.Signed(why.Predicted/why.Measured-1, 1), inside)
	if why.Conclusion != "" {
		return sentences(first, why.Conclusion)
	}
	var left []string
	for i := range why.Causes {
		if c := &why.Causes[i]; c.Able && !c.Contradicts {
			left = append(left, fmt.Sprintf("%s (%s)", c.Name, c.Needs))
		}
	}
	return sentences(first, fmt.Sprintf("Each of these would explain it: %s.", list(left)))
}

// mostClasses are named as differing.
const mostClasses = 3

// Kernels says how long the kernels of a step take beside their prediction, and which classes
// differ the most. A measured TPOT tells what no kernel explains.
func Kernels(s *profile.Step, tpot float64) []string {
	if s.Steps == 0 {
		return []string{"The profile has no times or counts of attention, so shares alone are compared."}
	}
	var parts []string
	for _, c := range s.Classes[:min(mostClasses, len(s.Classes))] {
		if off := c.Measured - c.Predicted; math.Abs(off) > 0.005*s.Measured {
			text := fmt.Sprintf("%s ms %s", strings.Replace(fmt.Sprintf("%+.3g", off), "-", "−", 1), c.Name)
			if c.Kernel != "" {
				text += " (" + short(c.Kernel) + ")"
			}
			parts = append(parts, text)
		}
	}
	first := fmt.Sprintf("Kernels take %s ms of a step measured, %s predicted", number.Plain(s.Measured, 3), number.Plain(s.Predicted, 3))
	if len(parts) > 0 {
		first += ": " + list(parts)
	}
	rest := ""
	switch {
	case tpot > 0 && tpot < s.Measured:
		rest = fmt.Sprintf("That is more than the measured TPOT of %s ms: kernels ran beside each other, or the profile has other steps.", number.Plain(tpot, 3))
	case tpot > 0:
		rest = fmt.Sprintf("Of the measured TPOT of %s ms, %s are between kernels: launches, the host, others' prompts.", number.Plain(tpot, 3), number.Plain(tpot-s.Measured, 3)+" ms")
	}
	return sentences(first+".", rest)
}

func short(name string) string {
	if r := []rune(name); len(r) > 32 {
		return string(r[:31]) + "…"
	}
	return name
}
