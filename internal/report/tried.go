package report

import (
	"fmt"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/table"
)

// triedText lists the verdicts on deployments that practitioners would try, a line each.
func triedText(list []advice.Tried, v table.View) string {
	if len(list) == 0 {
		return ""
	}
	wide := 0
	for i := range list {
		wide = max(wide, len([]rune(list[i].Name)))
	}
	var b strings.Builder
	b.WriteString("\nwhat practitioners would try\n")
	for i := range list {
		t := &list[i]
		label := fmt.Sprintf("  %-*s  %-6s  ", wide, t.Name, t.Mode)
		text := t.By
		if t.Rule == "memory" || t.Rule == "engine" || t.Rule == "shape" {
			text = t.Rule + ": " + text
		}
		if by := admittedBy(t.Lets); by != "" {
			text += "; " + by
		}
		b.WriteString(v.WrapUnder(label, text) + "\n")
	}
	return b.String()
}

// admittedBy joins what would admit a deployment: limits together, other ways as alternatives.
func admittedBy(list []advice.Let) string {
	var limits, ways []string
	for _, l := range list {
		switch l.Setting {
		case "":
			ways = append(ways, l.Value)
		case "ttft", "tpot":
			limits = append(limits, "--"+l.Setting+" "+l.Value)
		default:
			ways = append(ways, "--"+l.Setting+" "+l.Value)
		}
	}
	if len(limits) > 0 {
		ways = append(ways, strings.Join(limits, " "))
	}
	if len(ways) == 0 {
		return ""
	}
	return strings.Join(ways, " or ") + " lets it in"
}
