package chart

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"math"
	"strings"
	"testing"
)

// A heat map of more than ten thousand cells is an image in the drawing, with the paint of each
// cell where the cell is, in the colours of the theme; one less and its cells are elements.
func TestPixels(t *testing.T) {
	const columns, rows = 101, 100
	value := func(x, y int) float64 {
		if x == 7 && y == 5 {
			return math.NaN()
		}
		return float64(1 + x*y)
	}
	heat := func(most int) *Chart {
		p := Panel{LogCells: true}
		for x := range columns {
			p.X.Bands = append(p.X.Bands, fmt.Sprint(x))
		}
		for y := range rows {
			p.Y.Bands = append(p.Y.Bands, fmt.Sprint(y))
		}
		for y := range rows {
			for x := range columns {
				if len(p.Cells) < most {
					p.Cells = append(p.Cells, Cell{X: x, Y: y, Value: value(x, y)})
				}
			}
		}
		return &Chart{Kind: "heatmap", Title: "heat", Panels: []Panel{p}}
	}
	count := func(s *Scene, tag string) (n int) {
		for _, e := range s.Elements(nil) {
			if e.Tag == tag {
				n++
			}
		}
		return n
	}
	scene := heat(columns*rows).Draw(900, 600, "")
	if n := count(scene, "image"); n != 2 {
		t.Fatalf("%d images", n)
	}
	if n := count(heat(MostCells).Draw(900, 600, ""), "image"); n != 0 {
		t.Errorf("%d images of %d cells", n, MostCells)
	}
	for _, theme := range []*Theme{Light, Dark} {
		raster := scene.Raster(theme)
		for _, m := range scene.Marks {
			if m.Shape != pixels || m.For != theme {
				continue
			}
			src, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.dataURL(), "data:image/png;base64,"))
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(bytes.NewReader(src))
			if err != nil || img.Bounds().Dx() != columns || img.Bounds().Dy() != rows {
				t.Fatalf("%v: %v", err, img.Bounds())
			}
			for y := range rows {
				for x := range columns {
					paint := Grid
					if v := value(x, y); finite(v) {
						paint = HeatPaint(v, 1, float64(1+(columns-1)*(rows-1)), true)
					}
					want := theme.colour(paint, false)
					if img.At(x, y) != want {
						t.Fatalf("cell %d, %d has %v, not %v", x, y, img.At(x, y), want)
					}
					x0, x1 := band(x, columns, m.X, m.X+m.W)
					y0, y1 := band(y, rows, m.Y, m.Y+m.H)
					if got := raster.RGBAAt(int((x0+x1)/2), int((y0+y1)/2)); math.Abs(float64(got.R)-float64(want.R)) > 40 { // borders of cells are blended
						t.Fatalf("at cell %d, %d the picture has %v, not %v", x, y, got, want)
					}
				}
			}
		}
	}
	for _, v := range []SVG{{Theme: Light}, {Theme: Light, Follow: true}, {Inline: true}} {
		var b strings.Builder
		if err := v.Write(&b, scene); err != nil || b.Len() > 60_000 {
			t.Errorf("%v: %d bytes", err, b.Len())
		}
		if hidden := strings.Count(b.String(), `display="none"`); (hidden == 1) != (v.Theme != nil) {
			t.Errorf("%d images are hidden", hidden)
		}
	}
}
