package calibrate

import (
	"fmt"
	"slices"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// exchangeUnits is the multiprocessors given to throughput kernels: DeepEP's default, and the only
// number in all tables. Going from 20 to 24 takes 16384 tokens of DeepSeek-V3 from 1.96 to 1.94 ms
// on 8 Hoppers, but from 1.53 to 1.29 ms on 4 GB200, whose links are twice as fast.
const exchangeUnits = 20

// mostNodes is the most nodes for which tables of throughput kernels are used. Over 8 nodes, 4096
// tokens take 5.5 and 4.5 ms, plus 1.0 and 8.0 ms to notify: ranks waiting for each other, as over
// 4 nodes notifying takes 0.1 ms. DeepEP's authors measured 51 and 50 GB/s, 2.1 and 4.2 ms in all
// (DeepEP, docs/legacy.md), which is what extrapolating from 4 nodes gives.
//
// Chosen: figures of DeepEP over 8 nodes; 2026-11-15.
const mostNodes = 4

// exchange is the exchange of one kind, given what it sends.
func exchange(model kernel.ExchangeModel) subject {
	return subject{
		sort: func(r *measurement.Row, c *class) bool {
			c.nodes, _ = r.Dim("nodes")
			n, ok := r.Dim("sms")
			return !ok || n == exchangeUnits && c.nodes <= mostNodes
		},
		shape: exchangeShape,
		fit: func(rows []measurement.Row, p Peak) (kernel.Model, Validation) {
			l, v := Exchange(rows, &model, p.Bandwidth)
			e := model
			e.Levels = []kernel.ExchangeLevel{*l}
			return &e, v
		},
		join: joinLevels,
	}
}

func exchangeShape(r *measurement.Row) kernel.Shape {
	return kernel.Shape{M: r.Get("tokens"), N: r.Get("topk"), K: r.Get("hidden"), Experts: int32(r.Get("experts")),
		Group: int32(r.Get("ranks")), Nodes: int16(r.Get("nodes"))}
}

// Exchange fits one kind of exchange over one number of nodes. It holds out whole combinations of
// hidden, experts per token and experts or, if there is only one, whole token counts.
func Exchange(rows []measurement.Row, e *kernel.ExchangeModel, bandwidth float64) (*kernel.ExchangeLevel, Validation) {
	l := &kernel.ExchangeLevel{Nodes: rows[0].Get("nodes")}
	shapes := map[string]bool{}
	data := make([]sample, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		s := exchangeShape(r)
		at := e.Point(&s)
		shape := fmt.Sprint(s.K, "×", s.N, "×", s.Experts)
		shapes[shape] = true
		data = append(data, sample{
			part: part{m: at, c: anywhere}, seconds: r.Seconds, size: at.Y * at.Z, group: shape, series: shape,
		})
	}
	if len(shapes) == 1 {
		for i := range data {
			data[i].group = fmt.Sprint(rows[i].Get("tokens"))
		}
	}
	spreads := []float64{0.75, 1.5, 3, 6}
	if e.Direct {
		spreads = []float64{8, 16, 128, 256, 512}
	}
	f := form{
		setting: exchangeSetting,
		compute: side{axes: [][]float64{{1}}},
		memory: side{work: over(l.Work(), bandwidth), free: 1,
			axes: trim(data, onMemory, spreads, nodes(1, 1<<22, 4), nodes(2048, 1<<14, 2))},
	}
	s, v := f.validate(data)
	l.Latency, l.Memory = s.latency, s.memory
	return l, v
}

// exchangeSetting was chosen by the error on held-out shapes.
var exchangeSetting = setting{1, 0.001, 0.001}

// joinLevels adds levels to an exchange, unless that has one for as many nodes.
func joinLevels(to, from kernel.Model) {
	e := to.(*kernel.ExchangeModel)
	for _, l := range from.(*kernel.ExchangeModel).Levels {
		i, found := slices.BinarySearchFunc(e.Levels, l.Nodes, func(a kernel.ExchangeLevel, n float64) int {
			return int(a.Nodes - n)
		})
		if !found {
			e.Levels = slices.Insert(e.Levels, i, l)
		}
	}
}
