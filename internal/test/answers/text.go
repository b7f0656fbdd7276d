package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// field is the differences of one value over the answers of a command.
type field struct {
	command, path string
	answers       map[string]bool
	values        int
	largest       *difference
}

// elements matches those of lists, which are one field.
var elements = regexp.MustCompile(`\[[^\]]*\]`)

// fields groups differences, those that moved most first, texts apart from numbers.
func (d *differences) fields() (numbers, texts []*field) {
	byName := map[string]*field{}
	for i := range d.list {
		x := &d.list[i]
		kind := "number"
		if math.IsNaN(x.change) {
			kind = "text"
		}
		path := elements.ReplaceAllString(x.path, "[]")
		name := kind + " " + x.command + " " + path
		f := byName[name]
		if f == nil {
			f = &field{command: x.command, path: path, answers: map[string]bool{}}
			byName[name] = f
			if kind == "number" {
				numbers = append(numbers, f)
			} else {
				texts = append(texts, f)
			}
		}
		f.answers[x.key] = true
		f.values++
		if f.largest == nil || math.Abs(x.change) > math.Abs(f.largest.change) {
			f.largest = x
		}
	}
	slices.SortStableFunc(numbers, func(a, b *field) int { return cmp.Compare(math.Abs(b.largest.change), math.Abs(a.largest.change)) })
	slices.SortStableFunc(texts, func(a, b *field) int { return cmp.Compare(b.values, a.values) })
	return numbers, texts
}

func (d *differences) text(most int) string {
	if !d.moved() {
		return fmt.Sprintf("nothing moved: %d answers, %d numbers\n", d.answers, d.numbers)
	}
	var out strings.Builder
	out.WriteString(d.table())
	numbers, texts := d.fields()
	for _, part := range []struct {
		title  string
		fields []*field
	}{{"Numbers that moved most, one line for each field", numbers}, {"Texts, refusals and values that come and go", texts}} {
		if len(part.fields) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n%s:\n", part.title)
		for i, f := range part.fields {
			if i == most {
				fmt.Fprintf(&out, "… and %d fields more; -show N shows N\n", len(part.fields)-most)
				break
			}
			out.WriteString(f.text())
		}
	}
	return out.String()
}

// table counts the changes by command.
func (d *differences) table() string {
	moved, numbers, texts := map[string]map[string]bool{}, map[string]int{}, map[string]int{}
	largest := map[string]float64{}
	all := map[string]bool{}
	for i := range d.list {
		x := &d.list[i]
		if moved[x.command] == nil {
			moved[x.command] = map[string]bool{}
		}
		moved[x.command][x.key], all[x.key] = true, true
		if math.IsNaN(x.change) {
			texts[x.command]++
			continue
		}
		numbers[x.command]++
		largest[x.command] = max(largest[x.command], math.Abs(x.change))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d answers moved (tolerance %g):\n\n", len(all), d.answers, d.tolerance)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "moved\tof\tnumbers\tlargest\tother values\t  command\n")
	for _, command := range sortedKeys(d.perCommand) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%d\t  %s\n", len(moved[command]), d.perCommand[command], numbers[command], percent(largest[command]), texts[command], command)
	}
	w.Flush()
	return out.String()
}

func (f *field) text() string {
	x := f.largest
	change := ""
	if !math.IsNaN(x.change) {
		change = " (" + percent(x.change) + ")"
	}
	return fmt.Sprintf("%s %s: %d values in %d answers\n    %s %s: %s -> %s%s\n",
		f.command, f.path, f.values, len(f.answers), x.key, x.path, short(x.before), short(x.after), change)
}

func percent(change float64) string {
	if change == 0 {
		return ""
	}
	return fmt.Sprintf("%+.3g%%", 100*change)
}

// short truncates a long text.
func short(value string) string {
	if r := []rune(value); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return value
}
