// Bands finds how wide the bands of predictions are from measurements beside the project, and writes the widths
// (estimate/bands.json) and how often they hold the truth (docs/validation/bands.md). It takes seconds, and is run from the root of
// the project after whatever changes predictions:
//
//	go run ./cmd/bands
//
// With -shapes it writes which shapes instead of kernels were measured (hardware/shape/measured), from all tables of
// kernels, which takes a minute; only other tables change that.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"throughline/internal/calibrate"
	"throughline/internal/report"
	"throughline/internal/validate"
)

func main() {
	shapes := flag.Bool("shapes", false, "write the measured shapes instead")
	flag.Parse()
	if err := run(context.Background(), *shapes); err != nil {
		fmt.Fprintln(os.Stderr, "bands:", err)
		os.Exit(1)
	}
}

// run writes the files. What predictions rest on depends on the shapes that the program was built with, so these come alone.
func run(ctx context.Context, shapes bool) error {
	if shapes {
		return writeShapes(ctx)
	}
	samples, err := validate.Evidence(ctx, ".")
	if err != nil {
		return fmt.Errorf("run it from the root of the project, beside its measurements: %w", err)
	}
	widths, err := validate.BandsOf(samples)
	if err != nil {
		return err
	}
	name := filepath.Join("docs", "validation", "bands.md")
	doc, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if doc, err = validate.BandsPage(doc, samples); err != nil {
		return err
	}
	return report.WriteFiles(ctx, report.Bytes(filepath.Join("estimate", "bands.json"), widths), report.Bytes(name, doc))
}

func writeShapes(ctx context.Context) error {
	folder := filepath.Join("internal", "calibrate")
	outputs, err := calibrate.Shapes(folder, func(title string) { fmt.Fprintln(os.Stderr, title) })
	if err != nil {
		return err
	}
	var files []report.File
	for _, o := range outputs {
		files = append(files, report.Bytes(filepath.Join(folder, o.Name), o.Content))
	}
	return report.WriteFiles(ctx, files...)
}
