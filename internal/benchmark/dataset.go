package benchmark

import (
	"cmp"
	"slices"
	"strconv"
)

// dataset is the requests of a benchmark whose tables print no lengths.
type dataset struct {
	Models []string `json:"models" required:"true" nonempty:"true"` // names that tables have of the model
	Model  string   `json:"model" required:"true" nonempty:"true"`  // the built-in one
	Input  int      `json:"isl" required:"true"`                    // mean tokens
	Output int      `json:"osl" required:"true"`                    // the same, where token and request rates do not say it
	Source string   `json:"source" required:"true" nonempty:"true"`
}

// Completed is a row with the model and lengths of its benchmark's dataset where it has none.
func (r Row) Completed() Row {
	b := benchmarkNamed(r.Cell("benchmark"))
	if b == nil {
		return r
	}
	name := r.Cell("model")
	i := slices.IndexFunc(b.Datasets, func(d dataset) bool { return slices.Contains(d.Models, name) })
	if i < 0 {
		return r
	}
	d := &b.Datasets[i]
	return Row{func(column string) string {
		switch column {
		case "model":
			return d.Model
		case "isl":
			return cmp.Or(r.Cell(column), strconv.Itoa(d.Input))
		case "osl":
			return cmp.Or(r.Cell(column), r.outputs(), strconv.Itoa(d.Output))
		}
		return r.Cell(column)
	}}
}

// serverSizes are the options of launch scripts that size a server, by canonical column.
var serverSizes = map[string]string{"tp": "tensor_parallel_size", "pp": "pipeline_parallel_size"}

// sizeServer fills in the parallel sizes of a row's server that its benchmark's scripts have.
func sizeServer(out, options map[string]string) {
	for column, option := range serverSizes {
		out[column] = cmp.Or(out[column], options[option])
	}
}

// full is the clients that keep all servers of a row full; empty: what they run is not known.
func full(out map[string]string) string {
	number := func(column string) int { n, _ := strconv.Atoi(out[column]); return n }
	size := max(1, number("tp")) * max(1, number("pp")) * max(1, number("dp"))
	if clients := number("max_running_requests") * max(1, number("gpus")/size); clients > 0 {
		return strconv.Itoa(clients)
	}
	return ""
}
