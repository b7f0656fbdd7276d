package cli

import (
	"context"
	"fmt"
	"strings"

	"throughline/internal/document"
	"throughline/internal/rawdata"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/workbook"
)

// checkWorkbook checks the name of the workbook and reads its measurements.
func (o *runOptions) checkWorkbook(measured string) (rows []rawdata.Row, err error) {
	if o.xlsx.name == "" {
		return nil, nil
	}
	if !strings.HasSuffix(o.xlsx.name, ".xlsx") {
		err = ofFlag("xlsx", fmt.Errorf("%s must end in .xlsx: spreadsheets look at the name", o.xlsx.name))
	}
	if measured == "" {
		return nil, err
	}
	f, unread := openTable(measured)
	if unread == nil {
		defer f.Close()
		rows, unread = rawdata.Read(f, measured)
	}
	return rows, document.Join(err, unread)
}

// tooMany warns that a sheet has no room for all runs.
func tooMany(runs int) string {
	if runs <= workbook.MostRuns {
		return ""
	}
	return fmt.Sprintf("%d runs do not fit into a workbook, which has room for %d; --format parquet has room for any number", runs, workbook.MostRuns)
}

type book struct {
	*workbook.Workbook
	measured []rawdata.Row
}

func (o *runOptions) workbook(measured []rawdata.Row) book {
	if o.xlsx.name == "" {
		return book{}
	}
	return book{workbook.New(o.optionalCategories()...), measured}
}

func (b book) add(r *result.Record) error {
	if b.Workbook == nil {
		return nil
	}
	return b.Add(r)
}

func (b book) write(ctx context.Context, s Streams, name string, answer []string) error {
	if b.Workbook == nil {
		return nil
	}
	b.Answer = answer
	for _, row := range b.measured {
		b.AddRaw(row)
	}
	return writeFiles(ctx, s, report.File{Name: name, Write: b.Write})
}
