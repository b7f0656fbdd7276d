package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func header(table string) []string {
	line, _, _ := strings.Cut(table, "\n")
	names, _ := csv.NewReader(strings.NewReader(line)).Read()
	return names
}

// rows returns the rows of a table as objects, without some of its columns.
func rows(src []byte, without []string) json.RawMessage {
	r := csv.NewReader(strings.NewReader(string(src)))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil || len(records) == 0 {
		return marshal(fmt.Sprint("no table: ", err))
	}
	out := []map[string]any{}
	for _, record := range records[1:] {
		row := map[string]any{}
		for i, cell := range record {
			if i < len(records[0]) && !slices.Contains(without, records[0][i]) && cell != "" {
				row[records[0][i]] = value(cell)
			}
		}
		out = append(out, row)
	}
	return marshal(out)
}

// value returns a cell as a number, if JSON has it.
func value(cell string) any {
	if _, err := strconv.ParseFloat(cell, 64); err == nil && json.Valid([]byte(cell)) {
		return json.Number(cell)
	}
	return cell
}

// recorded are the fields of matrix results that are not predicted: clocks, and the question
// itself.
var recorded = []string{"began", "ready_after", "client_ran", "server_command", "client_command", "figures", "output_throughput", "tpot", "ttft"}

// predictions returns results of matrix without what was recorded.
func predictions(answer json.RawMessage) json.RawMessage {
	var results []map[string]json.RawMessage
	if json.Unmarshal(answer, &results) != nil {
		return answer
	}
	for _, r := range results {
		for _, name := range recorded {
			delete(r, name)
		}
	}
	return marshal(results)
}

// timeline summarizes a trace: the count, duration and last end of each name on each lane.
func timeline(src []byte) json.RawMessage {
	type event struct {
		Phase    string `json:"ph"`
		Name     string
		PID, TID int
		TS, Dur  float64
	}
	var trace struct{ TraceEvents []event }
	if err := json.Unmarshal(src, &trace); err != nil {
		return marshal(err.Error())
	}
	type sum struct {
		Count int     `json:"count"`
		Total float64 `json:"total_us"`
		First float64 `json:"first_us"`
		Last  float64 `json:"last_us"`
	}
	sums := map[string]*sum{}
	for _, e := range trace.TraceEvents {
		key := fmt.Sprintf("%d/%d %s", e.PID, e.TID, e.Name)
		s := sums[key]
		if s == nil {
			s = &sum{First: e.TS}
			sums[key] = s
		}
		s.Count++
		s.Total += e.Dur
		s.First, s.Last = min(s.First, e.TS), max(s.Last, e.TS+e.Dur)
	}
	return marshal(sums)
}
