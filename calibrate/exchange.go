package calibrate

import (
	"fmt"
	"slices"

	"throughline/kernel"
	"throughline/measurement"
)

// exchangeUnits is how many multiprocessors kernels for throughput were given: what DeepEP takes unless told otherwise,
// and the only number that all tables have. More would be a little faster, at the cost of the computation beside it.
const exchangeUnits = 20

// exchanges are the kinds of exchanges: the key of their model and what it sends.
var exchanges = map[measurement.Kind]struct {
	class, key string
	model      kernel.ExchangeModel
}{
	measurement.Dispatch: {"dispatch", "dispatch_normal", kernel.ExchangeModel{Element: 1 + 4./128}},
	measurement.Combine:  {"combine", "combine_normal", kernel.ExchangeModel{Element: 2}},
	measurement.LowLatencyDispatch: {"low-latency dispatch", "dispatch_low_latency",
		kernel.ExchangeModel{Element: 1 + 4./128, Header: 16, Direct: true}},
	measurement.LowLatencyCombine: {"low-latency combine", "combine_low_latency", kernel.ExchangeModel{Element: 2, Direct: true}},
}

// Exchange fits the exchange of tokens and experts over one number of nodes: rows of one of its kinds. Whole
// (hidden, experts per token, experts) are held out or, where there is one only, whole numbers of tokens.
func Exchange(rows []measurement.Row, bandwidth float64) (*kernel.ExchangeLevel, Validation) {
	e := exchanges[rows[0].Kind].model
	l := &kernel.ExchangeLevel{Nodes: rows[0].Get("nodes")}
	shapes := map[string]bool{}
	data := make([]sample, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		tokens, topk, experts, hidden := r.Get("tokens"), r.Get("topk"), r.Get("experts"), r.Get("hidden")
		spread, copies, width := e.Point(tokens, topk, experts, hidden, r.Get("ranks"), r.Get("nodes"))
		shape := fmt.Sprint(hidden, "×", topk, "×", experts)
		shapes[shape] = true
		data = append(data, sample{
			part:    part{m: [3]float64{spread, copies, width}, c: [3]float64{1, 1, 1}},
			seconds: r.Seconds, size: copies * width, group: shape, series: shape, place: r.Place(),
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

// addExchange adds a level to the exchange of its kind, unless that has one for as many nodes.
func addExchange(set *kernel.Set, kind measurement.Kind, l *kernel.ExchangeLevel) {
	k := exchanges[kind]
	if set.Exchange[k.key] == nil {
		e := k.model
		if set.Exchange == nil {
			set.Exchange = map[string]*kernel.ExchangeModel{}
		}
		set.Exchange[k.key] = &e
	}
	e := set.Exchange[k.key]
	i, found := slices.BinarySearchFunc(e.Levels, l.Nodes, func(a kernel.ExchangeLevel, n float64) int {
		return int(a.Nodes - n)
	})
	if !found {
		e.Levels = slices.Insert(e.Levels, i, *l)
	}
}
