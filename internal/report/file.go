package report

import (
	"compress/gzip"
	"context"
	"io"
	"strings"

	"throughline/internal/atomicfile"
)

type File struct {
	Name    string
	Write   func(io.Writer) error
	Warning string // about what it shows; may be empty
}

// WriteFiles writes files that appear together or not at all. Names ending in ".gz" are compressed
// without a time stamp, so that equal content gives equal bytes.
func WriteFiles(ctx context.Context, files ...File) error {
	return writeSet(ctx, &atomicfile.Set{}, files)
}

// WriteOneOfMany writes a file into a folder that ClearFolder has cleared.
func WriteOneOfMany(ctx context.Context, f File) error {
	return writeSet(ctx, &atomicfile.Set{Cleared: true}, []File{f})
}

// ClearFolder removes what killed processes left in a folder.
func ClearFolder(dir string) { atomicfile.ClearFolder(dir) }

func writeSet(ctx context.Context, s *atomicfile.Set, files []File) error {
	defer s.Discard()
	for _, f := range files {
		write := f.Write
		if strings.HasSuffix(f.Name, ".gz") {
			write = compressed(write)
		}
		if err := s.Add(ctx, f.Name, write); err != nil {
			return err
		}
	}
	return s.Commit(ctx)
}

func compressed(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	}
}

func Bytes(name string, content []byte) File {
	return File{Name: name, Write: func(w io.Writer) error { _, err := w.Write(content); return err }}
}

// CreateFile writes a new file; if it exists, the error is [fs.ErrExist].
func CreateFile(ctx context.Context, f File) error { return atomicfile.Create(ctx, f.Name, f.Write) }
