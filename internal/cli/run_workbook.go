package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"throughline/assume"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/rawdata"
	"throughline/internal/report"
	"throughline/internal/result"
	"throughline/internal/workbook"
)

// mostSimulated is requests of a simulation of each run.
const mostSimulated = 1_000_000

// checkWorkbook checks the flags of the workbook, and reads its measurements.
func (o *runOptions) checkWorkbook() (rows []rawdata.Row, err error) {
	errs := []error{o.xlsx.check(o.config, o.measured)}
	if o.xlsx.name != "" && !strings.HasSuffix(o.xlsx.name, ".xlsx") {
		errs = append(errs, ofFlag("xlsx", fmt.Errorf("%s must end in .xlsx: spreadsheets look at the name", o.xlsx.name)))
	}
	if o.xlsx.name == "" && (o.measured != "" || o.simulate != 0) {
		errs = append(errs, errors.New("--measured and --simulate fill the raw data of a workbook: give --xlsx too"))
	}
	if o.simulate < 0 || o.simulate > mostSimulated {
		errs = append(errs, ofFlag("simulate", fmt.Errorf("must be from 0 to %d, not %d", mostSimulated, o.simulate)))
	}
	if as, err := assume.Parse(o.assume); err == nil && o.simulate > 0 && !as.Engine {
		errs = append(errs, ofFlag("simulate", errors.New("needs --assume physical: without an engine there is nothing to simulate")))
	}
	if o.measured != "" {
		var err error
		rows, err = readRaw(o.measured)
		errs = append(errs, err)
	}
	return rows, document.Join(errs...)
}

func readRaw(name string) ([]rawdata.Row, error) {
	f, err := csvfile.Open(name)
	if err != nil {
		return nil, document.Unreadable(name, err)
	}
	defer f.Close()
	return rawdata.Read(f, name)
}

// tooLong says that a sheet has no room for all runs.
func tooLong(runs int) string {
	if runs <= workbook.MostRuns {
		return ""
	}
	return fmt.Sprintf("%d runs do not fit into a workbook, which has room for %d; --format parquet has room for any number", runs, workbook.MostRuns)
}

// book is a workbook, or none.
type book struct {
	*workbook.Workbook
	measured []rawdata.Row
}

// workbook starts the one that is asked for.
func (o *runOptions) workbook(measured []rawdata.Row) (book, error) {
	if o.xlsx.name == "" {
		return book{}, nil
	}
	w, err := workbook.New(o.categoriesAsked()...)
	return book{w, measured}, err
}

func (b book) add(r *result.Record) error {
	if b.Workbook == nil {
		return nil
	}
	return b.Add(r)
}

func (b book) write(ctx context.Context, s Streams, name string) error {
	if b.Workbook == nil {
		return nil
	}
	for _, row := range b.measured {
		if err := b.AddRaw(row); err != nil {
			return err
		}
	}
	err := report.WriteFiles(ctx, report.File{Name: name, Write: func(w io.Writer) error { return b.Write(w) }})
	if err == nil {
		fmt.Fprintln(s.Err, "wrote", name)
	}
	return err
}

func (b book) close() {
	if b.Workbook != nil {
		b.Close()
	}
}
