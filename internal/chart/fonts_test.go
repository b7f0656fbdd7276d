package chart

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
)

// TestUnalignedFonts: a collection whose tables do not begin at multiples of four bytes, as that of
// WenQuanYi Zen Hei, is read: the reader of fonts alone refuses it.
func TestUnalignedFonts(t *testing.T) {
	plain := goregular.TTF
	tables := int(binary.BigEndian.Uint16(plain[4:]))
	const start = 16 // of the first font of the collection
	file := append([]byte("ttcf\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x10"), plain[:12+16*tables]...)
	for k := range tables {
		record := file[start+12+16*k:]
		from, size := binary.BigEndian.Uint32(record[8:]), binary.BigEndian.Uint32(record[12:])
		for len(file)%4 != 2 {
			file = append(file, 0)
		}
		binary.BigEndian.PutUint32(file[start+12+16*k+8:], uint32(len(file)))
		file = append(file, plain[from:from+size]...)
	}
	if c, err := opentype.ParseCollection(file); err == nil {
		if _, err := c.Font(0); err == nil {
			t.Fatal("the reader of fonts takes tables at any place: nothing is left to align")
		}
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "wqy-test.ttc"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	fonts := readFonts([]string{folder})
	if len(fonts) != 1 || !has(fonts[0], 'A') {
		t.Fatalf("%d fonts were read", len(fonts))
	}
	for cut := range 64 { // files that end too early are no fonts
		if data := aligned(file[:cut]); data != nil {
			t.Errorf("%d bytes are a font", cut)
		}
	}
}
