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

type charts struct {
	kinds     []string
	requested []string
	output    output // of a single file; commands that write into a folder have none
	theme     string
	size      string
	scale     string
	html      output
	force     bool
}

// themes are the colours of charts; the last follows the viewer's preference.
var themes = []string{"light", "dark", followed}

const followed = "auto"

// mostRaster limits the pixels of a PNG, which takes 4 bytes of memory each.
const mostRaster = 64_000_000

const defaultSize = "900"

// curveKinds are the charts of several questions to any command: a frontier is of plans alone.
var curveKinds = slices.DeleteFunc(slices.Clone(picture.ScanKinds), func(k picture.Kind[*picture.Scan]) bool { return k.Name == "frontier" })

var chartKinds = map[string][]string{
	"explain": picture.Names(picture.StepKinds), "plan": slices.Concat(picture.Names(picture.PlanKinds), picture.Names(curveKinds)), "simulate": slices.Concat(picture.Names(picture.LoadKinds), picture.Names(curveKinds)),
	"estimate": picture.Names(curveKinds), "sweep show": picture.Names(curveKinds), "run": picture.Names(picture.RunKinds),
	"validate ops": picture.Names(picture.MeasuredKinds), "validate forward": picture.Names(picture.MeasuredKinds), "validate steps": picture.Names(picture.MeasuredKinds),
	"validate power": picture.Names(picture.MeasuredKinds), "validate energy": picture.Names(picture.MeasuredKinds), "validate serving": picture.Names(picture.MeasuredKinds), "validate published": picture.Names(picture.MeasuredKinds),
}

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

// with adds the chart flags of a command to its others.
func (c *charts) with(path string, others map[string]any) map[string]any {
	c.kinds = chartKinds[path]
	if others["output"] == nil {
		others["output"] = &c.output
	}
	others["chart"], others["theme"], others["size"], others["scale"], others["force"] = &c.requested, &c.theme, &c.size, &c.scale, &c.force
	return others
}

func (c *charts) given() bool { return len(c.requested) > 0 }

type drawing struct{ kind, file string }

// sheet is the size and colours of charts.
type sheet struct {
	width, height float64 // a height of 0 suits the chart
	scale         float64 // pixels of a PNG for each unit
	theme         *chart.Theme
	follow        bool
	drawings      []drawing
}

// plan reads the flags and reports all their problems. Inputs are the files read; name, if set,
// names the file of a kind in the folder of the command; others are further outputs.
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
	if s.scale, err = strconv.ParseFloat(c.scale, 64); err != nil || !(s.scale >= 0.5 && s.scale <= 8) {
		errs = append(errs, ofFlag("scale", fmt.Errorf("must be from 0.5 to 8, not %q", c.scale)))
	}
	errs = append(errs, c.checkPage())
	if len(c.requested) == 0 && c.output.name != "" {
		errs = append(errs, fmt.Errorf("-o names the file of a chart: say which with --chart: %s", strings.Join(c.kinds, ", ")))
	}
	if c.output.name != "" && (len(c.requested) > 1 || strings.Contains(strings.Join(c.requested, ""), "=")) {
		return s, document.Join(append(errs, errors.New("-o names the file of one chart; give it as --chart KIND -o FILE, or several as --chart KIND=FILE,KIND=FILE"))...)
	}
	for _, text := range c.requested {
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
			errs = append(errs, out.unlike(&output{flag: "--chart " + c.requested[j], name: s.drawings[j].file}))
		}
		s.drawings = append(s.drawings, d)
	}
	return s, document.Join(errs...)
}

// checkPage rejects a report of another format.
func (c *charts) checkPage() error {
	if ext := strings.ToLower(filepath.Ext(c.html.name)); c.html.name != "" && ext != ".html" && ext != ".htm" {
		return ofFlag("html", fmt.Errorf("the file must end in .html, not %q", c.html.name))
	}
	return nil
}

