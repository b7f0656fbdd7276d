package question

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/plan"
)

// planned is what this needs of the JSON of a plan.
type planned struct {
	Question map[string]string
	Ranked   []plannedRow
	Frontier []plannedRow
}

type plannedRow struct {
	Mode, Engine    string
	GPUs            int // asked for, spare ones included
	Concurrency     int
	Running         int     `json:"max_running_requests"` // of an instance that decodes
	MemoryShare     float64 `json:"memory_share"`
	PowerLimit      float64 `json:"power_limit_w"`
	Prefill, Decode struct {
		System     string
		Plan       string
		Instances  int
		Batch      int
		DP, PP, TP int
		EP         int
		MoETP      int `json:"moe_tp"`
		MoEDP      int `json:"moe_dp"`
		Redundant  int `json:"redundant_experts"`
		Drafts     int
		Overlap    string
	}
}

// TakeRow fills the settings not given from a row of a plan's JSON: FILE#1 is its first row,
// FILE#f2 the second of its frontier.
func (q *Question) TakeRow(from string, given func(name string) bool) error {
	file, number, ok := strings.Cut(from, "#")
	if !ok {
		number = "1"
	}
	row, words, err := readRow(q.In, file, number)
	if err != nil {
		return wrong("from", err.Error())
	}
	row.addWords(words)
	if err := row.kinds(words, q.Places()); err != nil {
		return wrong("from", fmt.Sprintf("%s: %s", file, err))
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if given(name) {
			continue
		}
		s, ok := Lookup(Plan|Point, name)
		switch {
		case !ok:
			errs = append(errs, wrong("from", fmt.Sprintf("%s: no setting %q", file, name)))
		case s.For&Point == 0: // of the search alone
		default:
			if err := s.Set(q, words[name]); err != nil {
				errs = append(errs, wrong("from", fmt.Sprintf("%s: %s", file, err)))
			}
		}
	}
	return document.Join(errs...)
}

// PlannedGPUs is the processors that a row of a plan's JSON was asked for on, spare ones included.
func PlannedGPUs(in *files.Door, file, number string) (int, error) {
	row, _, err := readRow(in, file, number)
	if err != nil {
		return 0, err
	}
	return row.GPUs, nil
}

func (row *plannedRow) addWords(words map[string]string) {
	d := &row.Decode
	words["engine"], words["concurrency"], words["batch"] = row.Engine, strconv.Itoa(row.Concurrency), strconv.Itoa(d.Batch)
	// What its servers are told; plans of older versions do not say.
	if ranks := max(1, d.DP) * max(1, d.PP); row.Running > 0 {
		words["max-running-requests"] = strconv.Itoa((row.Running + ranks - 1) / ranks)
	}
	if row.MemoryShare > 0 {
		words[engine.MemorySetting] = strconv.FormatFloat(row.MemoryShare, 'g', -1, 64)
	}
	if limit := words["power-limit"]; limit != "" || words["objective"] == string(Energy) && row.PowerLimit > 0 {
		words["power-limit"] = strconv.FormatFloat(row.PowerLimit, 'g', -1, 64) // of those that were searched
	}
	for _, name := range []string{"ttft", "tpot"} {
		if strings.Contains(words[name], ":") {
			delete(words, name) // on a share of requests that come by themselves
		}
	}
	// In the question of a plan these say how far it searched.
	words["redundant"], words["drafts"] = strconv.Itoa(d.Redundant), strconv.Itoa(d.Drafts)
	if words["overlap"] != "" || d.Overlap != "" {
		words["overlap"] = cmp.Or(d.Overlap, plan.NoOverlap.String())
	}
	if Mode(row.Mode) == Disaggregated {
		words["prefill-plan"], words["decode-plan"] = row.Prefill.Plan, d.Plan
		return
	}
	for name, n := range map[string]int{"dp": d.DP * max(1, d.Instances), "pp": d.PP, "tp": d.TP, "ep": d.EP, "moe-tp": d.MoETP, "moe-dp": d.MoEDP} {
		if n > 0 {
			words[name] = strconv.Itoa(n)
		}
	}
}

// kinds adds the systems of the row's pools where the plan was for a fleet, matched by name.
func (row *plannedRow) kinds(words map[string]string, at catalogue.Places) error {
	l := Loaded{Question: Question{Search: Search{Fleet: words["pool"]}, In: at.In, Beside: at.Beside}}
	if l.Fleet == "" {
		return nil
	}
	if err := l.readFleet(); err != nil {
		return err
	}
	for setting, name := range map[string]string{"system": row.Prefill.System, "decode-system": row.Decode.System} {
		for _, s := range l.Shares {
			if s.System.Name == name {
				words[setting] = s.Ref
			}
		}
	}
	if row.Decode.System == row.Prefill.System {
		delete(words, "decode-system")
	}
	return nil
}

// PlannedWords are the deployments of a plan's rows, the ranked first, then those of the frontier,
// each in the words of estimate.
func PlannedWords(in *files.Door, src []byte) ([]map[string]string, error) {
	var doc planned
	if err := json.Unmarshal(src, &doc); err != nil {
		return nil, err
	}
	var out []map[string]string
	for _, row := range slices.Concat(doc.Ranked, doc.Frontier) {
		words := maps.Clone(doc.Question)
		row.addWords(words)
		if err := row.kinds(words, catalogue.Places{In: in}); err != nil {
			return nil, err
		}
		maps.DeleteFunc(words, func(name, _ string) bool {
			s, ok := Lookup(Estimate, name)
			same, _ := Lookup(Plan|Point, name) // gpus of a plan are not those of one instance
			return !ok || s.Apart || same.For&Point == 0
		})
		out = append(out, words)
	}
	return out, nil
}

func readRow(in *files.Door, file, number string) (*plannedRow, map[string]string, error) {
	src, err := document.ReadFile(in, file)
	if err != nil {
		return nil, nil, document.Unreadable(in, file, err)
	}
	var doc planned
	if err := json.Unmarshal(src, &doc); err != nil || doc.Question == nil {
		return nil, nil, fmt.Errorf("%s: not the JSON that throughline plan writes", file)
	}
	rows, what := doc.Ranked, "ranked rows"
	digits, onFrontier := strings.CutPrefix(number, "f")
	if onFrontier {
		rows, what = doc.Frontier, "rows on its frontier"
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > len(rows) {
		return nil, nil, fmt.Errorf("%s: no row %q; it has %d %s", file, number, len(rows), what)
	}
	return &rows[n-1], doc.Question, nil
}
