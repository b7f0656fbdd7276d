package calibrate

import (
	"fmt"
	"maps"
	"slices"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Kernels of an engine, for small messages, have a model of their own.
var collectives = subject{
	key: func(r *measurement.Row) string {
		if k := r.Label("kernel"); k != "" && k != "NCCL" {
			return r.Kind.Key() + kernel.Custom
		}
		return r.Kind.Key()
	},
	shape: messageShape,
	fit:   func(rows []measurement.Row, p Peak) (kernel.Model, Validation) { return Collective(rows, p.Bandwidth) },
}

func messageShape(r *measurement.Row) kernel.Shape {
	return kernel.Shape{Group: int32(r.Get("group")), Moved: r.Get("n")}
}

// leastShare of the bytes crosses a processor's link in groups of two: an all-reduce performed by
// the network itself sends and receives every byte once.
const leastShare = 0.5

// Of collectiveSettings every table chooses the one with the least error on held-out shapes.
var collectiveSettings = []setting{{1, 0.0003, 0.1}, {1, 0.001, 0.03}, {1, 0.0003, 0.01}}

func Collective(rows []measurement.Row, bandwidth float64) (*kernel.CollectiveModel, Validation) {
	c := &kernel.CollectiveModel{Share: leastShare}
	var data []sample
	groups := map[float64]bool{}
	for i := range rows {
		r := &rows[i]
		s := messageShape(r)
		groups[float64(s.Group)] = true
		data = append(data, sample{
			part: part{m: c.Point(&s), c: anywhere}, seconds: r.Seconds, size: s.Moved, group: fmt.Sprint(s.Moved),
			series: fmt.Sprint(s.Group),
		})
	}
	sizes := slices.Sorted(maps.Keys(groups))
	f := form{
		compute: side{axes: [][]float64{{1}}},
		memory: side{work: over(c.Work(), bandwidth), free: 1,
			axes: trim(data, onMemory, sizes, nodes(1<<8, 1<<34, 4))},
	}
	s, v := f.choose(data, collectiveSettings)
	c.Latency, c.Memory = s.latency, s.memory
	return c, v
}
