package runs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
)

// needed are columns without which a row says nothing that can be predicted.
var needed = []string{"model", "system", "isl", "osl", "concurrency"}

// Header is the columns of the table to append to, or the default ones if there is no table yet.
func Header(name string) (header []string, exists bool, err error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return Columns(), false, nil
	} else if err != nil {
		return nil, false, document.Unreadable(files.Machine, name, err)
	}
	defer f.Close()
	if header, err = csvfile.NewReader(f, csvfile.Kept).Header(); errors.Is(err, csvfile.ErrEmpty) {
		return Columns(), false, nil
	} else if err != nil {
		return nil, true, fmt.Errorf("%s: %w", name, err)
	}
	var missing []string
	for _, column := range needed {
		if !slices.Contains(header, column) {
			missing = append(missing, column)
		}
	}
	if len(missing) > 0 {
		return nil, true, fmt.Errorf("%s: is no table of runs that rows are appended to: it has no column %s", name, strings.Join(missing, ", "))
	}
	return header, true, nil
}

// Append adds a row, creating the table if needed, and returns what the table has no column for.
func Append(name string, row map[string]string) (lost []string, err error) {
	header, exists, err := Header(name)
	if err != nil {
		return nil, err
	}
	for column, text := range row {
		if text != "" && slices.Contains(Columns(), column) && !slices.Contains(header, column) {
			lost = append(lost, column)
		}
	}
	slices.Sort(lost)
	var b bytes.Buffer
	w := csvfile.NewWriter(&b)
	if !exists {
		err = w.Write(header)
	} else if open, e := unended(name); e != nil {
		return nil, e
	} else if open {
		b.WriteByte('\n')
	}
	if err = errors.Join(err, w.Write(cells(header, row)), w.Flush()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(b.Bytes()) // at once: rows of several programs do not mix
	return lost, errors.Join(err, f.Close())
}

// unended reports whether the last line of a file has no end.
func unended(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var last [1]byte
	if _, err := f.Seek(-1, io.SeekEnd); err != nil {
		return false, err
	}
	_, err = f.Read(last[:])
	return last[0] != '\n', err
}
