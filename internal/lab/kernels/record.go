package kernels

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Record is what the built-in kernels were fitted from and what came out, so that a test can
// cheaply tell whether they are current. The fitting command writes it.
type Record struct {
	Code    string            `json:"code"`    // of fitting and pricing, without comments
	Systems string            `json:"systems"` // the peaks of the chips
	Tables  map[string]string `json:"tables"`  // of measurements, by title
	Outputs map[string]string `json:"outputs"` // by name
}

// RecordName is the file of the record, seen from the root of the project.
const RecordName = "internal/lab/kernels/catalogue.json"

// code is the packages that decide what comes out of a fit, seen from the root of the project.
var code = []string{"internal/lab/kernels", "internal/calibrate", "hardware/kernel", "internal/measurement"}

// Inputs is what the built-in kernels would be fitted from now, without absent tables.
func Inputs(folder string) (*Record, error) {
	r := &Record{Tables: map[string]string{}, Outputs: map[string]string{}}
	var err error
	if r.Code, err = codeHash(folder); err != nil {
		return nil, err
	}
	all := []measured{h200Compiled}
	var peaks []any
	for _, b := range built {
		all = append(all, b.own...)
		s, err := plain(b.name)
		if err != nil {
			return nil, err
		}
		peaks = append(peaks, b.name, s.Peaks())
	}
	src, err := json.Marshal(peaks)
	if err != nil {
		return nil, err
	}
	r.Systems = sum(src)
	for i := range all {
		names, err := all[i].names(folder)
		if err != nil {
			continue // absent
		}
		var sizes strings.Builder
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				return nil, err
			}
			relative, err := filepath.Rel(folder, name)
			if err != nil {
				return nil, err
			}
			fmt.Fprintln(&sizes, filepath.ToSlash(relative), info.Size())
		}
		r.Tables[all[i].title] = sum([]byte(sizes.String()))
	}
	return r, nil
}

func (r *Record) Add(o Output) { r.Outputs[o.Name] = sum(o.Content) }

func (r *Record) Encode() ([]byte, error) {
	src, err := json.MarshalIndent(r, "", "  ")
	return append(src, '\n'), err
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:8])
}

// beside are files that have no part in a fit.
var beside = []string{"record.go", "shapes.go"}

// codeHash is of the code as it compiles: comments, blank lines and tests do not count.
func codeHash(folder string) (string, error) {
	h := sha256.New()
	for _, dir := range code {
		names, err := filepath.Glob(filepath.Join(folder, dir, "*.go"))
		if err != nil {
			return "", err
		}
		for _, name := range names { // sorted
			if strings.HasSuffix(name, "_test.go") || slices.Contains(beside, filepath.Base(name)) {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return "", err
			}
			var b bytes.Buffer
			for _, d := range file.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
					continue
				}
				if err := printer.Fprint(&b, token.NewFileSet(), d); err != nil {
					return "", err
				}
			}
			fmt.Fprintf(h, "%s %d\n%s", filepath.Base(name), b.Len(), b.Bytes())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// Write fits the built-in kernels: all files that come of it, the record included.
func Write(folder string, log func(title string)) ([]Output, error) {
	out, err := Catalogue(folder, log)
	if err != nil {
		return nil, err
	}
	record, err := Inputs(folder)
	if err != nil {
		return nil, err
	}
	for _, o := range out {
		record.Add(o)
	}
	src, err := record.Encode()
	return append(out, Output{RecordName, src}), err
}
