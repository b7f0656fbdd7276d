// Package picture describes charts of results, one function for each kind of chart; package chart
// draws them.
package picture

import (
	"fmt"
	"math"
	"strings"

	"throughline/internal/chart"
	"throughline/number"
)

// Kind is a chart that a command has.
type Kind[T any] struct {
	Name string
	Doc  string
	Draw func(of T) (*chart.Chart, error)
}

func Names[T any](kinds []Kind[T]) (out []string) {
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

func Find[T any](kinds []Kind[T], name string) (Kind[T], bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind[T]{}, false
}

// style is the paint and name of something in every chart.
type style struct {
	paint chart.Paint
	hatch bool
	name  string
}

func (l style) key() chart.Key {
	return chart.Key{Paint: l.paint, Form: chart.Box, Hatch: l.hatch, Text: l.name}
}

// Parts of a step.
var (
	attentionStyle = style{chart.C1, false, "attention"}
	mlpStyle       = style{chart.C7, false, "MLP"}
	expertsStyle   = style{chart.C7, false, "MLP and experts"}
	draftStyle     = style{chart.C3, false, "draft module"}
	endsStyle      = style{chart.C8, false, "embedding, output head"}
	networkStyle   = style{chart.C4, true, "communication"}
	waitingStyle   = style{chart.Muted, true, "waiting"}
	offloadStyle   = style{chart.C6, true, "second memory tier"}
	computeStyle   = style{chart.C2, false, "compute-bound"}
	memoryStyle    = style{chart.C6, false, "memory-bound"}
)

// partStyle returns the look of an operator of a part on a lane.
func partStyle(part, lane string, experts bool) style {
	switch {
	case strings.HasPrefix(lane, "network") || lane == "handover":
		return networkStyle
	case lane == "waiting":
		return waitingStyle
	case lane == "second tier":
		return offloadStyle
	}
	switch part {
	case "attention":
		return attentionStyle
	case "draft":
		return draftStyle
	case "ends":
		return endsStyle
	case "pipeline":
		return networkStyle
	case "memory":
		return offloadStyle
	}
	if experts {
		return expertsStyle
	}
	return mlpStyle
}

// legend collects the keys of looks, each once, in order of appearance.
type legend struct {
	keys []chart.Key
	seen map[string]bool
}

func (l *legend) add(k style) style {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if !l.seen[k.name] {
		l.seen[k.name] = true
		l.keys = append(l.keys, k.key())
	}
	return k
}

// millis is what a tick of an axis in ms says: 30 s, and not 30k.
func millis(ms float64) string {
	if ms == 0 {
		return "0"
	}
	return number.Time(ms/1e3, 3)
}

// duration formats a time in µs for people.
func duration(us float64) string {
	switch a := math.Abs(us); {
	case a >= 1e6:
		return number.Plain(us/1e6, 3) + " s"
	case a >= 1e3:
		return number.Plain(us/1e3, 3) + " ms"
	}
	return number.Plain(us, 3) + " µs"
}

// timeUnit returns the unit in which a time in µs has few digits.
func timeUnit(us float64) (name string, size float64) {
	switch {
	case us >= 2e6:
		return "s", 1e6
	case us >= 2e3:
		return "ms", 1e3
	}
	return "µs", 1
}

func percent(share float64) string {
	if share > 0 && share < 0.0005 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}
