package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/model"
)

// Tiles are the shapes of experts that kernels come with tuned tiles for; all other shapes run with
// default ones.
type Tiles struct {
	// Generations are the chips whose experts run in these kernels.
	Generations []string `json:"generations" required:"true"`
	// Elsewhere is the widest slice of experts with scales of blocks that does: wider ones run in
	// other kernels. 0: all do.
	Elsewhere int         `json:"elsewhere"`
	Tables    []TileTable `json:"tables" required:"true"`
	Source    string      `json:"source" required:"true" nonempty:"true"`

	of map[tuned]string // the version since which there are tiles; empty: all
}

// TileTable is the shapes of a chip and a number format: experts of a processor x their width.
type TileTable struct {
	Chip   string `json:"chip" required:"true"`
	Format string `json:"format" required:"true" enum:"bf16,fp8,fp8_block"`
	Since  string `json:"since"` // a version; empty: all known ones
	Shapes string `json:"shapes" required:"true"`
}

// tuned is what tiles are tuned for.
type tuned struct {
	chip, format   string
	experts, width int
}

// readTiles reads those of an engine; none: its kernels choose tiles by themselves.
func readTiles(name string) *Tiles {
	file := path.Join("data/tiles", name+".json")
	if !exists(file) {
		return nil
	}
	t := &Tiles{of: map[tuned]string{}}
	read(file, t)
	for _, table := range t.Tables {
		for shape := range strings.FieldsSeq(table.Shapes) {
			of := tuned{chip: table.Chip, format: table.Format}
			if n, err := fmt.Sscanf(shape, "%dx%d", &of.experts, &of.width); n != 2 || err != nil {
				panic(fmt.Sprintf("%s: %q is no shape of experts", file, shape))
			}
			t.of[of] = table.Since
		}
	}
	return t
}

// untuned reports whether the experts of a server run with default tiles.
func (e *Engine) untuned(u *unit, sys *hardware.System) bool {
	t := e.Tiles
	if t == nil || !u.moe || sys == nil || !slices.Contains(t.Generations, sys.Generation) {
		return false
	}
	m := &u.Shape.Experts
	of := tuned{chip: sys.Name, format: u.expertFormat(), width: m.Width / u.etp}
	if of.format == "" || of.format == "fp8_block" && t.Elsewhere > 0 && of.width > t.Elsewhere {
		return false
	}
	for _, shared := range [...]int{0, m.Shared} { // among the routed ones
		of.experts = m.Routed/u.ep + shared
		if since, ok := t.of[of]; ok && e.has(since) {
			return false
		}
	}
	return true
}

func (e *Engine) has(since string) bool {
	return since == "" || e.version == "" || slices.Compare(numbers(e.version), numbers(since)) >= 0
}

// expertFormat is that of kernels that multiply routed experts as they are stored; empty: another.
func (u *unit) expertFormat() string {
	f := u.Precision.Of(model.ExpertModule)
	switch {
	case f.Weight == 2:
		return "bf16"
	case f.Weight == 1 && f.Type == "float8":
		return "fp8"
	case f.Weight > 1 && f.Weight < 2 && f.Type == "float8":
		return "fp8_block"
	}
	return ""
}