// check rejects a kind that the command lacks, and a file of another format.
func (c *charts) check(d *drawing, s *sheet) (errs []error) {
	if !slices.Contains(c.kinds, d.kind) {
		errs = append(errs, ofFlag("chart", errors.New(document.NotOneOf(d.kind, c.kinds))))
	}
	switch ext := strings.ToLower(filepath.Ext(d.file)); {
	case d.file == "":
		errs = append(errs, ofFlag("chart", fmt.Errorf("%s needs a file: -o FILE.svg, or --chart %s=FILE.svg", d.kind, d.kind)))
	case ext == ".png" && s.scale*s.scale*s.width*max(s.height, s.width/2) > mostRaster:
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
	w, h, given := strings.Cut(strings.ToLower(text), "x")
	side := func(text string) (float64, bool) {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		return float64(n), err == nil && n >= chart.LeastSide && n <= chart.MostSide
	}
	width, ok := side(w)
	if given && ok {
		height, ok = side(h)
	}
	if !ok {
		return 0, 0, fmt.Errorf("must be like 900x500, or 900 with a height that suits, both from %d to %d, not %q", chart.LeastSide, chart.MostSide, text)
	}
	return width, height, nil
}

func drawCharts[T any](s *sheet, kinds []picture.Kind[T], of T) (out []report.File, errs []error) {
	for _, d := range s.drawings {
		k, ok := picture.Find(kinds, d.kind)
		if !ok {
			errs = append(errs, fmt.Errorf("%s is for %s", d.kind, whereDrawn(d.kind)))
			continue
		}
		c, err := k.Draw(of)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.kind, err))
			continue
		}
		out = append(out, report.File{Name: d.file, Warning: s.warning(c, d.file), Write: func(w io.Writer) error { return s.write(w, c, d.file) }})
	}
	return out, errs
}

// warning tells of characters that a PNG cannot show; empty: none.
func (s *sheet) warning(c *chart.Chart, file string) string {
	if strings.ToLower(filepath.Ext(file)) != ".png" {
		return ""
	}
	boxes := c.Draw(s.width, s.height, "").Unreadable()
	if boxes == "" {
		return ""
	}
	return fmt.Sprintf("%s: no font on this machine has %s, shown as boxes; install one, such as Noto Sans CJK, or write an .svg", file, boxes)
}

// whereDrawn says which answers a kind of chart is for.
func whereDrawn(kind string) string {
	if _, ok := picture.Find(curveKinds, kind); ok {
		return "several questions: give a setting several values"
	}
	return "one question; several have " + strings.Join(picture.Names(curveKinds), ", ")
}

func (s *sheet) write(w io.Writer, c *chart.Chart, file string) error {
	scene := c.Draw(s.width, s.height, "")
	if strings.ToLower(filepath.Ext(file)) == ".png" {
		return chart.WritePNG(w, scene.Scaled(s.scale), s.theme)
	}
	return chart.SVG{Theme: s.theme, Follow: s.follow}.Write(w, scene)
}

// page returns the file of a report, if requested.
func (c *charts) page(make func() *page.Page) []report.File {
	if c.html.name == "" {
		return nil
	}
	return []report.File{{Name: c.html.name, Write: make().Write}}
}

// allCharts returns all charts of a value, or an error.
func allCharts[T any](s *sheet, kinds []picture.Kind[T], of T) ([]report.File, error) {
	list, errs := drawCharts(s, kinds, of)
	for i := range errs {
		errs[i] = ofFlag("chart", errs[i])
	}
	return list, document.Join(errs...)
}

// writeCharts writes the charts that have data and warns about the others, since other results are
// already written.
func writeCharts[T any](ctx context.Context, to Streams, s *sheet, kinds []picture.Kind[T], of T) error {
	list, errs := drawCharts(s, kinds, of)
	for _, err := range errs {
		fmt.Fprintln(to.Err, "warning: no chart:", err)
	}
	return writeFiles(ctx, to, list...)
}

// writeFiles writes those that have names, which appear together, and prints them.
func writeFiles(ctx context.Context, to Streams, files ...report.File) error {
	list := slices.DeleteFunc(files, func(f report.File) bool { return f.Name == "" })
	if err := report.WriteFiles(ctx, list...); err != nil {
		return systemError{err}
	}
	for _, f := range list {
		if f.Warning != "" {
			fmt.Fprintln(to.Err, "warning:", f.Warning)
		}
		fmt.Fprintln(to.Err, "wrote", f.Name)
	}
	return nil
}
