// Package rows reads public tables of runs, in whatever words, into the columns of questions.
package rows

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/internal/document"
	"throughline/internal/names"
	"throughline/internal/protocol"
	"throughline/internal/question"
	"throughline/model"
)

// Row is the cells of a row of a public table, by the columns of runs.
type Row struct{ Cell func(string) string }

// column says how a row of a public table has a column of questions.
type column struct {
	row  func(Row) string                      // of the whole row
	pool func(r Row, pool, name string) string // of each pool: prefix and column
	used bool                                  // canonical columns are made of it; it is none of them
}

// columns are what words are read for. Other settings are as their cells have them.
var columns = map[string]column{
	"model": {row: Row.model}, "system": {row: Row.chip}, "gpus": {row: Row.gpus}, "power_limit": {row: Row.watts},
	"engine": {row: Row.engineName}, "version": {used: true},
	"weights": {row: Row.precision}, "cache": {row: Row.cacheFormat},
	"isl": {row: Row.input}, "osl": {row: Row.output}, "isl_osl": {used: true}, "seed": {row: func(r Row) string { return r.Cell("seed") }},
	"concurrency": {row: Row.clients}, "achieved_concurrency": {used: true}, "num_prompts": {used: true},
	"request_rate": {row: Row.rate, used: true}, "rate": {used: true}, "arrival": {used: true},
	"mode": {row: func(r Row) string { return string(question.ModeOf(r.Cell)) }}, "disagg": {used: true}, "layout": {used: true}, "dp_attention": {used: true},
	"instances": {used: true}, "workers": {pool: Row.workers},
	"tp": {pool: Row.size}, "dp": {pool: Row.size}, "moe_tp": {pool: Row.size}, "ep": {pool: Row.size},
	"pp": {pool: Row.ofPool}, "batch": {pool: Row.ofPool}, "redundant": {pool: Row.ofPool}, "overlap": {pool: Row.ofPool},
	"drafts": {used: true}, "spec": {used: true}, "spec_tokens": {used: true},
}

// measurementColumns say how a row was measured, wherever they stand.
var measurementColumns = []string{"note", "lengths", "prompt_tokens", "requests_per_client", "repeated", "acceptance", "unstated"}

// pools are what stands in front of the columns of a pool; nothing does where there is one.
var pools = []string{"", "prefill_", "decode_"}

// Get is a column of questions, as the words of the row have it.
func (r Row) Get(name string) string {
	if c := columns[name]; c.row != nil {
		return c.row(r)
	}
	for _, pool := range slices.Backward(pools) {
		if short, ok := strings.CutPrefix(name, pool); ok && columns[short].pool != nil {
			return columns[short].pool(r, pool, short)
		}
	}
	return r.Cell(name)
}

// settingOf are the settings by their columns.
var settingOf = func() map[string]string {
	out := map[string]string{}
	for _, s := range question.RunSettings {
		for _, name := range s.Columns {
			out[name] = s.Name
		}
	}
	return out
}()

// replaced are the columns that canonical ones stand for, under all their names.
var replaced = func() map[string]bool {
	out := map[string]bool{}
	for name := range columns {
		for _, also := range append([]string{name}, names.Others(name)...) {
			for _, pool := range pools {
				out[pool+also] = true
			}
		}
	}
	return out
}()

// Replaced reports whether canonical columns stand for a column.
func Replaced(column string) bool { return replaced[column] }

// Reader reads rows of public serving tables into columns of settings; it keeps what rows share.
type Reader struct {
	base   question.Question // what is asked of all rows; its system takes the place of theirs
	loaded map[rowFiles]*question.Loaded
}

type rowFiles struct {
	model, system string
	formats       question.Formats
}

// NewReader is one that has read nothing yet.
func NewReader(base question.Question) *Reader {
	return &Reader{base: base, loaded: map[rowFiles]*question.Loaded{}}
}

