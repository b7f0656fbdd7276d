package chart

// Patch turns a drawing into another, for a page that draws again.
type Patch struct {
	// Width and Height are set where the size changes.
	Width  float64 `json:"width,omitempty"`
	Height float64 `json:"height,omitempty"`
	// Title and Description are set where they change.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	Remove []string  `json:"remove,omitempty"` // ids
	Change []Change  `json:"change,omitempty"`
	Add    []Element `json:"add,omitempty"` // in order, each behind the element that After names
	After  []string  `json:"after,omitempty"`
}

// Change is attributes of an element with other values; null takes one away.
type Change struct {
	ID    string             `json:"id"`
	Attrs map[string]*string `json:"attributes,omitempty"`
	Text  *string            `json:"text,omitempty"`
	Tip   *string            `json:"title,omitempty"`
}

// Diff is the patch from one drawing to another. What stays keeps its order, so that an element
// that moves in it, or becomes of another kind, is taken away and added.
func Diff(from, to *Scene, t *Theme) Patch {
	var p Patch
	if from.Width != to.Width || from.Height != to.Height {
		p.Width, p.Height = to.Width, to.Height
	}
	if from.Title != to.Title {
		p.Title = to.Title
	}
	if from.Description != to.Description {
		p.Description = to.Description
	}
	old, place := map[string]Element{}, map[string]int{}
	for i, e := range from.Elements(t) {
		old[e.ID], place[e.ID] = e, i
	}
	kept := map[string]bool{}
	last, reached := "", -1
	for _, e := range to.Elements(t) {
		was, ok := old[e.ID]
		if ok && was.Tag == e.Tag && was.Link == e.Link && (was.Tip == "") == (e.Tip == "") && place[e.ID] > reached {
			kept[e.ID], reached = true, place[e.ID]
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
	c := Change{ID: is.ID, Attrs: map[string]*string{}}
	for _, a := range was.Attrs {
		c.Attrs[a.Name] = nil
	}
	for _, a := range is.Attrs {
		c.Attrs[a.Name] = &a.Value
	}
	for _, a := range was.Attrs {
		if v := c.Attrs[a.Name]; v != nil && *v == a.Value {
			delete(c.Attrs, a.Name)
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
