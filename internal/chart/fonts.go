package chart

import (
	"io/fs"
	"os"
	"path/filepath"
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

// readFonts reads the fonts of folders that have wide characters.
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
	if c, err := opentype.ParseCollection(data); err == nil && c.NumFonts() > 0 {
		if f, err := c.Font(0); err == nil {
			return f
		}
	}
	return nil
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
