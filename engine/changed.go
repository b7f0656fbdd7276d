package engine

import (
	"fmt"
	"path"
	"strconv"

	"throughline/internal/document"
)

// Changed is the engine with another number in its file.
func (e *Engine) Changed(number string, change func(was float64) float64) (*Engine, error) {
	name := path.Join("data", e.Name+".json")
	src := e.source
	if src == nil {
		var err error
		if src, err = files.ReadFile(name); err != nil {
			return nil, err
		}
	}
	now := 0.0
	src, err := document.ChangeNumber(e.Name, src, number, func(was float64) float64 { now = change(was); return now })
	if err == nil && now < 0 {
		err = fmt.Errorf("%s: %s must be at least 0, not %s", e.Name, number, strconv.FormatFloat(now, 'g', -1, 64))
	}
	if err != nil {
		return nil, err
	}
	out := &Engine{rules: e.rules, Attention: e.Attention, Options: e.Options, RouterOptions: e.RouterOptions, Tiles: e.Tiles, source: src}
	doc := document.Parse(e.Name, src)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return out, out.decode(doc.Root())
}
