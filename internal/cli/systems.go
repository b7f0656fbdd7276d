package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/number"
)

func newSystems(s Streams) *cobra.Command {
	var asJSON bool
	var view viewOptions
	cmd := &cobra.Command{
		Use:   "systems",
		Short: "List the built-in systems, show one",
		Long: `Systems lists the built-in systems. The columns:

  matrix T/s  peak matrix rate by number type
  GiB, GB/s   capacity and bandwidth of the memory of one processor
  scale-up    innermost network: processors in a group × bandwidth of each
  scale-out   outermost network
  kernels     the chip whose measured kernels are used, at the peaks of this one; empty: a
              plain roofline`,
		Example: `  throughline systems
  throughline systems show H800_IB
  throughline systems show H800_IB --json > my_chip.json`,
		Args: subcommandOf(hardware.Catalogue),
		RunE: func(*cobra.Command, []string) error { return listSystems(s, view, asJSON) },
	}
	addOutputs(cmd, "systems", map[string]any{"json": &asJSON, "wide": &view.wide})
	cmd.AddCommand(newSystemsShow(s))
	return cmd
}

// systemLine is an element of the list as JSON.
type systemLine struct {
	Name     string             `json:"name"`
	Type     string             `json:"type,omitempty"`
	Matrix   map[string]float64 `json:"matrix_tflops"`
	GiB      float64            `json:"memory_GiB"`
	GBps     float64            `json:"memory_GBps"`
	Networks []networkLine      `json:"networks"`
	Kernels  string             `json:"kernels,omitempty"`
}

type networkLine struct {
	Size     int     `json:"size"`
	GBps     float64 `json:"GBps"`
	Topology string  `json:"topology"`
}

func (n networkLine) String() string {
	return fmt.Sprintf("%d × %s GB/s %s", n.Size, number.Plain(n.GBps, 6), n.Topology)
}

func systemLineOf(name string, sys *hardware.System) systemLine {
	l := systemLine{Name: name, Type: sys.Type, Matrix: map[string]float64{}, GiB: sys.Memory.GiB, GBps: sys.Memory.GBps, Kernels: sys.MeasuredAs()}
	for t, e := range sys.Matrix {
		l.Matrix[t] = e.TFlops
	}
	for i := range sys.Networks {
		n := &sys.Networks[i]
		l.Networks = append(l.Networks, networkLine{n.Size, n.Bandwidth, n.Topology})
	}
	return l
}

func listSystems(s Streams, view viewOptions, asJSON bool) error {
	var lines []systemLine
	for _, name := range hardware.Catalogue.Names() {
		src, _ := hardware.Catalogue.Find(name)
		sys, doc := hardware.Read(name, src)
		if err := doc.Err(); err != nil {
			return err
		}
		lines = append(lines, systemLineOf(name, sys))
	}
	if asJSON {
		return printJSON(s.data, lines)
	}
	t := report.Grid{Columns: []report.Column{
		{Title: "system"}, {Title: "type", Rank: 4}, {Title: "matrix T/s", Rank: 3}, {Title: "GiB", Right: true}, {Title: "GB/s", Right: true},
		{Title: "scale-up", Rank: 1}, {Title: "scale-out", Rank: 2}, {Title: "kernels", Rank: 1},
	}}
	for _, l := range lines {
		outer := ""
		if n := len(l.Networks); n > 1 {
			outer = l.Networks[n-1].String()
		}
		t.Row(l.Name, l.Type, peaks(l.Matrix), number.Plain(l.GiB, 6), number.Plain(l.GBps, 6), l.Networks[0].String(), outer, l.Kernels)
	}
	return write(s.Out, t.Render(view.of(s))+"\n")
}

// peaks lists rates by number type, the narrow types first.
func peaks(rates map[string]float64) string {
	var parts []string
	for _, t := range hardware.NumberTypes {
		if rate, ok := rates[t.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s %s", t.Name, number.Plain(rate, 6)))
		}
	}
	return strings.Join(parts, ", ")
}

// kernelLines are where kernels were measured, and how far off their models are.
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

func newSystemsShow(s Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show a built-in system or a system file",
		Example: `  throughline systems show H800_IB
  throughline systems show H800_IB --json > my_chip.json`,
		Args:              oneArgument("the name of a built-in system or a file"),
		ValidArgsFunction: completeNames(hardware.Catalogue),
		RunE:              func(_ *cobra.Command, args []string) error { return showSystem(s, args[0], asJSON) },
	}
	addOutputs(cmd, "systems show", map[string]any{"json": &asJSON})
	return cmd
}

// readSystem reads the system that a flag names, and shows its warnings.
func readSystem(s Streams, ref string) (sys *hardware.System, src []byte, err error) {
	f, err := question.Find("system", ref, hardware.Catalogue, "")
	if err != nil {
		return nil, nil, err
	}
	sys, doc := hardware.Read(f.Name, f.Source)
	warn(s, doc.Warnings())
	return sys, f.Source, doc.Err()
}

func showSystem(s Streams, ref string, asJSON bool) error {
	file, err := findFile(ref, hardware.Catalogue)
	if err != nil {
		return err
	}
	sys, doc := hardware.Read(file.Name, file.Source)
	warn(s, doc.Warnings())
	if err := doc.Err(); err != nil {
		return err
	}
	if asJSON {
		return write(s.data, string(file.Source))
	}
	l := systemLineOf(sys.Name, sys)
	p := pairs{view: report.View{Width: s.Width}}
	if sys.Type != "" {
		p.add("type", "%s", sys.Type)
	}
	p.add("matrix T/s", "%s", strings.ReplaceAll(peaks(l.Matrix), ", ", "\n"))
	vector := map[string]float64{}
	for t, e := range sys.Vector {
		vector[t] = e.TFlops
	}
	p.add("vector T/s", "%s", strings.ReplaceAll(peaks(vector), ", ", "\n"))
	p.add("memory", "%s GiB, %s GB/s", number.Plain(l.GiB, 6), number.Plain(l.GBps, 6))
	if m := sys.Memory2; m != nil {
		p.add("second memory", "%s GiB, %s GB/s", number.Plain(m.GiB, 6), number.Plain(m.GBps, 6))
	}
	for i, n := range l.Networks {
		label := ""
		if i == 0 {
			label = "networks"
		}
		p.add(label, "%s, %s µs", n, number.Plain(1e6*sys.Networks[i].Latency, 3))
	}
	p.add("processors per card", "%d", sys.ProcsPerNPU)
	if k := sys.Kernels; k != nil {
		p.add("kernels", "%s", kernelLines(k))
	}
	p.add("overlap", "%g of collectives", sys.CollectiveOverlap)
	var f hardware.File
	document.Parse(file.Name, file.Source).Decode(&f)
	p.add("sources", "%s", sourceLines(f.Sources))
	hint := fmt.Sprintf("To change it: throughline systems show %s --json > my_chip.json\n", quoteArgument(ref))
	return write(s.Out, sys.Name+"\n"+p.String()+hint)
}
