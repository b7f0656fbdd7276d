package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// patched is what a page does with a patch.
func patched(list []Element, p Patch) []Element {
	out := slices.DeleteFunc(slices.Clone(list), func(e Element) bool { return slices.Contains(p.Remove, e.ID) })
	for _, c := range p.Change {
		at := slices.IndexFunc(out, func(e Element) bool { return e.ID == c.ID })
		e := out[at]
		e.Attrs = slices.DeleteFunc(slices.Clone(e.Attrs), func(a Attr) bool { _, touched := c.Attrs[a.Name]; return touched })
		for name, value := range c.Attrs {
			if value != nil {
				e.Attrs = append(e.Attrs, Attr{name, *value})
			}
		}
		if c.Text != nil {
			e.Text = *c.Text
		}
		if c.Tip != nil {
			e.Tip = *c.Tip
		}
		out[at] = e
	}
	for i, e := range p.Add {
		at := 1 + slices.IndexFunc(out, func(o Element) bool { return o.ID == p.After[i] })
		out = slices.Insert(out, at, e)
	}
	return out
}

// byName orders attributes, which mean the same in any order.
func byName(list []Element) []Element {
	out := slices.Clone(list)
	for i := range out {
		out[i].Attrs = slices.SortedFunc(slices.Values(out[i].Attrs), func(a, b Attr) int { return compareText(a.Name, b.Name) })
	}
	return out
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A patch makes the elements of one drawing those of the other, in their order.
func TestDiff(t *testing.T) {
	charts := absurd()
	same := charts["panels"].Draw(900, 500, "")
	if p := Diff(same, charts["panels"].Draw(900, 500, ""), nil); len(p.Add)+len(p.Change)+len(p.Remove) > 0 || p.Width != 0 {
		t.Errorf("no change is %+v", p)
	}
	moved := absurd()["panels"]
	moved.Panels[0].Bars[3].To += 4
	if p := Diff(same, moved.Draw(900, 500, ""), nil); len(p.Change) == 0 || len(p.Change) > 400 {
		t.Errorf("a bar that grows changes %d elements", len(p.Change))
	}
	for _, pair := range [][2]string{{"panels", "dots"}, {"one bar", "many bars"}, {"heat", "empty"}, {"empty", "equal"}, {"dots", "panels"}, {"many bars", "panels"}} {
		if charts[pair[0]] == nil || charts[pair[1]] == nil {
			t.Fatalf("no charts %v", pair)
		}
		for _, theme := range []*Theme{nil, Dark} {
			from, to := charts[pair[0]].Draw(900, 500, ""), charts[pair[1]].Draw(700, 400, "")
			if diff := cmp.Diff(byName(to.Elements(theme)), byName(patched(from.Elements(theme), Diff(from, to, theme)))); diff != "" {
				t.Errorf("%v: patched differs (-want +got):\n%.2000s", pair, diff)
			}
		}
	}
}
