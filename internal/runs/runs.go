// Package runs turns results of load generators into rows of a table of serving runs: what was
// asked, what clients saw, and the deployment, which result files do not give.
package runs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
)

// settings maps what is said of a deployment, by setting, to the columns that hold it.
var settings = []struct{ name, column string }{
	{"model", "model"}, {"system", "system"}, {"engine", "engine"}, {"tp", "tp"}, {"pp", "pp"}, {"dp", "dp"}, {"ep", "ep"}, {"moe-tp", "moe_tp"},
	{"replicas", "replicas"}, {"weights", "precision"}, {"cache", "kv_cache"}, {"step-tokens", "step_tokens"}, {"max-running-requests", "max_running_requests"},
}

// Settings are the names of what is said of a deployment.
func Settings() (out []string) {
	for i := range settings {
		out = append(out, settings[i].name)
	}
	return out
}

// Deployment is words like model=Llama-3.1-8B,system=H200,tp=4, as cells by column.
func Deployment(words []string) (map[string]string, error) {
	out := map[string]string{}
	var errs []error
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		at := slices.Index(Settings(), name)
		switch {
		case at < 0:
			errs = append(errs, errors.New(document.NotOneOf(name, Settings())+"; such as model=Llama-3.1-8B,system=H200,engine=vllm,tp=4"))
			continue
		case !ok || value == "":
			errs = append(errs, fmt.Errorf("%s has no value: such as %s=…", name, name))
			continue
		}
		out[settings[at].column] = value
	}
	return out, errors.Join(errs...)
}

// Columns are those of a table of runs that has none yet.
func Columns() []string {
	out := []string{"began", "tag"}
	for i := range settings {
		out = append(out, settings[i].column)
	}
	out = append(out, "isl", "osl", "lengths", "concurrency", "request_rate", "arrival", "num_prompts", "seed")
	for i := range figures {
		out = append(out, figures[i].column)
	}
	return out
}

// IsResult reports whether a file is one of results rather than a table.
func IsResult(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl")
}

// mostBytes of a result file; those with the details of all requests are the longest.
const mostBytes = 256 << 20

// Open opens a table of runs. Result files become one.
func Open(in *files.Door, name string) (io.ReadCloser, error) {
	f, err := csvfile.Open(in, name)
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	if !IsResult(name) {
		return f, nil
	}
	defer f.Close()
	list, err := read(in, name, f)
	if err != nil {
		return nil, err
	}
	text, err := table(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

func read(in *files.Door, name string, f io.Reader) ([]map[string]any, error) {
	src, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(src) > mostBytes {
		err = fmt.Errorf("has more than %d MiB", mostBytes>>20)
	}
	if err != nil {
		return nil, document.Unreadable(in, name, err)
	}
	list, err := Results(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// rowOf is a result as a row. The results of matrix have the columns of its sheet already.
func rowOf(result map[string]any) (map[string]string, error) {
	if row := sheetRow(result); row != nil {
		return row, nil
	}
	return Of(result)
}

func table(list []map[string]any) ([]byte, error) {
	header, rows := Columns(), make([]map[string]string, len(list))
	var errs []error
	for i, result := range list {
		var err error
		if rows[i], err = rowOf(result); err != nil {
			errs = append(errs, fmt.Errorf("result %d: %w", i+1, err))
		}
		for column := range rows[i] {
			if !slices.Contains(header, column) {
				header = append(header, column)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.Sort(header[len(Columns()):])
	var b bytes.Buffer
	w := csvfile.NewWriter(&b)
	err := w.Write(header)
	for _, row := range rows {
		err = errors.Join(err, w.Write(cells(header, row)))
	}
	err = errors.Join(err, w.Flush())
	return b.Bytes(), err
}

func cells(header []string, row map[string]string) []string {
	out := make([]string, len(header))
	for i, column := range header {
		out[i] = row[column]
	}
	return out
}
