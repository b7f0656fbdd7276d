package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/point"
)

// addFrom adds the flag that takes a deployment from the rows of a plan.
func addFrom(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", "", "deployment of a row of throughline plan --json: plan.json#1, or #f2 of the frontier")
}

// planned is what this needs of the JSON of a plan.
type planned struct {
	Question map[string]string
	Ranked   []plannedRow
	Frontier []plannedRow
}

type plannedRow struct {
	Mode, Engine    string
	Concurrency     int
	Prefill, Decode struct {
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

// takeFrom fills the settings of a point that no flag gives with those of a row of a plan.
func takeFrom(cmd *cobra.Command, p *point.Point, from string) error {
	if from == "" {
		return nil
	}
	file, number, ok := strings.Cut(from, "#")
	if !ok {
		number = "1"
	}
	row, question, err := readRow(file, number)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	settings := map[string]string{}
	for name, value := range question {
		settings[name] = value
	}
	settings["engine"], settings["concurrency"] = row.Engine, strconv.Itoa(row.Concurrency)
	d := &row.Decode
	settings["batch"] = strconv.Itoa(d.Batch)
	if row.Mode == "disagg" {
		settings["prefill-plan"], settings["decode-plan"] = row.Prefill.Plan, d.Plan
	} else {
		for name, n := range map[string]int{"dp": d.DP * max(1, d.Instances), "pp": d.PP, "tp": d.TP, "ep": d.EP, "moe-tp": d.MoETP, "moe-dp": d.MoEDP, "redundant": d.Redundant, "drafts": d.Drafts} {
			if n > 0 {
				settings[name] = strconv.Itoa(n)
			}
		}
		if d.Overlap != "" {
			settings["overlap"] = d.Overlap
		}
	}
	var errs []error
	for name, value := range settings {
		if cmd.Flags().Changed(name) {
			continue
		}
		field, ok := point.Lookup(name)
		if !ok {
			errs = append(errs, fmt.Errorf("--from: %s: no setting %q", file, name))
		} else if err := field.Set(p, value); err != nil {
			errs = append(errs, fmt.Errorf("--from: %s: %w", file, err))
		}
	}
	return document.Join(errs...)
}

// readRow reads a row of a plan: its number, or f and its number on the frontier.
func readRow(file, number string) (*plannedRow, map[string]string, error) {
	src, err := document.ReadFile(file)
	if err != nil {
		return nil, nil, document.Unreadable(file, err)
	}
	var doc planned
	if err := json.Unmarshal(src, &doc); err != nil || doc.Question == nil {
		return nil, nil, fmt.Errorf("%s: not what throughline plan --json writes", file)
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
