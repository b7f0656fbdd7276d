package report

import (
	"strings"

	"throughline/internal/advice"
)

// tried is what became of deployments that practitioners would try, nothing where that was not asked.
func tried(list []advice.Tried, v View) string {
	if len(list) == 0 {
		return ""
	}
	g := &Grid{Columns: []Column{{"tried", false, 0}, {"mode", false, 1}, {"ruled out by", false, 0}, {"by how much", false, 0}, {"lets it through", false, 0}}}
	for i := range list {
		t := &list[i]
		rule := t.Rule
		if rule == "rank" {
			rule = "nothing"
		}
		g.Row(t.Name, string(t.Mode), rule, t.By, lets(t.Lets))
	}
	return "\nwhat practitioners would try\n" + g.Render(v) + "\n"
}

// lets is what would let a deployment through: limits together, other ways one or the other.
func lets(list []advice.Let) string {
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
	return strings.Join(append(limits, strings.Join(ways, " or ")), " ")
}
