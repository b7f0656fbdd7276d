package workbook

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// archive packs the parts of a workbook in the order of their names, so that equal runs give equal
// bytes. Until then it holds them compressed.
type archive struct {
	out   io.Writer
	parts []*part
}

// part is a file of the archive.
type part struct {
	name   string
	packed bytes.Buffer
	packer *flate.Writer
	sum    uint32
	size   uint64
}

// Create starts a part.
func (a *archive) Create(name string) (io.Writer, error) {
	p := &part{name: name}
	var err error
	// Half the time of the default level, and a tenth larger.
	p.packer, err = flate.NewWriter(&p.packed, flate.BestSpeed)
	a.parts = append(a.parts, p)
	if name == contentTypes {
		return &ordered{p}, err
	}
	return p, err
}

func (p *part) Write(b []byte) (int, error) {
	p.sum, p.size = crc32.Update(p.sum, crc32.IEEETable, b), p.size+uint64(len(b))
	return p.packer.Write(b)
}

// contentTypes is the list of types of parts. It comes first, as readers of other programs expect.
const contentTypes = "[Content_Types].xml"

var aDefault = regexp.MustCompile(`<Default [^>]*></Default>`)

// ordered sorts the list of types by extension, which comes in the order of a map.
type ordered struct{ *part }

func (o *ordered) Write(b []byte) (int, error) {
	defaults := aDefault.FindAllString(string(b), -1)
	slices.Sort(defaults)
	i := -1
	text := aDefault.ReplaceAllStringFunc(string(b), func(string) string {
		i++
		return defaults[i]
	})
	_, err := o.part.Write([]byte(text))
	return len(b), err
}

// AddFS is unused.
func (a *archive) AddFS(fs.FS) error { return errors.ErrUnsupported }

// Close writes the archive.
func (a *archive) Close() error {
	slices.SortFunc(a.parts, func(x, y *part) int {
		if x.name == contentTypes || y.name == contentTypes {
			return map[bool]int{true: -1, false: 1}[x.name == contentTypes]
		}
		return strings.Compare(x.name, y.name)
	})
	z := zip.NewWriter(a.out)
	for _, p := range a.parts {
		if err := p.packer.Close(); err != nil {
			return err
		}
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: p.name, Method: zip.Deflate, CRC32: p.sum, CompressedSize64: uint64(p.packed.Len()), UncompressedSize64: p.size,
		})
		if err != nil {
			return err
		}
		if _, err := p.packed.WriteTo(w); err != nil {
			return err
		}
	}
	return z.Close()
}
