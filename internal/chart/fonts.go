package chart

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
)

// fontFolders are where systems keep their fonts.
var fontFolders = []string{
	"/usr/share/fonts", "/usr/local/share/fonts", "$HOME/.fonts", "$HOME/.local/share/fonts",
	"/System/Library/Fonts", "/Library/Fonts", `C:\Windows\Fonts`,
}

// wideFonts are parts of the names of fonts with Chinese, Japanese and Korean characters.
var wideFonts = []string{"cjk", "wqy", "sourcehan", "notosanssc", "droidsansfallback", "pingfang", "heiti", "msyh", "simsun", "simhei", "unifont", "arialuni", "uming", "ukai"}

// otherFonts are those of the system for characters that the built-in font lacks, read once.
var otherFonts = sync.OnceValue(func() []*sfnt.Font { return readFonts(fontFolders) })

func readFonts(folders []string) (out []*sfnt.Font) {
	for _, folder := range folders {
		filepath.WalkDir(os.ExpandEnv(folder), func(path string, e fs.DirEntry, err error) error {
			name := strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(filepath.Base(path)))
			if err != nil || e.IsDir() || len(out) > 0 {
				return nil
			}
			for _, part := range wideFonts {
				if strings.Contains(name, part) {
					if f := readFont(path); f != nil {
						out = append(out, f)
					}
					return nil
				}
			}
			return nil
		})
	}
	return out
}

// readFont is the first font of a file, or nil.
func readFont(path string) *sfnt.Font {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	f, err := opentype.Parse(aligned(data))
	if err != nil {
		return nil
	}
	return f
}

const (
	collectionStart = 12 // of a collection: where the place of its first font stands
	fontHeader      = 12
	tableRecord     = 16 // tag, checksum, offset, length
	tableAlign      = 4
)

// aligned is the first font of a file by itself, its tables at multiples of four bytes: some fonts,
// as WenQuanYi Zen Hei, have them elsewhere, which the reader refuses.
func aligned(data []byte) []byte {
	at := 0
	if len(data) >= collectionStart+4 && string(data[:4]) == "ttcf" {
		at = int(binary.BigEndian.Uint32(data[collectionStart:]))
	}
	if at+fontHeader > len(data) {
		return nil
	}
	head := fontHeader + tableRecord*int(binary.BigEndian.Uint16(data[at+4:]))
	if at+head > len(data) {
		return nil
	}
	out := slices.Clone(data[at : at+head])
	for k := fontHeader; k < head; k += tableRecord {
		from, size := int(binary.BigEndian.Uint32(out[k+8:])), int(binary.BigEndian.Uint32(out[k+12:]))
		if from+size > len(data) {
			return nil
		}
		out = append(out, make([]byte, -len(out)&(tableAlign-1))...)
		binary.BigEndian.PutUint32(out[k+8:], uint32(len(out)))
		out = append(out, data[from:from+size]...)
	}
	return out
}

// has reports whether a font has a character.
func has(f *sfnt.Font, r rune) bool {
	var b sfnt.Buffer
	i, err := f.GlyphIndex(&b, r)
	return err == nil && i != 0
}

// fontOf is the font that has a character: the built-in one, or one of the system; nil: none.
func fontOf(r rune, bold bool) *sfnt.Font {
	if f := face(bold).font; r < commonRunes || has(f, r) {
		return f
	}
	for _, f := range otherFonts() {
		if has(f, r) {
			return f
		}
	}
	return nil
}

// Unreadable are the characters of a scene that no font at hand has; a PNG shows boxes for them.
func (s *Scene) Unreadable() string {
	out := ""
	for i := range s.Marks {
		for _, r := range s.Marks[i].Text {
			if fontOf(r, s.Marks[i].Bold) == nil && !strings.ContainsRune(out, r) {
				out += string(r)
			}
		}
	}
	return out
}

// Scaled is a scene as many times as large.
func (s *Scene) Scaled(k float64) *Scene {
	out := *s
	out.Width, out.Height, out.scale = k*s.Width, k*s.Height, k
	out.Marks = make([]Mark, len(s.Marks))
	for i, m := range s.Marks {
		m.X, m.Y, m.W, m.H, m.Width, m.Size = k*m.X, k*m.Y, k*m.W, k*m.H, k*m.Width, k*m.Size
		lines := make([][]XY, len(m.Lines))
		for j, l := range m.Lines {
			lines[j] = make([]XY, len(l))
			for n, p := range l {
				lines[j][n] = XY{k * p.X, k * p.Y}
			}
		}
		m.Lines = lines
		out.Marks[i] = m
	}
	return &out
}
