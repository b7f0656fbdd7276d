package kernels

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/hardware/shape"
	"throughline/internal/calibrate"
)

// Shapes are files of the measured shapes of built-in kernels; folder is the project root.
func Shapes(folder string, log func(title string)) ([]Output, error) {
	var out []Output
	for _, b := range built {
		set, err := builtIn(b.name)
		if err != nil {
			return nil, err
		}
		seen := sizesByKernel{}
		for i := range b.own {
			log(b.own[i].title)
			more, err := b.own[i].shapes(folder)
			if err != nil {
				return nil, err
			}
			seen.add(more, set.Kernels)
		}
		t := shape.Table{Source: set.Kernels.Source, Families: map[string][]shape.Family{}}
		for _, name := range slices.Sorted(maps.Keys(seen)) {
			section, key, _ := strings.Cut(name, ".")
			if set.Kernels.MeasuredOn(section, key) == b.name {
				t.Families[name] = families(seen[name])
			}
		}
		src, err := t.Pack()
		if err != nil {
			return nil, err
		}
		out = append(out, Output{shape.Folder + "/" + b.name + ".json.gz", src})
	}
	return out, nil
}

type sizesByKernel map[string]map[shape.Kind]map[shape.Size]bool

// add adds the kernels of another table. A kernel is fitted to the first that has it.
func (s sizesByKernel) add(more sizesByKernel, set *kernel.Set) {
	for name, kinds := range more {
		if section, key, _ := strings.Cut(name, "."); set.SoftwareOf(section, kernel.PlainKey(key)) == set.SoftwareOf(section, key) {
			name = section + "." + kernel.PlainKey(key) // the default kernel
		}
		if s[name] == nil {
			s[name] = kinds
		}
	}
}

func builtIn(name string) (*hardware.System, error) {
	src, ok := hardware.Catalogue.Find(name)
	if !ok {
		return nil, fmt.Errorf("no system %s", name)
	}
	s, doc := hardware.Read(name, src)
	return s, doc.Err()
}

// shapes are those of the rows of tables, by kernel.
func (m *measured) shapes(folder string) (sizesByKernel, error) {
	files, err := m.names(folder)
	if err != nil {
		return nil, err
	}
	rows, _, _, err := load(files)
	if err != nil {
		return nil, err
	}
	seen := sizesByKernel{}
	for i := range rows {
		r := &rows[i]
		shaped, ok := calibrate.ShapeOf(r)
		if !ok {
			continue
		}
		kind, size, ok := shape.Identity(r.Kind.Section(), &shaped)
		if !ok {
			continue
		}
		name := r.Kind.Section() + "." + calibrate.KeyOf(r)
		if software := calibrate.SoftwareOf(r); software != "" {
			name = kernel.KeyBy(name, software)
		}
		if seen[name] == nil {
			seen[name] = map[shape.Kind]map[shape.Size]bool{}
		}
		if seen[name][kind] == nil {
			seen[name][kind] = map[shape.Size]bool{}
		}
		seen[name][kind][size] = true
	}
	return seen, nil
}

// families puts kinds together that were measured at the same sizes.
func families(kinds map[shape.Kind]map[shape.Size]bool) []shape.Family {
	bySizes := map[string]*shape.Family{}
	order := slices.SortedFunc(maps.Keys(kinds), func(a, b shape.Kind) int { return slices.Compare(a[:], b[:]) })
	var out []*shape.Family
	for _, k := range order {
		sizes := slices.SortedFunc(maps.Keys(kinds[k]), func(a, b shape.Size) int { return slices.Compare(a[:], b[:]) })
		id := fmt.Sprint(sizes)
		f := bySizes[id]
		if f == nil {
			f = &shape.Family{}
			for _, s := range sizes {
				f.Sizes = append(f.Sizes, short(s[:]))
			}
			bySizes[id] = f
			out = append(out, f)
		}
		f.Kinds = append(f.Kinds, short(k[:]))
	}
	families := make([]shape.Family, len(out))
	for i, f := range out {
		families[i] = *f
	}
	slices.SortStableFunc(families, func(a, b shape.Family) int { return cmp.Compare(len(b.Sizes), len(a.Sizes)) })
	return families
}

// short leaves out the zeros at the end.
func short(list []float64) []float64 {
	n := len(list)
	for n > 0 && list[n-1] == 0 {
		n--
	}
	return slices.Clone(list[:n])
}
