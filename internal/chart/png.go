package chart

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// WritePNG rasterises a scene at a pixel per unit. Most rows equal those above, so each is written
// as the difference, in a third of the time that an encoder takes to choose filters.
func WritePNG(w io.Writer, s *Scene, t *Theme) error {
	img := s.Raster(t)
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	var data bytes.Buffer
	z, err := zlib.NewWriterLevel(&data, zlib.BestSpeed)
	if err != nil {
		return err
	}
	const (
		difference = 2 // filter "up" of the PNG specification
		channels   = 3
	)
	row := make([]byte, 1+channels*width)
	row[0] = difference
	above := make([]byte, 4*width)
	blank := true // the row is zero
	for y := range height {
		pixels := img.Pix[y*img.Stride:][:4*width]
		switch same := bytes.Equal(pixels, above); {
		case same && !blank:
			clear(row[1:])
			blank = true
		case !same:
			for i, at := 0, 1; i < len(pixels); i, at = i+4, at+channels {
				row[at], row[at+1], row[at+2] = pixels[i]-above[i], pixels[i+1]-above[i+1], pixels[i+2]-above[i+2]
			}
			blank = false
		}
		if _, err := z.Write(row); err != nil {
			return err
		}
		above = pixels
	}
	if err := z.Close(); err != nil {
		return err
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	header = append(binary.BigEndian.AppendUint32(header, uint32(height)), 8, 2, 0, 0, 0) // 8 bits of red, green, blue
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		kind string
		data []byte
	}{{"IHDR", header}, {"IDAT", data.Bytes()}, {"IEND", nil}} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.data)))
		body := append([]byte(c.kind), c.data...)
		out = binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
	}
	_, err = w.Write(out)
	return err
}

func (s *Scene) Raster(t *Theme) *image.RGBA {
	r := raster{
		image: image.NewRGBA(image.Rect(0, 0, int(math.Round(s.Width)), int(math.Round(s.Height)))),
		theme: t, faces: map[typeKey]font.Face{}, scale: cmp.Or(s.scale, 1),
	}
	for i := range s.Marks {
		r.mark(&s.Marks[i])
	}
	return r.image
}

type typeKey struct {
	size float64
	font *sfnt.Font
}

type raster struct {
	image *image.RGBA
	theme *Theme
	faces map[typeKey]font.Face
	scale float64
	fill  vector.Rasterizer
}

func (r *raster) mark(m *Mark) {
	c := r.theme.colour(m.Paint, m.On)
	alpha := m.Opacity
	if alpha == 0 {
		alpha = 1
	}
	ground := r.theme.of[Back]
	switch {
	case m.Shape == pixels:
		r.pixels(m)
	case m.Shape == rectangle:
		at := box{m.X, m.Y, m.X + m.W, m.Y + m.H}
		r.rect(at, c, alpha)
		if m.Rim {
			r.strokes([][]XY{{{at.x0, at.y0}, {at.x1, at.y0}, {at.x1, at.y1}, {at.x0, at.y1}, {at.x0, at.y0}}}, 0.7*r.scale, ground, 1)
		}
	case m.Shape == words:
		r.text(m, c)
	case m.Shape == specks:
		for _, p := range m.Lines[0] {
			if m.Rim {
				r.polygon(circle(p, m.Width/2+0.35*r.scale), ground, 1)
			}
			r.polygon(circle(p, m.Width/2), c, alpha)
		}
	case m.Filled:
		for _, l := range m.Lines {
			r.polygon(l, c, alpha)
			if m.Rim {
				r.strokes([][]XY{append(l[:len(l):len(l)], l[0])}, 0.7*r.scale, ground, 1)
			}
		}
	default:
		lines := m.Lines
		if m.Dash {
			lines = dashes(lines, r.scale)
		}
		r.strokes(lines, m.Width, c, alpha)
	}
}

