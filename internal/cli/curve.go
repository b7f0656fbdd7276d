package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/sweep"
	"throughline/internal/table"
)

// curve is how the answers to several questions are shown.
type curve struct {
	flags  *settings
	json   bool
	view   viewOptions
	out    *output
	charts *charts
	// single are flags that one question has alone.
	single []string
}

var tableForms = []string{string(table.CSV), string(table.Parquet), string(table.JSON), string(table.Lines)}

// several answers a command that asks several questions, and reports whether it does.
func (c *curve) several(cmd *cobra.Command, s Streams) (bool, error) {
	words := c.flags.words()
	if err := sweep.Around(cmd.Context(), files.Machine, c.flags.of, words); err != nil {
		return true, answerError(s, err)
	}
	several, err := scan.FromWords(files.Machine, c.flags.of, words)
	if several == nil && err == nil {
		return false, nil
	}
	var errs []error
	for _, name := range c.single {
		if cmd.Flags().Changed(name) {
			errs = append(errs, ofFlag(name, errors.New("is for one question; several are asked")))
		}
	}
	sheet, wrong := c.charts.plan(nil, nil, c.out)
	if err := document.Join(append(errs, emptyOutputs(cmd.Flags()), err, wrong, checkTableForm(c.out))...); err != nil {
		return true, question.Once(err)
	}
	return true, c.answer(cmd.Context(), s, several, sheet)
}

func checkTableForm(out *output) error {
	if out.name == "" || slices.ContainsFunc(tableForms, func(end string) bool { return strings.HasSuffix(out.name, end) }) {
		return nil
	}
	return ofFlag("out", fmt.Errorf("%s must end in %s", out.name, strings.Join(tableForms, ", ")))
}

func (c *curve) answer(ctx context.Context, s Streams, several *scan.Scan, sheet *sheet) error {
	if n := several.Len(); n > report.MostPoints {
		return fmt.Errorf("%d points are more than the %d that fit into memory; throughline sweep run keeps them in files", n, report.MostPoints)
	}
	bar := newProgress(s.watched, several.Len())
	r, err := report.Scanned(ctx, several, c.json, func(*report.Scan) { bar.tick() })
	bar.finish()
	if err != nil {
		return err
	}
	return c.show(ctx, s, r, sheet)
}

// show writes what follows from all points.
func (c *curve) show(ctx context.Context, s Streams, r *report.Scan, sheet *sheet) error {
	files, err := allCharts(sheet, picture.ScanKinds, picture.OfScan(r))
	if err != nil {
		return err
	}
	if c.out.name != "" {
		files = append(files, report.File{Name: c.out.name, Write: func(w io.Writer) error { return r.Table().Write(w, table.FormOf(c.out.name)) }})
	}
	files = append(files, c.charts.page(func() *page.Page { return page.Scanned(r) })...)
	if err := writeFiles(ctx, s, files...); err != nil {
		return err
	}
	if c.json {
		err = report.WriteObject(s.data, report.ScanJSON(r))
	} else {
		err = r.Write(s.Out, c.view.of(s))
	}
	switch {
	case err != nil:
		return failed(err)
	case !r.Answered():
		return exitError{exitNoPlan}
	case r.Breaks():
		return exitError{exitLimits}
	}
	return nil
}
