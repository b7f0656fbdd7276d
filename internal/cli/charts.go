package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/chart"
	"throughline/internal/document"
	"throughline/internal/page"
	"throughline/internal/picture"
	"throughline/internal/report"
)

// charts are those that a command is asked for.
type charts struct {
	kinds  []string
	wanted []string
	output output // of one; a command whose results go into a folder has none
	theme  string
	size   string
	html   output
	force  bool
}

// themes are the colours of charts; the last follows what a viewer prefers.
var themes = []string{"light", "dark", followed}

const followed = "auto"

// mostRaster is the area of a PNG, which is held in memory with 4 bytes for each.
const mostRaster = 64_000_000

// usualSize of a chart.
const usualSize = "900x500"

// chartKinds are the charts that commands have.
var chartKinds = map[string][]string{
	"explain": picture.Names(picture.StepKinds), "plan": picture.Names(picture.PlanKinds), "simulate": picture.Names(picture.LoadKinds), "run": picture.Names(picture.RunKinds),
	"validate ops": picture.Names(picture.MeasuredKinds), "validate forward": picture.Names(picture.MeasuredKinds), "validate steps": picture.Names(picture.MeasuredKinds),
	"validate serving": picture.Names(picture.MeasuredKinds), "validate published": picture.Names(picture.MeasuredKinds),
}

// chartDocs are what the flag of charts says, by command.
func chartDocs() map[string]string {
	out := map[string]string{}
	for path, kinds := range chartKinds {
		where := "with -o, or as KIND=FILE"
		if path == "run" {
			where = "into the folder of the results, or as KIND=FILE"
		}
		out[path] = "draw charts: " + strings.Join(kinds, ", ") + "; " + where + " (.svg or .png)"
	}
	return out
}

// with adds the flags that ask for the charts of a command to its others.
func (c *charts) with(path string, others map[string]any) map[string]any {
	c.kinds = chartKinds[path]
	if others["output"] == nil {
		others["output"] = &c.output
	}
	others["chart"], others["theme"], others["size"], others["force"] = &c.wanted, &c.theme, &c.size, &c.force
	return others
}

// given reports whether charts are asked for.
func (c *charts) given() bool { return len(c.wanted) > 0 }

// drawing is a chart that is asked for, and its file.
type drawing struct{ kind, file string }

// sheet is what charts are drawn on.
type sheet struct {
	width, height float64
	theme         *chart.Theme
	follow        bool
	drawings      []drawing
}

// plan reads the flags; the error holds all that is wrong. Inputs are files that are read; a name makes one of a kind where
// the command has a folder for it. Others are files that the command writes besides.
func (c *charts) plan(inputs []string, name func(kind string) string, others ...*output) (*sheet, error) {
	others = append(slices.Clone(others), &c.html)
	errs := []error{checkOutputs(inputs, others...)}
	s := &sheet{theme: chart.Light, follow: c.theme == followed}
	if c.theme == "dark" {
		s.theme = chart.Dark
	}
	if !slices.Contains(themes, c.theme) {
		errs = append(errs, ofFlag("theme", errors.New(document.NotOneOf(c.theme, themes))))
	}
	var err error
	if s.width, s.height, err = parseSize(c.size); err != nil {
		errs = append(errs, ofFlag("size", err))
	}
	if ext := strings.ToLower(filepath.Ext(c.html.name)); c.html.name != "" && ext != ".html" && ext != ".htm" {
		errs = append(errs, ofFlag("html", fmt.Errorf("the file must end in .html, not %q", c.html.name)))
	}
	if len(c.wanted) == 0 && c.output.name != "" {
		errs = append(errs, fmt.Errorf("-o names the file of a chart: say which with --chart: %s", strings.Join(c.kinds, ", ")))
	}
	if c.output.name != "" && (len(c.wanted) > 1 || strings.Contains(strings.Join(c.wanted, ""), "=")) {
		return s, document.Join(append(errs, errors.New("-o names the file of one chart; give it as --chart KIND -o FILE, or several as --chart KIND=FILE,KIND=FILE"))...)
	}
	for _, text := range c.wanted {
		kind, file, named := strings.Cut(text, "=")
		switch {
		case named:
		case c.output.name != "":
			file = c.output.name
		case name != nil:
			file = name(kind)
		}
		d := drawing{kind, file}
		errs = append(errs, c.check(&d, s)...)
		out := output{flag: "--chart", name: file, force: &c.force}
		errs = append(errs, out.check(inputs...))
		out.flag = "--chart " + text
		for _, other := range others {
			errs = append(errs, out.unlike(other))
		}
		for j := range s.drawings {
			errs = append(errs, out.unlike(&output{flag: "--chart " + c.wanted[j], name: s.drawings[j].file}))
		}
		s.drawings = append(s.drawings, d)
	}
	return s, document.Join(errs...)
}

