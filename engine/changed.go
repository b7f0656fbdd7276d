package engine

import (
	"path"

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
	src, err := document.ChangeNumber(e.Name, src, number, change)
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
