package calibrate

import (
	"fmt"

	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Element-wise operators are of bfloat16. A norm reads a whole row before writing it, so the number
// of rows matters as well as bytes; time is proportional to width, so one node is enough.
var (
	addNorms = subject{
		shape: func(r *measurement.Row) kernel.Shape {
			m := r.Get("m")
			return kernel.Shape{Rows: m, Moved: 4 * 2 * m * r.Get("h")}
		},
		fit: moving([][]float64{nodes(1, 1<<20, 4), {1}}, func(r *measurement.Row) string { return fmt.Sprint(r.Get("h")) }),
	}
	siluMuls = subject{
		shape: func(r *measurement.Row) kernel.Shape { return kernel.Shape{Moved: 3 * 2 * r.Get("m") * r.Get("i")} },
		fit:   moving(someBytes, func(r *measurement.Row) string { return fmt.Sprint(r.Get("i")) }),
	}
)

// Copies within the device both read and write; for copies to and from the host, the number type
// says how the host keeps its memory.
var (
	deviceCopies = subject{
		key:   func(r *measurement.Row) string { return r.Kind.String() },
		shape: func(r *measurement.Row) kernel.Shape { return kernel.Shape{Moved: 2 * r.Get("n")} },
		fit:   moving(someBytes, (*measurement.Row).Place),
	}
	hostCopies = subject{
		key:   func(r *measurement.Row) string { return fmt.Sprint(r.Kind, " ", r.Type) },
		shape: func(r *measurement.Row) kernel.Shape { return kernel.Shape{Moved: r.Get("n")} },
		fit:   moving(someBytes, (*measurement.Row).Place),
	}
)

// someBytes is the axis of kernels that move bytes.
var someBytes = [][]float64{nodes(1<<10, 1<<36, 4)}

// curveSetting was chosen by the error on held-out shapes.
var curveSetting = setting{1, 0.001, 0.01}

// moving fits kernels that move bytes over the given axes; rows of a group are held out together.
func moving(axes [][]float64, group func(*measurement.Row) string) func([]measurement.Row, Peak) (kernel.Model, Validation) {
	return func(rows []measurement.Row, p Peak) (kernel.Model, Validation) {
		return curve(rows, p.Bandwidth, axes, group)
	}
}

func curve(rows []measurement.Row, bandwidth float64, axes [][]float64, group func(*measurement.Row) string) (*kernel.Curve, Validation) {
	c := &kernel.Curve{Memory: kernel.Surface{Axes: axes}}
	var data []sample
	for i := range rows {
		r := &rows[i]
		s := subjects[r.Kind].shape(r)
		data = append(data, sample{
			part: part{c: anywhere, m: c.Point(&s)}, seconds: r.Seconds, size: s.Moved,
			group: group(r), series: group(r),
		})
	}
	c.Memory.Axes = trim(data, onMemory, axes...)
	f := form{
		setting: curveSetting,
		compute: side{axes: [][]float64{{1}}},
		memory:  side{work: over(c.Work(), bandwidth), axes: c.Memory.Axes},
	}
	s, v := f.validate(data)
	c.Latency, c.Memory = s.latency, s.memory
	return c, v
}

// anywhere is where a kernel lies on a side that it does not have.
var anywhere = kernel.Point{X: 1, Y: 1, Z: 1}
