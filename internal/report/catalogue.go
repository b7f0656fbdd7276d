package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/table"
	"throughline/model"
	"throughline/number"
)

// listed is a built-in model or system with its name.
type listed[T any] struct {
	name string
	of   T
}

type listedModel = listed[*model.Model]

func Models() (*table.Table[listedModel], error) {
	t := &table.Table[listedModel]{Columns: modelColumns}
	for _, name := range model.Catalogue.Names() {
		src, _ := model.Catalogue.Find(name)
		m, _, doc := model.Read(name, src)
		if err := doc.Err(); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, listedModel{name, m})
	}
	return t, nil
}

var modelColumns = []table.Column[listedModel]{
	{Name: "name", Title: "model", Value: func(l listedModel) any { return l.name }},
	{Name: "layers", Kind: table.Count, Rank: 4, Value: func(l listedModel) any { return l.of.Layers }},
	{Name: "hidden", Kind: table.Count, Rank: 4, Value: func(l listedModel) any { return l.of.Hidden }},
	{Name: "attention", Rank: 3, Value: func(l listedModel) any { return l.of.DescribeAttention() },
		Cell: func(l listedModel) string { return strings.ReplaceAll(l.of.DescribeAttention(), ", ", "\n") }},
	{Name: "experts", Rank: 2, Omit: true, Value: func(l listedModel) any { return textOrNil(l.of.DescribeExperts()) }},
	{Name: "parameters", Title: "total", Kind: table.Number, Value: func(l listedModel) any { total, _ := l.of.Params(); return total },
		Cell: func(l listedModel) string { total, _ := l.of.Params(); return billions(total) }},
	{Name: "active_parameters", Title: "active", Kind: table.Number, Value: func(l listedModel) any { _, active := l.of.Params(); return active },
		Cell: func(l listedModel) string { _, active := l.of.Params(); return billions(active) }},
	{Name: "kv_elements_per_token", Title: "KV/token", Kind: table.Number, Rank: 1, Format: "%.0f", Value: func(l listedModel) any { return l.of.CacheGrowth(1) }},
}

// textOrNil maps an empty text to nil.
func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// billions formats a parameter count.
func billions(n float64) string {
	switch {
	case n < 999.5e6:
		return fmt.Sprintf("%.0f M", n/1e6)
	case n < 1e11:
		return fmt.Sprintf("%.1f B", n/1e9)
	}
	return fmt.Sprintf("%.0f B", n/1e9)
}

func Model(v table.View, loaded *model.Loaded) string {
	m, f := loaded.Model, &loaded.File
	total, active := m.Params()
	p := pairs{view: v}
	p.add("layers", "%d", m.Layers)
	if m.FirstDense > 0 {
		p.add("", "%d at the start without experts", m.FirstDense)
	}
	if m.IsMoE() && m.Experts.Interval > 1 {
		p.add("", "one of %d with experts", m.Experts.Interval)
	}
	if m.MixerOnly > 0 {
		p.add("", "%d without a feed-forward block", m.MixerOnly)
	}
	p.add("hidden", "%d", m.Hidden)
	p.add("attention", "%s", strings.ReplaceAll(m.DescribeAttention(), ", ", "\n"))
	if m.FeedForward > 0 {
		p.add("dense width", "%d", m.FeedForward)
	}
	if e := &m.Experts; m.IsMoE() {
		p.add("experts", "%s", m.DescribeExperts())
		p.add("expert width", "%d", e.Width)
		if e.SharedWidth > 0 {
			p.add("shared expert width", "%d", e.SharedWidth)
		}
		if e.Hidden > 0 {
			p.add("expert input", "%d, projected down", e.Hidden)
		}
	}
	if m.DraftLayers > 0 {
		p.add("draft layers", "%d", m.DraftLayers)
	}
	vocabulary := fmt.Sprint(m.Vocab)
	if m.Tied {
		vocabulary += ", embedding and output head are one"
	}
	p.add("vocabulary", "%s", vocabulary)
	p.add("parameters", "%s, of which a token uses %s (embedding %s)", billions(total), billions(active), billions(m.EmbeddingParams()))
	p.add("KV cache", "%.0f bytes per token at 1 byte per element", m.CacheGrowth(1))
	for _, tokens := range []float64{8 << 10, 128 << 10} {
		p.add("", "%s GB for %.0fK tokens", number.Plain(m.CacheBytes(1, tokens, 1)/1e9, 3), tokens/1024)
	}
	p.add("published weights", "%s: %s GB", m.DescribeFormats(), number.Plain(m.Published()/1e9, 4))
	p.add("sources", "%s", sourceLines(f.Sources))
	return m.Name + "\n" + p.String()
}

// pairs are lines of a label and a text.
type pairs struct {
	view table.View
	b    strings.Builder
}

func (p *pairs) add(label, format string, args ...any) {
	const width = 20
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		p.b.WriteString(p.view.WrapUnder(fmt.Sprintf("  %-*s", width, label), line) + "\n")
		label = ""
	}
}

func (p *pairs) String() string { return p.b.String() }

// sourceLines formats the sources of a file, one per line.
func sourceLines(sources map[string]string) string {
	if len(sources) == 0 {
		return "none given"
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(sources)) {
		lines = append(lines, key+": "+sources[key])
	}
	return strings.Join(lines, "\n")
}

