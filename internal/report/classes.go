package report

import (
	"fmt"
	"math"
	"strings"

	"throughline/internal/profile"
	"throughline/internal/table"
	"throughline/number"
)

// Classes shows the kernels of a profile beside the operators of a predicted step, by class.
func Classes(v table.View, step string, classes []profile.Class) string {
	out := fmt.Sprintf("Predicted: %s\n%s\n", step, Shares(classes).Render(v))
	var without []string
	for i := range classes {
		if c := &classes[i]; !c.HasOperator() {
			without = append(without, fmt.Sprintf("%s (%s: %s)", c.Name, percents(c.Measured), c.Remark))
		}
	}
	if len(without) > 0 {
		out += v.Wrap("Without an operator: "+strings.Join(without, "; ")) + "\n"
	}
	sum := profile.Sum(classes)
	if sum.Apart {
		out += fmt.Sprintf("All products together: %s measured, %s predicted.\n", percents(sum.Products.Measured), percents(sum.Products.Predicted))
	}
	if sum.Measured < 0.995 {
		out += fmt.Sprintf("The summary holds %s of the time.\n", percents(sum.Measured))
	}
	return out
}

var classColumns = []table.Column[*profile.Class]{
	{Title: "class", Value: func(c *profile.Class) any { return c.Name }},
	{Title: "measured", Kind: table.Number, Format: "%.1f%%", Value: func(c *profile.Class) any { return 100 * c.Measured }},
	{Title: "predicted", Kind: table.Number, Format: "%.1f%%", Value: func(c *profile.Class) any {
		if !c.HasOperator() {
			return "none"
		}
		return 100 * c.Predicted
	}},
	{Title: "difference", Kind: table.Number, Rank: 1, Format: "%+.1f", Value: func(c *profile.Class) any {
		if !c.HasOperator() {
			return nil
		}
		if points := 100 * c.Difference(); math.Abs(points) >= 0.05 {
			return points
		}
		return 0.0 // and not −0.0
	}},
	{Title: "longest kernels", Rank: 2, Cell: func(c *profile.Class) string { return longest(c.Kernels) }},
}

// KernelSteps shows the ms of a step by class; nothing where the profile has no counts.
func KernelSteps(v table.View, s *profile.Step) string {
	if s.Steps == 0 {
		return ""
	}
	return fmt.Sprintf("Of one step; the profile has %s, by the calls of attention\n%s\n\n", number.Count(int(s.Steps+0.5), "step"), StepClasses(s).Render(v))
}

func StepClasses(s *profile.Step) *table.Table[*profile.StepClass] {
	ms := func(title string, value func(*profile.StepClass) float64) table.Column[*profile.StepClass] {
		return table.Column[*profile.StepClass]{Title: title, Kind: table.Number, Cell: func(c *profile.StepClass) string { return strings.Replace(number.Plain(value(c), 3), "-", "−", 1) }}
	}
	return table.Of([]table.Column[*profile.StepClass]{
		{Title: "class", Value: func(c *profile.StepClass) any { return c.Name }},
		ms("measured ms", func(c *profile.StepClass) float64 { return c.Measured }),
		ms("predicted ms", func(c *profile.StepClass) float64 { return c.Predicted }),
		ms("difference", func(c *profile.StepClass) float64 { return c.Measured - c.Predicted }),
		ms("calls", func(c *profile.StepClass) float64 { return c.Calls }),
		{Title: "longest kernel", Rank: 1, Value: func(c *profile.StepClass) any { return c.Kernel }},
	}, s.Classes)
}

func Shares(classes []profile.Class) *table.Table[*profile.Class] {
	return table.Of(classColumns, classes)
}

func percents(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// longest names a few kernels.
func longest(kernels []profile.Kernel) string {
	var out []string
	for _, k := range kernels[:min(2, len(kernels))] {
		name := []rune(k.Name)
		if len(name) > 24 {
			name = append(name[:23], '…')
		}
		out = append(out, string(name))
	}
	return strings.Join(out, ", ")
}
