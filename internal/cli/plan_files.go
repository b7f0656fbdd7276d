package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/rawdata"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/workbook"
)

// planJSON is the extension of a file with the whole plan as JSON.
const planJSON = ".json"

// planForms lists the file extensions of plans.
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
	var runs []*result.Record
	for _, from := range []struct {
		name string
		list []advice.Candidate
	}{{"rank", p.Ranked}, {"frontier", p.Frontier}} {
		for i := range from.list {
			c := &from.list[i]
			r := c.Record
			r.Number, r.Limits, r.Remark = len(runs), p.Loaded.Limits(), strings.TrimSuffix(fmt.Sprintf("%s %d; %s", from.name, 1+i, r.Remark), "; ")
			row, err := rawdata.Of(ctx, &c.Deployment, c.Load, &c.Prediction, nil)
			if err != nil {
				return nil, err
			}
			r.Raw = row
			runs = append(runs, &r)
		}
	}
	return []report.File{{Name: name, Write: func(w io.Writer) error { return writeRecords(w, name, runs) }}}, nil
}

// writeRecords writes records in the form that a file name implies.
func writeRecords(w io.Writer, name string, runs []*result.Record) error {
	plain := strings.TrimSuffix(name, ".gz")
	if strings.HasSuffix(plain, ".xlsx") {
		book, err := workbook.New()
		if err != nil {
			return err
		}
		defer book.Close()
		for _, r := range runs {
			if err := book.Add(r); err != nil {
				return err
			}
		}
		return book.Write(w)
	}
	for _, f := range report.Formats {
		if !strings.HasSuffix(plain, filepath.Ext(f.File)) {
			continue
		}
		sink := f.New(w)
		var errs []error
		for _, r := range runs {
			errs = append(errs, sink.Add(r))
		}
		return errors.Join(append(errs, sink.Close())...)
	}
	return document.Join(fmt.Errorf("%s says no form", name))
}
