package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"throughline/estimate"
	"throughline/internal/validate"
	"throughline/number"
)

// BandsOf is the widths that samples tell, as the file of package estimate.
func BandsOf(samples []validate.Sample) ([]byte, error) {
	b := estimate.Bands{Widths: map[string]estimate.Width{}}
	for q, w := range FitWidths(samples) {
		b.Widths[estimate.Quantities[q]] = w
	}
	trusted := Trustworthy(samples)
	b.Source = fmt.Sprintf("%d predictions of %d groups of serving runs (aiconfigurator, Apache-2.0) and forward passes (H200), TPOT of runs with drafts and runs whose settings are not told, which others have published, written by go run ./cmd/lab bands", len(trusted), len(groupsOf(trusted)))
	src, err := json.MarshalIndent(b, "", "  ")
	return append(src, '\n'), err
}

var page = regexp.MustCompile("(?s)(<!-- bands -->\n).*?(<!-- end bands -->\n)")

// BandsPage is a page with the tables of coverage put between the marks for them.
func BandsPage(doc []byte, samples []validate.Sample) ([]byte, error) {
	if !page.Match(doc) {
		return nil, fmt.Errorf("no marks for the tables of bands")
	}
	var out bytes.Buffer
	trusted := Trustworthy(samples)
	groups := groupsOf(trusted)
	fmt.Fprintf(&out, "Either half of the groups, taken in turns from their sorted names, judged by widths from the other half; %d predictions of %d groups:\n\n", len(trusted), len(groups))
	sides := CrossCovered(trusted, groups)
	coverageTable(&out, validate.Covered(sides[:]...))
	list, together := MeanCovered(samples)
	fmt.Fprintf(&out, "\n%d ways to halve the groups by chance: the mean, and the standard deviation of single ones; in %s of them all levels with %d rows or more hold %s to %s at once, and so do all of their thirds:\n\n", halvings, validate.Share(together), validate.EnoughToJudge, validate.Share(validate.Fewest), validate.Share(validate.Most))
	halvedTable(&out, list)
	luck := LuckOf(samples)
	fmt.Fprintf(&out, "\nBands that are right would do no better. Of errors that are drawn so that bands hold %s of them, in groups that are off together as these are, all levels and thirds hold at once in %s of %d draws where the bands are known, and in %s where widths are found on the other half; %.1f of them are outside on average. What the samples of a group have in common, of the variance of their errors:\n\n| band of | groups | in common |\n| --- | ---:| --- |\n", validate.Share(fair), validate.Share(luck.Known), halvings, validate.Share(luck.Found), luck.Outside)
	for q, name := range estimate.Quantities {
		fmt.Fprintf(&out, "| %s | %d | %s |\n", name, luck.Members[q], validate.Share(luck.Alike[q]))
	}
	fmt.Fprintf(&out, "\nThe doubtful runs judged as well, %d predictions more, which have no part in the widths:\n\n", len(samples)-len(trusted))
	sides = CrossCovered(samples, groups)
	coverageTable(&out, validate.Covered(sides[:]...))
	return page.ReplaceAllFunc(doc, func(block []byte) []byte {
		m := page.FindSubmatch(block)
		return bytes.Join([][]byte{m[1], m[2]}, out.Bytes())
	}), nil
}

func coverageTable(out *bytes.Buffer, list []validate.Coverage) {
	out.WriteString("| band of | confidence | rows | inside | narrowest third | middle | widest | above | median band | one for all |\n| --- | --- | ---:| --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range list {
		c := &list[i]
		cells := c.Cells()
		last := len(cells) - 1
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", strings.Join(cells[:last], " | "), validate.Share(c.Above), cells[last], number.Band(c.Constant))
	}
}

func halvedTable(out *bytes.Buffer, list []Halved) {
	fmt.Fprintf(out, "| band of | confidence | rows | inside | narrowest third | middle | widest | all of %s to %s | median band | one for all |\n| --- | --- | ---:| --- | --- | --- | --- | --- | --- | --- |\n", validate.Share(validate.Fewest), validate.Share(validate.Most))
	for i := range list {
		h := &list[i]
		cells := h.Cells()
		for j, spread := range h.Spread {
			if at := &cells[3+j]; *at != "" {
				*at += fmt.Sprintf(" ± %.0f", 100*spread)
			}
		}
		held := ""
		if h.Rows >= validate.EnoughToJudge {
			held = validate.Share(h.Held)
		}
		last := len(cells) - 1
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", strings.Join(cells[:last], " | "), held, cells[last], number.Band(h.Constant))
	}
}
