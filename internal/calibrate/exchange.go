package calibrate

import (
	"fmt"
	"slices"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// exchangeUnits is how many multiprocessors kernels for throughput were given: what DeepEP takes unless told otherwise,
// and the only number that all tables have. On a Hopper more are hardly faster: 16384 tokens of DeepSeek-V3 reach 8 of them in 1.96 ms
// from 20 and in 1.94 from 24. On a Blackwell, whose links are twice as fast, they are: 1.53 ms from 20 and 1.29 from 24 on 4 GB200.
const exchangeUnits = 20

// mostNodes is up to how many nodes the tables of kernels for throughput are taken. Over 8 nodes 4096 tokens take 5.5 and 4.5 ms
// there, and 1.0 and 8.0 ms more to notify the others: what the ranks waited for each other, as the same kernel over 4
// nodes notifies in 0.1 ms. Those who wrote the kernels measured 51 and 50 GB/s there, 2.1 and 4.2 ms in all
// (DeepEP, docs/legacy.md), which is what the level of 4 nodes gives when it counts on with the copies.
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

// Exchange fits the exchange of tokens and experts over one number of nodes: rows of one of its kinds. Whole
// (hidden, experts per token, experts) are held out or, where there is one only, whole numbers of tokens.
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
			part: part{m: at, c: anywhere}, seconds: r.Seconds, size: at.Y * at.Z, group: shape, series: shape, place: r.Place(),
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
