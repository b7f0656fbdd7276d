package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// ChangeNumber returns the source of a file with another number at a path.
func ChangeNumber(name string, src []byte, path string, change func(was float64) float64) ([]byte, error) {
	f := Parse(name, src)
	if err := f.Err(); err != nil {
		return nil, err
	}
	n := f.nodes[path]
	if n == nil || n.kind != Number {
		return nil, fmt.Errorf("%s has no number %q%s", name, path, f.nearNumber(path))
	}
	was, err := strconv.ParseFloat(string(n.literal), 64)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", name, path, err)
	}
	if !bytes.HasPrefix(src[n.offset:], n.literal) {
		return nil, fmt.Errorf("%s: numbers can be changed in JSON files only", name)
	}
	text := strconv.AppendFloat(nil, change(was), 'g', -1, 64)
	return slices.Concat(src[:n.offset], text, src[n.offset+len(n.literal):]), nil
}

// nearNumber names the number whose path is nearest to another.
func (f *File) nearNumber(path string) string {
	var paths []string
	for p, n := range f.nodes {
		if n.kind == Number {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	if near, ok := Nearest(path, paths); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	const few = 24
	if len(paths) > few {
		return ""
	}
	return "; it has " + QuoteList(paths)
}