// rect fills a rectangle with antialiased borders.
func (r *raster) rect(b box, c color.RGBA, alpha float64) {
	x0, y0, x1, y1 := b.x0, b.y0, b.x1, b.y1
	cover := func(i int, low, high float64) float64 {
		return max(0, min(high, float64(i+1))-max(low, float64(i)))
	}
	bounds := r.image.Bounds()
	left, right := max(0, int(x0)), min(bounds.Max.X, int(math.Ceil(x1)))
	// Inside, the coverage of a row is constant, and equal to the next row's.
	from, to := max(left, int(math.Ceil(x0))), min(right, int(math.Floor(x1)))
	var inside []byte
	for y := max(0, int(y0)); y < min(bounds.Max.Y, int(math.Ceil(y1))); y++ {
		rows := cover(y, y0, y1) * alpha
		if rows < 0.999 || to <= from {
			for x := left; x < right; x++ {
				r.blend(x, y, c, rows*cover(x, x0, x1))
			}
			continue
		}
		for x := left; x < from; x++ {
			r.blend(x, y, c, cover(x, x0, x1))
		}
		for x := to; x < right; x++ {
			r.blend(x, y, c, cover(x, x0, x1))
		}
		inner := r.image.Pix[r.image.PixOffset(from, y):r.image.PixOffset(to, y)]
		if inside == nil {
			for i := 0; i < len(inner); i += 4 {
				inner[i], inner[i+1], inner[i+2], inner[i+3] = c.R, c.G, c.B, 255
			}
			inside = inner
		} else {
			copy(inner, inside)
		}
	}
}

// blend lays a colour over a pixel.
func (r *raster) blend(x, y int, c color.RGBA, part float64) {
	p := r.image.Pix[r.image.PixOffset(x, y):]
	if part >= 0.999 {
		p[0], p[1], p[2], p[3] = c.R, c.G, c.B, 255
		return
	}
	mix := func(was, is uint8) uint8 { return uint8(float64(was) + part*(float64(is)-float64(was)) + 0.5) }
	p[0], p[1], p[2] = mix(p[0], c.R), mix(p[1], c.G), mix(p[2], c.B)
}

func (r *raster) polygon(l []XY, c color.RGBA, alpha float64) { r.polygons([][]XY{l}, c, alpha) }

// polygons fills closed lines at once, overlaps only once.
func (r *raster) polygons(list [][]XY, c color.RGBA, alpha float64) {
	b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, l := range list {
		for _, p := range l {
			b = box{min(b.x0, p.X), min(b.y0, p.Y), max(b.x1, p.X), max(b.y1, p.Y)}
		}
	}
	x0, y0 := math.Floor(b.x0), math.Floor(b.y0)
	w, h := int(math.Ceil(b.x1)-x0)+1, int(math.Ceil(b.y1)-y0)+1
	if w <= 0 || h <= 0 {
		return
	}
	r.fill.Reset(w, h)
	r.fill.DrawOp = draw.Over
	for _, l := range list {
		for i, p := range l {
			x, y := float32(p.X-x0), float32(p.Y-y0)
			if i == 0 {
				r.fill.MoveTo(x, y)
			} else {
				r.fill.LineTo(x, y)
			}
		}
		r.fill.ClosePath()
	}
	scaled := func(v uint8) uint8 { return uint8(math.Round(float64(v) * alpha)) }
	source := image.NewUniform(color.RGBA{scaled(c.R), scaled(c.G), scaled(c.B), scaled(255)})
	r.fill.Draw(r.image, image.Rect(int(x0), int(y0), int(x0)+w, int(y0)+h), source, image.Point{})
}

// circle is a polygon with many corners.
func circle(c XY, radius float64) []XY {
	const corners = 20
	out := make([]XY, corners)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		out[i] = XY{c.X + radius*cos, c.Y + radius*sin}
	}
	return out
}

// longest piece of a line that is filled at once.
const longest = 40.0

