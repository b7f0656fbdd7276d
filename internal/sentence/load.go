package sentence

import (
	"fmt"
	"math"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/internal/result"
	"throughline/number"
	"throughline/serving"
	"throughline/serving/simulate"
	"throughline/workload"
)

// Loaded is requests that were sent: through a simulated deployment, or to a server.
type Loaded struct {
	Deployment *deploy.Deployment  // nil: a server
	Trusted    *serving.Confidence // in the simulated times; nil: measured, or unknown
	Seen       *simulate.Seen
	Run        *simulate.Result                                  // what was simulated; nil: a server
	Price      func(*hardware.System) (float64, *hardware.Price) // of a processor; nil: its own
}

// Verdicts are the limits of a run, each beside what its requests saw.
func (l *Loaded) Verdicts() []result.Verdict {
	var out []result.Verdict
	add := func(name string, limit workload.Limit, d *simulate.Distribution) {
		if limit.Seconds == 0 || d.Weight == 0 {
			return
		}
		v := result.Verdict{Figure: name, Limit: limit, Value: simulate.Figure(&limit, d)}
		if l.Trusted != nil {
			v.Band = map[string]float64{"TTFT": l.Trusted.TTFT.Band, "TPOT": l.Trusted.TPOT.Band}[name]
		}
		out = append(out, v)
	}
	add("TTFT", l.Seen.Terms.TTFT, &l.Seen.Summary.TTFT)
	add("TPOT", l.Seen.Terms.TPOT, &l.Seen.Summary.TPOT)
	return out
}

// Load says which requests were served, what their clients saw, whether limits hold, what binds and
// what it takes.
func Load(l *Loaded) []string {
	s := l.Seen
	who := "The server"
	if l.Deployment != nil {
		who = fmt.Sprintf("%s on %s", capitalized(engineName(l.Deployment)), gpusText(l.Deployment))
	}
	rate := number.Rate(float64(s.Requests) / s.Duration())
	from := fmt.Sprintf("at %s requests/s (%s in this run)", number.Rate(s.Traffic.Rate), rate)
	switch {
	case s.Traffic.Clients > 0:
		from = fmt.Sprintf("from %s, %s requests/s", number.Count(s.Traffic.Clients, "client"), rate)
	case s.Traffic.Trace != nil:
		from = fmt.Sprintf("as the trace sends them, %s requests/s", rate)
	case math.IsInf(s.Traffic.Rate, 1) || s.Traffic.Rate == 0:
		from = fmt.Sprintf("all at once, %s requests/s", rate)
	}
	first := fmt.Sprintf("%s answers %s requests %s: p99 TTFT is %s", who, number.Grouped(int(s.Requests)), from, l.figure(&s.Summary.TTFT, 0))
	if s.Summary.TPOT.Weight > 0 {
		first += ", p99 TPOT " + l.figure(&s.Summary.TPOT, 1)
	}
	return sentences(first+".", l.verdict(), l.binds())
}

// binds says what requests wait for, and what a token takes; empty of a server.
func (l *Loaded) binds() string {
	if l.Run == nil {
		return ""
	}
	text := "What binds: " + l.Run.Bottleneck() + "."
	var takes []string
	if dollars, _ := l.Cost(); dollars > 0 {
		takes = append(takes, fmt.Sprintf("$%s per million output tokens", number.Plain(dollars, 3)))
	}
	if l.Run.Energy != nil {
		takes = append(takes, fmt.Sprintf("%s J per output token at %.0f W per GPU", number.Plain(l.Run.Joules()/float64(max(1, l.Run.Output)), 3), l.Run.WattsPerProcessor()))
	}
	if len(takes) > 0 {
		text += " It takes " + list(takes) + "."
	}
	return text
}

// Cost is the dollars of a million output tokens of a simulated run, at the prices given or
// stated by systems, and these in words; 0: one is not known.
func (l *Loaded) Cost() (dollars float64, listed []string) {
	if l.Run == nil || l.Deployment == nil || l.Run.Output == 0 {
		return 0, nil
	}
	price := l.Price
	if price == nil {
		price = (*hardware.System).OwnPrice
	}
	hourly, listed := result.Hourly(l.Deployment, price)
	return hourly / 3600 * l.Run.Duration() / float64(l.Run.Output) * 1e6, listed
}

// figure is the 99th percentile with the band of the prediction: of TTFT, or of TPOT.
func (l *Loaded) figure(d *simulate.Distribution, which int) string {
	band := 0.0
	if l.Trusted != nil {
		band = [2]float64{l.Trusted.TTFT.Band, l.Trusted.TPOT.Band}[which]
	}
	return number.Banded(d.Quantile(0.99), band)
}

// verdict says of each limit whether it holds, and whether the load is too much.
func (l *Loaded) verdict() string {
	var lines []string
	chance := 1.0
	for _, v := range l.Verdicts() {
		lines = append(lines, v.String())
		chance *= v.Chance()
	}
	out := list(lines)
	if l.Trusted != nil && len(lines) > 0 && !l.Seen.Saturated() {
		out += chanceText(chance, len(lines))
	}
	switch growing := l.Seen.Growth(); {
	case l.Seen.Saturated() && out != "":
		return out + "; ✗ " + growing[0] + "."
	case l.Seen.Saturated():
		return "✗ " + capitalized(growing[0]) + "."
	case out != "":
		return out + "."
	}
	return ""
}
