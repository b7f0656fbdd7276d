// Package spreadsheet writes workbooks in the Office Open XML format (ECMA-376, part 1): sheets row
// by row, which are kept compressed until the workbook is written, and charts of them.
package spreadsheet

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
)

const MostColumns = 16384

type Book struct {
	sheets []*Sheet
	styles []Style
	parts  []*part
}

type Style struct {
	Bold, Filled bool
	Size         int  // of the letters; 0: as everywhere
	Wrapped      bool // onto lines
	Top          bool // where others of the row are wrapped
	Right        bool
	Inset        bool   // from the left, where a number may stand beside it
	Format       string // of a number
}

// New is a workbook of sheets, in this order.
func New(names ...string) *Book {
	b := &Book{styles: []Style{{}}}
	for i, name := range names {
		b.sheets = append(b.sheets, &Sheet{name: name, book: b, part: newPart(fmt.Sprintf("xl/worksheets/sheet%d.xml", 1+i))})
	}
	return b
}

func (b *Book) Sheet(name string) *Sheet {
	return b.sheets[slices.IndexFunc(b.sheets, func(s *Sheet) bool { return s.name == name })]
}

func (b *Book) style(s Style) int {
	i := slices.Index(b.styles, s)
	if i < 0 {
		i = len(b.styles)
		b.styles = append(b.styles, s)
	}
	return i
}

// part is a file of the archive, held compressed.
type part struct {
	name   string
	packed bytes.Buffer
	packer *flate.Writer
	sum    uint32
	size   uint64
}

func newPart(name string) *part {
	p := &part{name: name}
	// Half the time of the default level, and a tenth larger. There is such a level: no error.
	p.packer, _ = flate.NewWriter(&p.packed, flate.BestSpeed)
	return p
}

func (p *part) Write(b []byte) (int, error) {
	p.sum, p.size = crc32.Update(p.sum, crc32.IEEETable, b), p.size+uint64(len(b))
	return p.packer.Write(b)
}

func (b *Book) add(name, text string) {
	p := newPart(name)
	io.WriteString(p, declaration+text)
	b.parts = append(b.parts, p)
}

const (
	declaration = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	office      = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	main        = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	packaged    = "http://schemas.openxmlformats.org/package/2006/"
	spoken      = "application/vnd.openxmlformats-"
)

// relation is a part that another one names by its place in a list.
type relation struct{ kind, target string }

func (b *Book) relate(name string, list []relation) {
	var text strings.Builder
	for i, r := range list {
		fmt.Fprintf(&text, `<Relationship Id="rId%d" Type="%s/%s" Target="%s"/>`, 1+i, office, r.kind, r.target)
	}
	b.add(name, `<Relationships xmlns="`+packaged+`relationships">`+text.String()+`</Relationships>`)
}

// Write completes the workbook; its bytes depend on what is in it alone.
func (b *Book) Write(out io.Writer) error {
	var types, sheets, names strings.Builder
	var relations []relation
	charts := 0
	for i, s := range b.sheets {
		fmt.Fprintf(&types, `<Override PartName="/%s" ContentType="%sofficedocument.spreadsheetml.worksheet+xml"/>`, s.part.name, spoken)
		fmt.Fprintf(&sheets, `<sheet name="%s" sheetId="%d" r:id="rId%d"/>`, escaped(s.name), 1+i, 1+i)
		names.WriteString(s.names(i))
		relations = append(relations, relation{"worksheet", fmt.Sprintf("worksheets/sheet%d.xml", 1+i)})
		s.close()
		b.parts = append(b.parts, s.part)
		b.draw(s, 1+i, &charts, &types)
	}
	if names.Len() > 0 {
		names = *wrapped("definedNames", names.String())
	}
	b.add("xl/workbook.xml", fmt.Sprintf(`<workbook xmlns="%s" xmlns:r="%s"><sheets>%s</sheets>%s</workbook>`, main, office, sheets.String(), names.String()))
	b.relate("xl/_rels/workbook.xml.rels", append(relations, relation{"styles", "styles.xml"}))
	b.relate("_rels/.rels", []relation{{"officeDocument", "xl/workbook.xml"}})
	b.add("xl/styles.xml", b.stylesXML())
	slices.SortFunc(b.parts, func(x, y *part) int { return strings.Compare(x.name, y.name) })
	b.add("[Content_Types].xml", `<Types xmlns="`+packaged+`content-types">`+
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>`+
		`<Override PartName="/xl/workbook.xml" ContentType="`+spoken+`officedocument.spreadsheetml.sheet.main+xml"/>`+
		`<Override PartName="/xl/styles.xml" ContentType="`+spoken+`officedocument.spreadsheetml.styles+xml"/>`+types.String()+`</Types>`)
	last := len(b.parts) - 1
	return pack(out, append(b.parts[last:], b.parts[:last]...)) // the types come first, as some readers expect
}

func wrapped(tag, text string) *strings.Builder {
	var out strings.Builder
	fmt.Fprintf(&out, "<%s>%s</%s>", tag, text, tag)
	return &out
}

func pack(out io.Writer, parts []*part) error {
	z := zip.NewWriter(out)
	for _, p := range parts {
		if err := p.packer.Close(); err != nil {
			return err
		}
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: p.name, Method: zip.Deflate, CRC32: p.sum, CompressedSize64: uint64(p.packed.Len()), UncompressedSize64: p.size,
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(p.packed.Bytes()); err != nil {
			return err
		}
	}
	return z.Close()
}

func (b *Book) stylesXML() string {
	var formats, fonts, cells strings.Builder
	for i, s := range b.styles {
		size, bold, format, fill, aligned := 11, "", 0, 0, ""
		if s.Size > 0 {
			size = s.Size
		}
		if s.Bold {
			bold = "<b/>"
		}
		if s.Filled {
			fill = 2 // after the two that every workbook has
		}
		if s.Format != "" {
			format = 164 + i // the first that is not built in
			fmt.Fprintf(&formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, format, escaped(s.Format))
		}
		switch {
		case s.Right:
			aligned = ` horizontal="right"`
		case s.Inset:
			aligned = ` horizontal="left" indent="1"`
		}
		switch {
		case s.Wrapped:
			aligned += ` vertical="top" wrapText="1"`
		case s.Top:
			aligned += ` vertical="top"`
		}
		fmt.Fprintf(&fonts, `<font>%s<sz val="%d"/><name val="Calibri"/><family val="2"/></font>`, bold, size)
		fmt.Fprintf(&cells, `<xf numFmtId="%d" fontId="%d" fillId="%d" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1" applyFill="1" applyAlignment="1">`+
			`<alignment%s/></xf>`, format, i, fill, aligned)
	}
	n := len(b.styles)
	count := strings.Count(formats.String(), "<numFmt ")
	listed := ""
	if count > 0 {
		listed = fmt.Sprintf(`<numFmts count="%d">%s</numFmts>`, count, formats.String())
	}
	return fmt.Sprintf(`<styleSheet xmlns="%s">%s<fonts count="%d">%s</fonts>`+
		`<fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>`+
		`<fill><patternFill patternType="solid"><fgColor rgb="FFDDE6F0"/><bgColor indexed="64"/></patternFill></fill></fills>`+
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>`+
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="%d">%s</cellXfs>`+
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`, main, listed, n, fonts.String(), n, cells.String())
}
