// Package shape holds the exact shapes of kernels that were measured; other shapes are fitted.
package shape

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"throughline/hardware/kernel"
)

// Table is the shapes measured on a chip, by the kernel that was fitted to them: "gemm.bfloat16".
type Table struct {
	Source   string              `json:"source"` // of the kernels: others of the chip were measured with other shapes
	Families map[string][]Family `json:"shapes"`
}

// Family is shapes of which every kind was measured at every size.
type Family struct {
	Kinds [][]float64 `json:"kinds"`
	Sizes [][]float64 `json:"sizes"`
}

// Kind is what is constant while the work of a kernel grows: heads, widths of weights, the group.
type Kind [5]float64

// Size is what grows: tokens, sequences, context, bytes.
type Size [3]float64

// identities split shapes into kind and size, by section.
var identities = map[string]func(*kernel.Shape) (Kind, Size){
	"gemm":               func(s *kernel.Shape) (Kind, Size) { return Kind{s.N * s.Count, s.K}, Size{s.M} },
	"grouped_gemm":       grouped,
	"experts":            grouped,
	"dispatched_experts": grouped,
	"absorb":             grouped,
	"decode":             attention,
	"latent_decode":      attention,
	"prefill":            attention,
	"latent_prefill":     attention,
	"linear_decode":      attention,
	"linear_prefill":     attention,
	"convolution":        moved,
	"elementwise":        moved,
	"collective":         func(s *kernel.Shape) (Kind, Size) { return Kind{float64(s.Group)}, Size{s.Moved} },
	"exchange": func(s *kernel.Shape) (Kind, Size) {
		return Kind{float64(s.Group), float64(s.Nodes), float64(s.Experts), s.N, s.K}, Size{s.M}
	},
}

func grouped(s *kernel.Shape) (Kind, Size) { return Kind{s.Count, s.N, s.K}, Size{s.Rows} }

func attention(s *kernel.Shape) (Kind, Size) {
	return Kind{float64(s.Heads), float64(s.KVHeads), s.K, float64(s.Value)}, Size{s.Count, s.M, s.N}
}

func moved(s *kernel.Shape) (Kind, Size) { return Kind{}, Size{s.Moved} }

// Identity is the kind and size of a shape; false where a section has no known shapes.
func Identity(section string, s *kernel.Shape) (Kind, Size, bool) {
	of, ok := identities[section]
	if !ok {
		return Kind{}, Size{}, false
	}
	kind, size := of(s)
	return kind, size, true
}

// index is a table that is ready for lookups.
type index map[string]map[Kind][]map[Size]bool

//go:embed measured/*.json.gz
var files embed.FS

// Folder is where the tables are, of which the program holds a fourteenth, packed.
const Folder = "hardware/shape/measured"

// Text is the table of a chip as it is written, nil where there is none.
func Text(chip string) ([]byte, error) {
	packed, err := files.ReadFile("measured/" + chip + ".json.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (t *Table) Pack() ([]byte, error) {
	src, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(append(src, '\n')); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

var ready sync.Map // index by the name of a chip and the source of its kernels

// Read is the shapes that were measured on a chip, if any.
func Read(chip string) (*Table, error) {
	var t Table
	src, err := Text(chip)
	if err == nil && src != nil {
		err = json.Unmarshal(src, &t)
	}
	if err != nil {
		return nil, fmt.Errorf("the measured shapes of %s: %w", chip, err)
	}
	return &t, nil
}

// indexOf prepares the shapes that kernels were fitted to, once.
func indexOf(chip, source string) index {
	key := [2]string{chip, source}
	if k, ok := ready.Load(key); ok {
		return k.(index)
	}
	t, err := Read(chip)
	if err != nil {
		panic(err) // a test reads them all
	}
	k := index{}
	if t.Source == source {
		k = t.index()
	}
	ready.Store(key, k)
	return k
}

func (t *Table) index() index {
	out := index{}
	for name, families := range t.Families {
		kinds := map[Kind][]map[Size]bool{}
		for _, f := range families {
			sizes := map[Size]bool{}
			for _, size := range f.Sizes {
				var s Size
				copy(s[:], size)
				sizes[s] = true
			}
			for _, kind := range f.Kinds {
				var k Kind
				copy(k[:], kind)
				kinds[k] = append(kinds[k], sizes)
			}
		}
		out[name] = kinds
	}
	return out
}

// Measured reports whether the exact shape was measured among those that a kernel was fitted to.
func Measured(set *kernel.Set, section, key string, s *kernel.Shape) bool {
	kind, size, ok := Identity(section, s)
	if !ok {
		return false
	}
	for _, sizes := range indexOf(set.System, set.Source)[section+"."+key][kind] {
		if sizes[size] {
			return true
		}
	}
	return false
}