func Systems() (*table.Table[listedSystem], error) {
	t := &table.Table[listedSystem]{Columns: systemColumns}
	for _, name := range hardware.Catalogue.Names() {
		src, _ := hardware.Catalogue.Find(name)
		sys, doc := hardware.Read(name, src)
		if err := doc.Err(); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, listedSystem{name, sys})
	}
	return t, nil
}

type listedSystem = listed[*hardware.System]

var systemColumns = []table.Column[listedSystem]{
	{Name: "name", Title: "system", Value: func(l listedSystem) any { return l.name }},
	{Name: "type", Rank: 4, Omit: true, Value: func(l listedSystem) any { return textOrNil(l.of.Type) }, Cell: func(l listedSystem) string { return kindOf(l.of.Type) }},
	{Name: "matrix_tflops", Title: "matrix T/s", Rank: 3, Value: func(l listedSystem) any { return matrixRates(l.of) }, Cell: func(l listedSystem) string { return peaks(matrixRates(l.of)) }},
	{Name: "memory_GiB", Title: "GiB", Kind: table.Number, Value: func(l listedSystem) any { return l.of.Memory.GiB }},
	{Name: "memory_GBps", Title: "GB/s", Kind: table.Number, Value: func(l listedSystem) any { return l.of.Memory.GBps }},
	{Name: "networks", Files: true, Value: func(l listedSystem) any { return networks(l.of) }},
	{Title: "network 0", Rank: 1, Cell: func(l listedSystem) string { return networks(l.of)[0].String() }},
	{Title: "last network", Rank: 2, Cell: func(l listedSystem) string {
		if all := networks(l.of); len(all) > 1 {
			return all[len(all)-1].String()
		}
		return ""
	}},
	{Name: "kernels", Rank: 1, Omit: true, Value: func(l listedSystem) any { return textOrNil(l.of.MeasuredAs()) }},
}

// kindOf is the type of a chip in the words of people; those of files are the reference tool's.
func kindOf(of string) string {
	if of == "npu" {
		return "chip"
	}
	return strings.ToUpper(of)
}

// network is one of a system as a list shows it.
type network struct {
	Size     int     `json:"size"`
	GBps     float64 `json:"GBps"`
	Topology string  `json:"topology"`
}

func (n network) String() string {
	return fmt.Sprintf("%d × %s GB/s %s", n.Size, number.Plain(n.GBps, 6), n.Topology)
}

func networks(sys *hardware.System) (out []network) {
	for i := range sys.Networks {
		n := &sys.Networks[i]
		out = append(out, network{n.Size, n.Bandwidth, n.Topology})
	}
	return out
}

func matrixRates(sys *hardware.System) map[string]float64 {
	out := map[string]float64{}
	for t, e := range sys.Matrix {
		out[t] = e.TFlops
	}
	return out
}

// peaks lists rates by number type, narrowest first.
func peaks(rates map[string]float64) string {
	var parts []string
	for _, t := range hardware.NumberTypes {
		if rate, ok := rates[t.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s %s", t.Name, number.Plain(rate, 6)))
		}
	}
	return strings.Join(parts, ", ")
}

// kernelLines tells where kernels were measured, and the errors of their models.
func kernelLines(k *kernel.Set) string {
	lines := []string{fmt.Sprintf("of the %s: %s", k.System, k.Source)}
	for _, kind := range slices.Sorted(maps.Keys(k.From)) {
		lines = append(lines, fmt.Sprintf("%s of the %s", kind, k.From[kind]))
	}
	var errors []string
	for _, kind := range slices.Sorted(maps.Keys(k.Errors)) {
		errors = append(errors, fmt.Sprintf("%s %.1f%%", kind, 100*k.Errors[kind]))
	}
	return strings.Join(append(lines, "mean errors on shapes not seen: "+strings.Join(errors, ", ")), "\n")
}

func System(v table.View, sys *hardware.System, sources map[string]string) string {
	p := pairs{view: v}
	if sys.Type != "" {
		p.add("type", "%s", kindOf(sys.Type))
	}
	p.add("matrix T/s", "%s", strings.ReplaceAll(peaks(matrixRates(sys)), ", ", "\n"))
	vector := map[string]float64{}
	for t, e := range sys.Vector {
		vector[t] = e.TFlops
	}
	p.add("vector T/s", "%s", strings.ReplaceAll(peaks(vector), ", ", "\n"))
	p.add("memory", "%s GiB, %s GB/s", number.Plain(sys.Memory.GiB, 6), number.Plain(sys.Memory.GBps, 6))
	if m := sys.Memory2; m != nil {
		p.add("second memory", "%s GiB, %s GB/s", number.Plain(m.GiB, 6), number.Plain(m.GBps, 6))
	}
	for i, n := range networks(sys) {
		label := ""
		if i == 0 {
			label = "networks"
		}
		p.add(label, "%s, %s µs", n, number.Plain(1e6*sys.Networks[i].Latency, 3))
	}
	p.add("GPUs of a package", "%d", sys.ProcsPerNPU)
	if k := sys.Kernels; k != nil {
		p.add("kernels", "%s", kernelLines(k))
	}
	p.add("overlap", "%g of collectives", sys.CollectiveOverlap)
	p.add("sources", "%s", sourceLines(sources))
	return sys.Name + "\n" + p.String()
}