func (r *Reader) load(key rowFiles) *question.Loaded {
	l, ok := r.loaded[key]
	if !ok {
		q := r.base
		q.Model, q.System, q.Formats = key.model, cmp.Or(q.System, key.system), key.formats
		l, _ = q.Read() // what is wrong is said where the row is predicted
		r.loaded[key] = l
	}
	return l
}

// Canonical is a row in the columns of questions, plus its own columns that these do not replace.
// For a measured row, the protocol of its benchmark supplies what it omits.
func (r *Reader) Canonical(row Row, measured bool) Row {
	cells := r.Cells(row, measured)
	return Row{func(column string) string {
		if text, ok := cells[column]; ok || replaced[column] || settingOf[column] != "" {
			return text
		}
		return row.Cell(column)
	}}
}

// Cells is a row by the columns of settings. Why it cannot be predicted is one of them.
func (r *Reader) Cells(row Row, measured bool) map[string]string {
	out := row.cells()
	notes := row.notes()
	if limit := out["power_limit"]; limit != "" {
		notes = append(notes, "the chip as delivered, not limited to "+strings.TrimRight(limit, "wW ")+" W")
	}
	if name, note := r.standIn(out["model"]); note != "" {
		out["model"], notes = name, append(notes, note)
	}
	if err := r.addProtocol(row, measured, out); err != nil {
		out["unpredictable"] = strings.ReplaceAll(document.Join(err).Error(), "\n", "; ")
	}
	if out["mode"] == string(question.Aggregated) && out["tp"]+out["dp"]+out["pp"]+out["ep"]+out["instances"] == "" {
		out["tp"] = out["gpus"] // a server that says its GPUs alone has all of them
	}
	if len(notes) > 0 {
		out["note"], out["unstated"] = strings.Join(notes, "; "), "true"
	}
	for _, column := range measurementColumns {
		out[column] = cmp.Or(row.Cell(column), out[column])
	}
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}

// cells are the canonical cells that the row itself says.
func (r Row) cells() map[string]string {
	out := map[string]string{}
	for _, s := range question.RunSettings {
		for _, name := range s.Columns {
			if text := r.Cell(name); text != "" && !replaced[name] {
				out[name] = text
				break
			}
		}
	}
	for name, c := range columns {
		if c.row != nil && !c.used {
			out[name] = c.row(r)
		}
	}
	out["weights"] = r.Weights()
	servers := pools[1:]
	if out["mode"] == string(question.Aggregated) {
		servers = pools[:1]
		if n := r.Cell("instances"); n != "1" {
			out["instances"] = n
		}
	}
	for _, pool := range servers {
		for name, c := range columns {
			if c.pool == nil || pool+name == "workers" {
				continue
			}
			if text := c.pool(r, pool, name); text != "0" {
				out[pool+name] = text
			}
		}
	}
	return out
}

// standIn is a model of the catalogue for one that is neither there nor on disk, and a note of it.
func (r *Reader) standIn(name string) (string, string) {
	if name == "" {
		return name, ""
	}
	if _, err := question.Find("model", name, model.Catalogue, r.base.Places()); err == nil {
		return name, ""
	}
	near, ok := model.Similar(name)
	if !ok {
		return name, ""
	}
	return near, fmt.Sprintf("%s is not in the catalogue; %s stands in, by family and size", name, near)
}

// Completed is a row with the model and lengths of its benchmark's dataset where it has none.
func (r Row) Completed() Row {
	r = r.laidOut()
	p := protocol.Named(r.Cell("benchmark"))
	if p == nil {
		return r
	}
	data := p.Dataset(map[string]string{"printed": r.Cell("model")})
	return Row{func(column string) string {
		text := r.Cell(column)
		switch {
		case data[column] == "":
			return text
		case column == "model":
			return data[column]
		case column == "osl":
			text = cmp.Or(text, r.outputs())
		}
		return cmp.Or(text, data[column])
	}}
}

// Says reports whether a column of a table of runs says what another would.
func Says(column, other string) bool {
	switch other {
	case "isl", "osl":
		return column == other || column == "isl_osl"
	case "concurrency":
		return column == other || column == "request_rate" || column == "rate"
	}
	return column == other
}
