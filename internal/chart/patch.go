package chart

// Patch turns a drawing into another, for a page that redraws.
type Patch struct {
	// Size is set where it changes.
	Width  float64   `json:"width,omitempty"`
	Height float64   `json:"height,omitempty"`
	Remove []string  `json:"remove,omitempty"` // ids
	Change []Change  `json:"change,omitempty"`
	Add    []Element `json:"add,omitempty"` // in order, each after the element it names
	After  []string  `json:"after,omitempty"`
}

// Change lists attributes with new values; an empty value removes an attribute.
type Change struct {
	ID    string  `json:"id"`
	Attrs []Attr  `json:"attributes,omitempty"`
	Text  *string `json:"text,omitempty"`
	Tip   *string `json:"title,omitempty"`
}

// Diff returns the patch between two drawings; an element whose kind changes is replaced.
func Diff(from, to *Scene, t *Theme) Patch {
	var p Patch
	if from.Width != to.Width || from.Height != to.Height {
		p.Width, p.Height = to.Width, to.Height
	}
	old := map[string]Element{}
	for _, e := range from.Elements(t) {
		old[e.ID] = e
	}
	kept := map[string]bool{}
	last := ""
	for _, e := range to.Elements(t) {
		was, ok := old[e.ID]
		if ok && was.Tag == e.Tag {
			kept[e.ID] = true
			if c, differs := changed(&was, &e); differs {
				p.Change = append(p.Change, c)
			}
		} else {
			p.Add, p.After = append(p.Add, e), append(p.After, last)
		}
		last = e.ID
	}
	for i := range from.Marks {
		if id := from.Marks[i].ID; !kept[id] {
			p.Remove = append(p.Remove, id)
		}
	}
	return p
}

func changed(was, is *Element) (Change, bool) {
	c := Change{ID: is.ID}
	values := map[string]string{}
	for _, a := range was.Attrs {
		values[a.Name] = a.Value
	}
	for _, a := range is.Attrs {
		if v, ok := values[a.Name]; !ok || v != a.Value {
			c.Attrs = append(c.Attrs, a)
		}
		delete(values, a.Name)
	}
	for _, a := range was.Attrs {
		if _, gone := values[a.Name]; gone {
			c.Attrs = append(c.Attrs, Attr{a.Name, ""})
		}
	}
	if was.Text != is.Text {
		c.Text = &is.Text
	}
	if was.Tip != is.Tip {
		c.Tip = &is.Tip
	}
	return c, len(c.Attrs) > 0 || c.Text != nil || c.Tip != nil
}