// check refuses a kind that the command does not have, and a file of another format.
func (c *charts) check(d *drawing, s *sheet) (errs []error) {
	if !slices.Contains(c.kinds, d.kind) {
		errs = append(errs, ofFlag("chart", errors.New(document.NotOneOf(d.kind, c.kinds))))
	}
	switch ext := strings.ToLower(filepath.Ext(d.file)); {
	case d.file == "":
		errs = append(errs, ofFlag("chart", fmt.Errorf("%s needs a file: -o FILE.svg, or --chart %s=FILE.svg", d.kind, d.kind)))
	case ext == ".png" && s.width*s.height > mostRaster:
		errs = append(errs, ofFlag("size", fmt.Errorf("%s is too large for a PNG: width times height may be %d at most; an SVG has no such bound", c.size, mostRaster)))
	case ext == ".png" && s.follow:
		errs = append(errs, ofFlag("theme", fmt.Errorf("a PNG cannot follow its viewer: %s needs light or dark", d.file)))
	case !drawable(d.file):
		errs = append(errs, ofFlag("chart", fmt.Errorf("the file must end in .svg or .png, not %q", d.file)))
	}
	return errs
}

// drawable reports whether a file has a format of charts.
func drawable(file string) bool {
	return slices.Contains([]string{".svg", ".png"}, strings.ToLower(filepath.Ext(file)))
}

func parseSize(text string) (width, height float64, err error) {
	w, h, ok := strings.Cut(strings.ToLower(text), "x")
	x, err1 := strconv.Atoi(strings.TrimSpace(w))
	y, err2 := strconv.Atoi(strings.TrimSpace(h))
	if !ok || err1 != nil || err2 != nil || x < chart.LeastSide || y < chart.LeastSide || x > chart.MostSide || y > chart.MostSide {
		return 0, 0, fmt.Errorf("must be like %s, both from %d to %d, not %q", usualSize, chart.LeastSide, chart.MostSide, text)
	}
	return float64(x), float64(y), nil
}

// files are those of the charts of something, and which it does not have.
func files[T any](s *sheet, kinds []picture.Kind[T], of T) (out []report.File, errs []error) {
	for _, d := range s.drawings {
		k, _ := picture.Find(kinds, d.kind)
		c, err := k.Draw(of)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.kind, err))
			continue
		}
		out = append(out, report.File{Name: d.file, Write: func(w io.Writer) error { return s.write(w, c, d.file) }})
	}
	return out, errs
}

// write writes a chart in the format of its file.
func (s *sheet) write(w io.Writer, c *chart.Chart, file string) error {
	scene := c.Draw(s.width, s.height, "")
	if strings.ToLower(filepath.Ext(file)) == ".png" {
		return chart.WritePNG(w, scene, s.theme)
	}
	return chart.SVG{Theme: s.theme, Follow: s.follow}.Write(w, scene)
}

// page is the file of a report, if one is asked for.
func (c *charts) page(make func() *page.Page) []report.File {
	if c.html.name == "" {
		return nil
	}
	return []report.File{{Name: c.html.name, Write: make().Write}}
}

// drawn are the files of the charts of something, all or none.
func drawn[T any](s *sheet, kinds []picture.Kind[T], of T) ([]report.File, error) {
	list, errs := files(s, kinds, of)
	for i := range errs {
		errs[i] = ofFlag("chart", errs[i])
	}
	return list, document.Join(errs...)
}

// drawSome writes those charts that there is something to draw for, and warns of the others: other results are written already.
func drawSome[T any](ctx context.Context, to Streams, s *sheet, kinds []picture.Kind[T], of T) error {
	list, errs := files(s, kinds, of)
	for _, err := range errs {
		fmt.Fprintln(to.Err, "warning: no chart:", err)
	}
	return writeAll(ctx, to, list)
}

// writeAll writes files, which appear together, and tells their names.
func writeAll(ctx context.Context, to Streams, list []report.File) error {
	if len(list) == 0 {
		return nil
	}
	if err := report.WriteFiles(ctx, list...); err != nil {
		return systemError{err}
	}
	for _, f := range list {
		fmt.Fprintln(to.Err, "wrote", f.Name)
	}
	return nil
}
