package report

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// WriteFile writes a file whole or not at all: to a temporary name beside it, then renamed. A name that ends in ".gz" is
// compressed, without a time stamp, so that the same content gives the same bytes.
func WriteFile(name string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if strings.HasSuffix(name, ".gz") {
		z := gzip.NewWriter(f)
		if err := write(z); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
	} else if err := write(f); err != nil {
		return err
	}
	// Temporary files are private; a result is as readable as any other file.
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
