package result

import "strings"

// Varied is a number of a file that runs differ in.
type Varied struct {
	Name  string // of its column
	Value float64
}

// Axis is the optional category of a number of a file that runs differ in; it has one field.
func Axis(name string) Category { return axisPrefix + Category(name) }

const (
	axisPrefix          = "varied "
	onAxis     Category = "varied"
)

// AxisField is where a run lies on an axis.
func AxisField(name string) *Field {
	return &Field{name, None, onAxis, "number of a file that runs differ in; _x: a multiple of what the file has", func(r *Record) any {
		for _, v := range r.Varied {
			if v.Name == name {
				return v.Value
			}
		}
		return nil
	}}
}

// axesIn are the fields of the axes among categories.
func axesIn(with []Category) (out []*Field) {
	for _, c := range with {
		if name, ok := strings.CutPrefix(string(c), axisPrefix); ok {
			out = append(out, AxisField(name))
		}
	}
	return out
}
