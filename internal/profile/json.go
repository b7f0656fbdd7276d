package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// mostEvents limits the events of a trace, far beyond what viewers open.
const mostEvents = 200_000_000

// onDevice are the lower-case categories of PyTorch profiler events that run on the device.
var onDevice = []string{"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}

// readJSON streams a trace, or a list of objects whose keys are the columns of a table.
func readJSON(src io.Reader) (Summary, error) {
	d := json.NewDecoder(src)
	d.UseNumber()
	out, err := document(d)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return Summary{}, fmt.Errorf("after byte %d: the JSON does not go on: %w", d.InputOffset(), err)
	}
	return out, err
}

func document(d *json.Decoder) (Summary, error) {
	start, err := d.Token()
	if err != nil {
		return Summary{}, err
	}
	if start == json.Delim('[') {
		return list(d)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return Summary{}, err
		}
		if key == "traceEvents" {
			return events(d)
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return Summary{}, err
		}
	}
	return Summary{}, fmt.Errorf("no kernels: the object has no traceEvents: %s", allowed)
}

// events adds up the kernels of a trace and keeps only the sums.
func events(d *json.Decoder) (out Summary, err error) {
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return out, errors.Join(err, errors.New("traceEvents is not a list"))
	}
	at := map[string]int{}
	for n := 1; d.More(); n++ {
		var e struct {
			Cat, Name string
			Dur       *float64
		}
		if err := d.Decode(&e); err != nil {
			return out, fmt.Errorf("event %d: %w", n, err)
		}
		if !slices.Contains(onDevice, strings.ToLower(e.Cat)) {
			continue
		}
		if e.Dur == nil || e.Name == "" {
			out.leave("no name or no dur", "event", n)
			continue
		}
		i, seen := at[e.Name]
		if !seen {
			if i = len(out.Kernels); i == most.Rows || n > mostEvents {
				return out, fmt.Errorf("event %d: more than %d names or %d events, the most that is read", n, most.Rows, mostEvents)
			}
			at[e.Name] = i
			out.Kernels = append(out.Kernels, Kernel{Name: e.Name})
		}
		out.Kernels[i].Calls++
		out.Kernels[i].Time += *e.Dur
	}
	if len(out.Kernels) == 0 {
		return out, fmt.Errorf("no kernels: no event of the trace has a category of %s: was the device profiled?", strings.Join(onDevice, ", "))
	}
	_, err = d.Token() // the end of the list, which a truncated trace lacks
	return out, err
}

// list reads objects as rows of a table, each with its own header.
func list(d *json.Decoder) (out Summary, err error) {
	var problems []error
	for n := 1; d.More(); n++ {
		if n > most.Rows {
			return out, fmt.Errorf("more than %d objects, the most that is read", most.Rows)
		}
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			return out, fmt.Errorf("object %d: %w", n, err)
		}
		keys, cells := slices.Sorted(maps.Keys(row)), []string(nil)
		for _, key := range keys {
			cell := ""
			if row[key] != nil {
				cell = fmt.Sprint(row[key])
			}
			cells = append(cells, cell)
		}
		h, ok := headerOf(keys)
		if !ok {
			out.leave("no name or no time", "object", n)
			continue
		}
		k, why, err := h.kernel(cells)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("object %d: %w", n, err))
		case why != "":
			out.leave(why, "object", n)
		case k.Time > 0 || k.Share > 0:
			out.Kernels = append(out.Kernels, k)
		}
	}
	if _, err := d.Token(); err != nil {
		return out, err
	}
	if err := errors.Join(problems...); err != nil {
		return out, err
	}
	if len(out.Kernels) == 0 {
		return out, fmt.Errorf("no kernels: no object of the list has a key named one of %s and one named one of %s with a time: %s",
			strings.Join(columns.name, ", "), strings.Join(slices.Concat(columns.time, columns.share), ", "), allowed)
	}
	return out, nil
}
