package workbook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"throughline/internal/advice"
	"throughline/internal/rawdata"
	"throughline/internal/report"
	"throughline/internal/result"
)

// PlanRecords are the rows of a plan, ranked ones and then those of the frontier, with the raw data
// of each.
func PlanRecords(ctx context.Context, p *advice.Plans) ([]*result.Record, error) {
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
	return runs, nil
}

// WriteRecords writes records in the form that a file name implies, a workbook with the answer in
// sentences.
func WriteRecords(w io.Writer, name string, answer []string, runs []*result.Record) error {
	plain := strings.TrimSuffix(name, ".gz")
	if strings.HasSuffix(plain, ".xlsx") {
		book := New()
		book.Answer = answer
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
	return fmt.Errorf("%s says no form", name)
}
