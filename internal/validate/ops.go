package validate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/calibrate"
	"throughline/internal/measurement"
)

// Ops predicts a table of kernels in any schema that package measurement reads. Kernels without a
// calibrated model use the roofline, which needs the columns flops and bytes.
func Ops(ctx context.Context, name string, src io.Reader, s *hardware.System) (*Report, error) {
	var parse func([]string) ([]measurement.Row, error)
	timeAt := -1
	p := calibrate.NewPredictor(s)
	r, err := predictRows(ctx, name, src, func(header []string) (err error) {
		missing := slices.DeleteFunc(slices.Clone(opsColumns), func(c string) bool { return slices.Contains(header, c) })
		if ours := slices.Contains(header, "kind") || slices.Contains(header, "params"); ours && len(missing) > 0 {
			return missingColumns(missing, opsColumns)
		}
		timeAt = slices.IndexFunc(header, func(c string) bool { return c == "time_us" || c == "latency" })
		parse, err = measurement.Parser(measurement.Name(name), header)
		return err
	}, func(cells []string, get func(string) string) Row {
		// A time that is not known is none that is wrong.
		unknown := timeAt >= 0 && strings.TrimSpace(cells[timeAt]) == ""
		if unknown {
			cells = slices.Clone(cells)
			cells[timeAt] = "1"
		}
		rows, err := parse(cells)
		if err != nil {
			return Row{Group: strings.TrimSpace(get("kind") + " " + get("dtype") + get("op_name")), Figures: []Figure{{Reason: err.Error()}}}
		}
		var f Figure
		// A record of expert exchanges has two directions, which are one after the other.
		for i := range rows {
			seconds, reason := kernelTime(p, s, &rows[i], get)
			f.Measured += 1e6 * rows[i].Seconds
			f.Predicted += 1e6 * seconds
			if reason != "" {
				f.Reason = reason
			}
		}
		if unknown {
			f.Measured = 0
		}
		return Row{Group: opsGroup(&rows[0], get), Figures: []Figure{f}}
	})
	if err == nil {
		r.Header = append(r.Header, "predicted_us", "reason")
	}
	return r, err
}

var opsColumns = []string{"kind", "dtype", "params", "time_us"}

// opsGroup is the summary group of a row: kernel kind and number type as written, plus the software
// where the table names it.
func opsGroup(r *measurement.Row, get func(string) string) string {
	if kind := get("kind"); kind != "" {
		return kind + " " + get("dtype")
	}
	return strings.Join(strings.Fields(fmt.Sprint(r.Kind, " ", r.Type, " ", r.Label("kernel"), " ", r.Label("distribution"))), " ")
}

func kernelTime(p *calibrate.Predictor, s *hardware.System, r *measurement.Row, get func(string) string) (seconds float64, reason string) {
	if t, ok := p.Seconds(r); ok {
		return t, ""
	}
	if get("flops") == "" && get("bytes") == "" {
		return 0, fmt.Sprintf("no calibrated kernel of this kind on %s", s.Name)
	}
	flops, errF := strconv.ParseFloat(get("flops"), 64)
	bytes, errB := strconv.ParseFloat(get("bytes"), 64)
	switch {
	case errF != nil || errB != nil:
		return 0, "flops and bytes must be numbers"
	case r.Kind.Peak() == kernel.HostPeak:
		if s.Memory2 == nil {
			return 0, "the system has no second memory tier"
		}
		return bytes / (s.Memory2.GBps * 1e9), ""
	}
	memory := bytes / (s.Memory.GBps * 1e9 * s.Memory.Calibration)
	if r.Kind.Peak() == kernel.MemoryPeak {
		return memory, ""
	}
	m, ok := s.Matrix[r.Type]
	if flops > 0 && !ok {
		return 0, fmt.Sprintf("%s has no matrix rate for %s", s.Name, r.Type)
	}
	if flops == 0 {
		return memory, ""
	}
	return max(memory, flops/(m.TFlops*1e12*m.Calibration)), ""
}
