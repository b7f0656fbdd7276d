package sentence

import (
	"fmt"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/result"
	"throughline/number"
	"throughline/op"
)

// Plan says what to launch, what it gives, and whether limits hold; where nothing does, which
// change would have an answer. Why stands in the reasons of the advice.
func Plan(p *advice.Plans) []string {
	a := p.Advice
	if len(a.Ranked) == 0 {
		out := []string{"No deployment was found."}
		var near []string
		for _, n := range a.Nearest {
			near = append(near, fmt.Sprintf("--%s %s gives %s", n.Setting, n.Value, n.Gives))
		}
		if len(near) > 0 {
			out[0] += " One change would do: " + strings.Join(near, "; ") + "."
		}
		return out
	}
	c := &a.Ranked[0]
	return sentences(launch(c), throughputText(c), Holds(&c.Record), costs(&c.Record))
}

// Systems says what to launch of several systems, and what the best of the others would give.
func Systems(all *advice.Advice, searches []*advice.Plans) []string {
	c := &all.Ranked[0]
	var others []string
	for _, p := range searches {
		best := &p.Ranked[0]
		name := gpusText(&best.Deployment)
		if name == gpusText(&c.Deployment) {
			continue
		}
		text := fmt.Sprintf("%s would give %s at a TPOT of %s", name, PerGPU(&best.Record), number.Time(best.TPOT, 3))
		if best.DollarsPerMillion > 0 {
			text += fmt.Sprintf(" for $%s per million output tokens", number.Plain(best.DollarsPerMillion, 3))
		}
		others = append(others, text)
	}
	return sentences(launch(c), throughputText(c), Holds(&c.Record), costs(&c.Record), strings.Join(others, "; ")+".")
}

func launch(c *advice.Candidate) string {
	d := &c.Deployment
	mode := ""
	if d.Split() {
		mode = ", disaggregated"
	}
	verb := "Launch"
	if c.Engine() == nil {
		verb = "Best is" // nothing launches it
	}
	spare := ""
	if c.Spare > 0 {
		spare = fmt.Sprintf("; %s stay spare", number.Count(c.Spare, "GPU"))
	}
	return fmt.Sprintf("%s %s on %s%s: %s%s.", verb, engineName(d), gpusText(d), mode, pools(d), spare)
}

func throughputText(c *advice.Candidate) string {
	r := &c.Record
	if q := r.Capacity; q != nil {
		return fmt.Sprintf("It holds %s requests/s with %.0f%% room for more.", number.Rate(q.Rate), 100*q.Headroom)
	}
	out := fmt.Sprintf("It gives %s, %s requests/s; %s.", PerGPU(r), number.Rate(r.Requests), clientsSentence(r))
	if b := boundText(r); b != "" {
		out = join(out, b+".", clockText(r.Sides[op.Decode], "decode step"))
	}
	return out
}

// PerGPU is the output tokens per second and GPU with their band.
func PerGPU(r *result.Record) string {
	v, _ := result.In("tokens_per_processor", "")(r).(float64)
	out := number.Rate(v) + " tokens/s per GPU"
	if band := r.ThroughputBand(); band > 0 {
		out = number.Rate(v) + " " + number.Band(band) + " tokens/s per GPU"
	}
	return out
}
