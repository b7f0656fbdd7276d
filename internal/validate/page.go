package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"throughline/estimate"
)

// BandsOf is the widths that samples tell, as the file of package estimate.
func BandsOf(samples []Sample) ([]byte, error) {
	b := estimate.Bands{Widths: map[string]estimate.Width{}}
	for q, w := range FitWidths(samples) {
		b.Widths[estimate.Quantities[q]] = w
	}
	trusted := Trustworthy(samples)
	b.Source = fmt.Sprintf("%d predictions of %d groups of serving runs (aiconfigurator, Apache-2.0) and forward passes (H200), and TPOT of runs with drafts that others have published, written by go run ./cmd/bands", len(trusted), len(groupsOf(trusted)))
	src, err := json.MarshalIndent(b, "", "  ")
	return append(src, '\n'), err
}

var page = regexp.MustCompile("(?s)(<!-- bands -->\n).*?(<!-- end bands -->\n)")

// BandsPage is a page with the tables of coverage put between the marks for them.
func BandsPage(doc []byte, samples []Sample) ([]byte, error) {
	if !page.Match(doc) {
		return nil, fmt.Errorf("no marks for the tables of bands")
	}
	var out bytes.Buffer
	trusted := Trustworthy(samples)
	table := func(list []Coverage) {
		out.WriteString("| band of | confidence | rows | inside | narrowest third | middle | widest | median band |\n| --- | --- | ---:| --- | --- | --- | --- | --- |\n")
		for i := range list {
			fmt.Fprintf(&out, "| %s |\n", strings.Join(list[i].Cells(), " | "))
		}
	}
	fmt.Fprintf(&out, "Either half of the groups, taken in turns from their sorted names, judged by widths from the other half; %d predictions of %d groups:\n\n", len(trusted), len(groupsOf(trusted)))
	table(Covered(CrossCovered(trusted, groupsOf(trusted))))
	fmt.Fprintf(&out, "\nThe mean of %d ways to halve the groups by chance:\n\n", splits)
	table(MeanCovered(samples))
	fmt.Fprintf(&out, "\nThe doubtful runs judged as well, %d predictions more, whose widths they have no part in:\n\n", len(samples)-len(trusted))
	table(Covered(CrossCovered(samples, groupsOf(trusted))))
	return page.ReplaceAllFunc(doc, func(block []byte) []byte {
		m := page.FindSubmatch(block)
		return bytes.Join([][]byte{m[1], m[2]}, out.Bytes())
	}), nil
}
