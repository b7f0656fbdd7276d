package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/matrix"
	"throughline/internal/report"
)

type launchOptions struct{ row, engine, format string }

// launchFormats are the forms of launches; the first appears among the tables.
var launchFormats = []string{"commands", "sh", "json", "matrix"}

func launchEngines() []string {
	out := []string{"all"}
	for _, e := range engine.All() {
		out = append(out, e.Name)
	}
	return out
}

// check reads the flags and reports all their problems.
func (o *launchOptions) check(asJSON bool) (advice.Launching, error) {
	out := advice.Launching{Row: o.row}
	var errs []error
	if asJSON && o.alone() {
		errs = append(errs, ofFlag("launch-format", errors.New("prints nothing but the launch; leave it or --json out")))
	}
	if digits := strings.TrimPrefix(o.row, "f"); o.row != "" && (digits == "" || strings.Trim(digits, "0123456789") != "") {
		errs = append(errs, ofFlag("launch", fmt.Errorf("%q is no row: give its number, such as 3, or f4 for one of the frontier", o.row)))
	}
	if !slices.Contains(launchFormats, o.format) {
		errs = append(errs, ofFlag("launch-format", fmt.Errorf("%s", document.NotOneOf(o.format, launchFormats))))
	}
	switch {
	case o.engine == "all":
		out.Engines = engine.All()
	case o.engine != "":
		e, err := engine.Find(o.engine)
		if err == nil && e == engine.Generic {
			err = fmt.Errorf("%q launches nothing; there are %s", o.engine, strings.Join(launchEngines(), ", "))
		}
		errs = append(errs, ofFlag("launch-for", err))
		out.Engines = []*engine.Engine{e}
	}
	if o.format == "matrix" && (o.row != "" || o.engine != "") {
		errs = append(errs, ofFlag("launch-format", errors.New("a matrix has all ranked rows, each behind its engine; leave --launch and --launch-for out")))
	}
	if o.format == "sh" && len(out.Engines) > 1 {
		errs = append(errs, ofFlag("launch-for", errors.New("a script is for one engine; --launch-format json has all")))
	}
	return out, document.Join(errs...)
}

// choose sets the row to start, which must exist if any row does.
func (o *launchOptions) choose(a *advice.Advice, l advice.Launching) error {
	a.Launch = l
	if o.row == "" || len(a.Ranked) == 0 {
		return nil
	}
	_, err := a.Row(o.row)
	return ofFlag("launch", err)
}

// alone reports whether only the launch is printed.
func (o *launchOptions) alone() bool { return o.format != launchFormats[0] }

// show prints the launch alone; where no deployment was found the reasons, and no launch.
func (o *launchOptions) show(s Streams, p *advice.Plans) error {
	c, engines := p.Launched()
	switch {
	case c == nil:
		return noPlan(s, p.Advice, nil)
	case len(engines) == 0:
		return errors.New("priced without an engine: there is nothing to launch it with")
	case o.format == "json":
		return report.LaunchJSON(s.data, c, engines)
	case o.format == "matrix":
		f, leftOut, err := matrix.OfPlan(p)
		if err != nil {
			return err
		}
		for _, why := range leftOut {
			fmt.Fprintln(s.Err, why)
		}
		return matrix.Write(s.data, f)
	}
	return report.LaunchScript(s.data, p.Loaded, c, engines[0])
}
