package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/report"
	"throughline/internal/sentence"
	"throughline/internal/workbook"
)

const planJSON = ".json"

func planForms() (ends []string) {
	for _, f := range report.Formats {
		ends = append(ends, filepath.Ext(f.File))
	}
	return append(ends, ".xlsx", planJSON)
}

func checkPlanForm(out *output) error {
	if out.name == "" || slices.ContainsFunc(planForms(), func(end string) bool {
		return strings.HasSuffix(out.name, end) || compressible[end] && strings.HasSuffix(out.name, end+".gz")
	}) {
		return nil
	}
	return ofFlag("out", fmt.Errorf("%s must end in %s", out.name, strings.Join(planForms(), ", ")))
}

// planFile returns the file of ranked deployments followed by those of the frontier, if named.
func planFile(ctx context.Context, name string, p *advice.Plans) ([]report.File, error) {
	switch {
	case name == "":
		return nil, nil
	case strings.HasSuffix(name, planJSON):
		return []report.File{{Name: name, Write: func(w io.Writer) error { return report.WriteObject(w, report.AdviceJSON(p)) }}}, nil
	}
	runs, err := workbook.PlanRecords(ctx, p)
	if err != nil {
		return nil, err
	}
	return []report.File{{Name: name, Write: func(w io.Writer) error { return workbook.WriteRecords(w, name, sentence.Plan(p), runs) }}}, nil
}
