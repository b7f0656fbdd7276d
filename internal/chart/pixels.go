package chart

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
)

// dataURL is a grid of paints as a PNG with a pixel for each, in the colours of its theme.
func (m *Mark) dataURL() string {
	palette := make(color.Palette, paints)
	for p := range palette {
		palette[p] = m.For.colour(Paint(p), false)
	}
	img := image.NewPaletted(image.Rect(0, 0, m.Columns, len(m.Grid)/m.Columns), palette)
	for i, p := range m.Grid {
		img.Pix[i] = uint8(p)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a builder does not fail
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// pixels fills the cells of a grid.
func (r *raster) pixels(m *Mark) {
	if m.For != r.theme {
		return
	}
	rows := len(m.Grid) / m.Columns
	for i, p := range m.Grid {
		x0, x1 := band(i%m.Columns, m.Columns, m.X, m.X+m.W)
		y0, y1 := band(i/m.Columns, rows, m.Y, m.Y+m.H)
		r.rect(box{x0, y0, x1, y1}, r.theme.colour(p, false), 1)
	}
}
