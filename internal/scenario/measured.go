package scenario

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/csvfile"
)

// Compared is a measured time beside the predicted one, in seconds.
type Compared struct {
	Scenario, Phase     string
	Measured, Predicted float64
}

// Error of the prediction, relative to the measurement.
func (c *Compared) Error() float64 { return c.Predicted/c.Measured - 1 }

// part is a time of a scenario, by its names in tables of complete runs and of scenarios.
type part struct {
	phase, column string
	of            func(*Row) float64
}

var parts = []part{
	{"prefill", "prefill_time_s", func(r *Row) float64 { return r.Prefill }},
	{"kv_transfer", "kv_tx_time_s", func(r *Row) float64 { return r.Transfer }},
	{"decode", "decode_time_s", func(r *Row) float64 { return r.Decode }},
}

// Compare puts measured times beside predictions. The table has the CSV columns of this command, by
// the name of the scenario, or kind,model,params,time_ms of complete runs, as measure/eager.py
// writes them: a kind all_gpu, all_cpu or pd_split behind the name of the model, b requests of s
// tokens and g of output, and a phase. Rows of other runs are skipped.
func Compare(q *Question, rows []Row, src io.Reader) ([]Compared, error) {
	c := csvfile.NewReader(src, csvfile.Kept)
	head, err := c.Header()
	if err != nil {
		return nil, err
	}
	read := comparison{q: q, rows: rows, at: func(name string) int { return slices.Index(head, name) }}
	take := read.run
	switch {
	case read.at("scenario") >= 0:
		take = read.named
	case read.at("kind") < 0 || read.at("model") < 0 || read.at("params") < 0 || read.at("time_ms") < 0:
		return nil, fmt.Errorf("unknown columns %s; there must be scenario, prefill_time_s, kv_tx_time_s, decode_time_s, or kind, model, params, time_ms", strings.Join(head, ","))
	}
	for {
		record, err := c.Read()
		if err == io.EOF {
			break
		}
		if err == nil && len(record) != len(head) {
			err = fmt.Errorf("%d fields, not %d", len(record), len(head))
		}
		if err == nil {
			err = take(record)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", c.Line(), err)
		}
	}
	if len(read.out) == 0 {
		return nil, fmt.Errorf("no row is of one of these scenarios: %d requests of %d + %d tokens of %s", q.Requests, q.Input, q.Output, q.Model.Name)
	}
	return read.out, nil
}

type comparison struct {
	q    *Question
	rows []Row
	at   func(column string) int
	out  []Compared
}

// add compares one time of a scenario. A transfer of no time is none.
func (c *comparison) add(r *Row, p part, text string, unit float64) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 {
		return fmt.Errorf("time %q is not a number of at least 0", text)
	}
	if v > 0 {
		c.out = append(c.out, Compared{r.Pair.Name, p.phase, v * unit, p.of(r)})
	}
	return nil
}

func (c *comparison) named(record []string) error {
	for i := range c.rows {
		r := &c.rows[i]
		if r.Pair.Name != record[c.at("scenario")] {
			continue
		}
		for _, p := range parts {
			if at := c.at(p.column); at >= 0 {
				if err := c.add(r, p, record[at], 1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// run takes a row of a complete run.
func (c *comparison) run(record []string) error {
	model := record[c.at("model")]
	place, ok := strings.CutPrefix(record[c.at("kind")], model+"_")
	if !ok || model != c.q.Model.Name {
		return nil
	}
	params := map[string]string{}
	for p := range strings.SplitSeq(record[c.at("params")], ";") {
		name, value, _ := strings.Cut(p, "=")
		params[name] = value
	}
	for name, want := range map[string]int{"b": c.q.Requests, "s": c.q.Input, "g": c.q.Output} {
		if params[name] != strconv.Itoa(want) {
			return nil
		}
	}
	i := slices.IndexFunc(parts, func(p part) bool { return p.phase == params["phase"] })
	if i < 0 {
		return nil
	}
	for j := range c.rows {
		if r := &c.rows[j]; r.Pair.place() == place {
			return c.add(r, parts[i], record[c.at("time_ms")], 1e-3)
		}
	}
	return nil
}

// place is the name of a pair in tables of complete runs.
func (p *Pair) place() string {
	switch {
	case p.Split():
		return "pd_split"
	case p.Decode.System.IsHost():
		return "all_cpu"
	}
	return "all_gpu"
}