// strokes draws lines of a width; vertical and horizontal ones are rectangles, joints are round.
func (r *raster) strokes(lines [][]XY, width float64, c color.RGBA, alpha float64) {
	half := width / 2
	var shapes [][]XY
	for _, l := range lines {
		for i := 1; i < len(l); i++ {
			a, b := l[i-1], l[i]
			if a.X == b.X || a.Y == b.Y {
				at := box{min(a.X, b.X), min(a.Y, b.Y), max(a.X, b.X), max(a.Y, b.Y)}
				if a.X == b.X {
					at.x0, at.x1 = a.X-half, a.X+half
				} else {
					at.y0, at.y1 = a.Y-half, a.Y+half
				}
				r.rect(at, c, alpha)
				continue
			}
			n := math.Hypot(b.X-a.X, b.Y-a.Y)
			dx, dy := (b.X-a.X)/n*half, (b.Y-a.Y)/n*half
			quad := func(p, q XY) []XY {
				return []XY{{p.X - dy, p.Y + dx}, {p.X + dy, p.Y - dx}, {q.X + dy, q.Y - dx}, {q.X - dy, q.Y + dx}}
			}
			if alpha < 1 { // all at once: overlapping pieces must not add up
				shapes = append(shapes, quad(a, b))
				continue
			}
			// Filling scans the bounding box of a shape, which for a long line is nearly empty.
			for k, pieces := 0, math.Ceil(n/longest); k < int(pieces); k++ {
				from, to := float64(k)/pieces, float64(k+1)/pieces
				r.polygon(quad(XY{a.X + from*(b.X-a.X), a.Y + from*(b.Y-a.Y)}, XY{a.X + to*(b.X-a.X), a.Y + to*(b.Y-a.Y)}), c, alpha)
			}
			if i+1 < len(l) && width > 1.2 {
				r.polygon(circle(b, half), c, alpha)
			}
		}
	}
	if len(shapes) > 0 {
		r.polygons(shapes, c, alpha)
	}
}

// dashes cuts lines into pieces of 5 with gaps of 4 between, times a scale.
func dashes(lines [][]XY, scale float64) [][]XY {
	on, off := 5*scale, 4*scale
	var out [][]XY
	for _, l := range lines {
		at := 0.0 // since the last piece began
		for i := 1; i < len(l); i++ {
			a, b := l[i-1], l[i]
			n := math.Hypot(b.X-a.X, b.Y-a.Y)
			point := func(s float64) XY { return XY{a.X + (b.X-a.X)*s/n, a.Y + (b.Y-a.Y)*s/n} }
			for s := 0.0; s < n-1e-9; {
				if at < on {
					end := min(n, s+on-at)
					out = append(out, []XY{point(s), point(end)})
					at, s = at+end-s, end
				} else {
					end := min(n, s+on+off-at)
					at, s = at+end-s, end
				}
				if at >= on+off-1e-9 {
					at = 0
				}
			}
		}
	}
	return out
}

// text draws a text in parts, each in the font that has its characters.
func (r *raster) text(m *Mark, c color.RGBA) {
	x := textBox(m.Text, m.Size, m.Bold, m.Anchor, m.X, m.Y).x0
	draw := func(f *sfnt.Font, part string) {
		if part == "" {
			return
		}
		if face := r.face(f, m.Size); face != nil {
			d := font.Drawer{Dst: r.image, Src: image.NewUniform(c), Face: face, Dot: fixed.Point26_6{X: fixed.Int26_6(math.Round(x * 64)), Y: fixed.Int26_6(math.Round(m.Y * 64))}}
			d.DrawString(part)
		}
		x += textWidth(part, m.Size, m.Bold)
	}
	built, from := face(m.Bold).font, 0
	var last *sfnt.Font
	for i, one := range m.Text {
		f := cmp.Or(fontOf(one, m.Bold), built)
		if i > 0 && f != last {
			draw(last, m.Text[from:i])
			from = i
		}
		last = f
	}
	draw(last, m.Text[from:])
}

// face is a font at a size, made once; nil if there is none.
func (r *raster) face(f *sfnt.Font, size float64) font.Face {
	key := typeKey{size, f}
	known := r.faces[key]
	if known == nil && f != nil {
		made, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return nil // sizes are ours
		}
		r.faces[key], known = made, made
	}
	return known
}
