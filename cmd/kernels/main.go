// Kernels fits the built-in kernels to the public tables of measurements beside the project, and writes them, the page that
// says how well (docs/calibration.md), and a record by which a test tells whether they are current. It takes minutes, and is
// run from the root of the project:
//
//	go run ./cmd/kernels
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"throughline/internal/calibrate"
	"throughline/internal/report"
)

func main() {
	if err := run(filepath.Join("internal", "calibrate")); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

// run writes the files together, seen from the folder of package calibrate.
func run(folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("run it from the root of the project: %w", err)
	}
	outputs, err := calibrate.Catalogue(folder, func(title string) { fmt.Fprintln(os.Stderr, title) })
	if err != nil {
		return err
	}
	record, err := calibrate.Inputs(folder)
	if err != nil {
		return err
	}
	var files []report.File
	for _, o := range outputs {
		record.Add(o)
		files = append(files, report.Bytes(filepath.Join(folder, o.Name), o.Content))
	}
	src, err := record.Encode()
	if err != nil {
		return err
	}
	files = append(files, report.Bytes(filepath.Join(folder, calibrate.RecordName), src))
	return report.WriteFiles(context.Background(), files...)
}
