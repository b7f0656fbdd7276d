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

// BandsOf is the widths that evidence tells, as the file of package estimate.
func BandsOf(found *Found) ([]byte, error) {
	b := estimate.Bands{Widths: map[string]estimate.Width{}, Seen: found.Seen}
	for q, w := range FitWidths(found.Samples) {
		b.Widths[estimate.Quantities[q]] = w
	}
	trusted := Trustworthy(found.Samples)
	b.Source = fmt.Sprintf("%d predictions of %d pairs of model and engine, each without the runs of its pair, and of forward passes on H200s, written by go run ./cmd/lab bands", len(trusted), len(groupsOf(trusted)))
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
	judged := LeftOut(samples)
	trusted := Trustworthy(judged)
	fmt.Fprintf(&out, "Each pair judged by widths from the others; %d predictions of %d groups:\n\n", len(trusted), len(groupsOf(trusted)))
	coverageTable(&out, validate.Covered(trusted))
	out.WriteString("\nWhat each cause adds, as a logarithm; squares add up:\n\n| band of |")
	for _, name := range estimate.CauseNames {
		fmt.Fprintf(&out, " %s |", name)
	}
	out.WriteString("\n| --- |" + strings.Repeat(" ---:|", len(estimate.CauseNames)) + "\n")
	for q, w := range FitWidths(samples) {
		fmt.Fprintf(&out, "| %s |", estimate.Quantities[q])
		for _, v := range w {
			fmt.Fprintf(&out, " %s |", number.Plain(v, 3))
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "\nThe doubtful runs judged as well, %d predictions more, which have no part in the widths:\n\n", len(samples)-len(trusted))
	coverageTable(&out, validate.Covered(judged))
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
