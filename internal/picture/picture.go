// Package picture makes descriptions of charts from results: one function for each kind of chart of a command. What is
// computed about a result is in it before; package chart draws.
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

// Names of kinds.
func Names[T any](kinds []Kind[T]) (out []string) {
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

// Find is the kind of a name.
func Find[T any](kinds []Kind[T], name string) (Kind[T], bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind[T]{}, false
}

// look is how something is painted wherever it appears.
type look struct {
	paint chart.Paint
	hatch bool
	name  string
}

func (l look) key() chart.Key {
	return chart.Key{Paint: l.paint, Form: chart.Box, Hatch: l.hatch, Text: l.name}
}

// Parts of a step.
var (
	attentionLook = look{chart.C1, false, "attention"}
	mlpLook       = look{chart.C7, false, "MLP"}
	expertsLook   = look{chart.C7, false, "MLP and experts"}
	draftLook     = look{chart.C3, false, "draft module"}
	endsLook      = look{chart.C5, false, "embedding, output head"}
	networkLook   = look{chart.C4, true, "communication"}
	waitingLook   = look{chart.C8, true, "waiting"}
	offloadLook   = look{chart.C6, true, "second memory tier"}
	computeLook   = look{chart.C2, false, "compute-bound"}
	memoryLook    = look{chart.C6, false, "memory-bound"}
)

// partLook is how an operator of a part on a lane is painted.
func partLook(part, lane string, experts bool) look {
	switch {
	case strings.HasPrefix(lane, "network") || lane == "handover":
		return networkLook
	case lane == "waiting":
		return waitingLook
	case lane == "second tier":
		return offloadLook
	}
	switch part {
	case "attention":
		return attentionLook
	case "draft":
		return draftLook
	case "ends":
		return endsLook
	case "pipeline":
		return networkLook
	case "memory":
		return offloadLook
	}
	if experts {
		return expertsLook
	}
	return mlpLook
}

// legend are the keys of looks, each once, in the order in which they are first met.
type legend struct {
	keys []chart.Key
	seen map[string]bool
}

func (l *legend) meet(k look) look {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if !l.seen[k.name] {
		l.seen[k.name] = true
		l.keys = append(l.keys, k.key())
	}
	return k
}

// duration is a time in µs for people.
func duration(us float64) string {
	switch a := math.Abs(us); {
	case a >= 1e6:
		return number.Plain(us/1e6, 3) + " s"
	case a >= 1e3:
		return number.Plain(us/1e3, 3) + " ms"
	}
	return number.Plain(us, 3) + " µs"
}

// timeUnit is the unit in which a time of so many µs is a number of few digits.
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
