// Package files is the one way to files that a question names: those of this machine, or those that
// a server was given when it started. Names are as the one who asks writes them.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Door leads to files. One of nil opens none, so that what forgets to have one reads nothing.
type Door struct {
	machine bool
	held    map[string][]byte
	note    func(name string) // nil: nobody asks
}

var Machine = &Door{machine: true}

// Held leads to files in memory, by name, and refuses all others.
func Held(contents map[string][]byte) *Door { return &Door{held: contents} }

// Noted is the same door, and notes the names that it is asked for.
func (d *Door) Noted(note func(name string)) *Door {
	out := Door{note: note}
	if d != nil {
		out.machine, out.held = d.machine, d.held
	}
	return &out
}

// ErrRefused is why a file is not opened, whether or not there is one.
var ErrRefused = errors.New("files are not opened here, but for those that `add` named at the start")

// at is what a door knows of a name: its content, that this machine is asked, or a refusal.
func (d *Door) at(op, name string) (content []byte, machine bool, err error) {
	if d != nil {
		if d.note != nil {
			d.note(name)
		}
		if src, ok := d.held[name]; ok || d.machine {
			return src, d.machine, nil
		}
	}
	return nil, false, &fs.PathError{Op: op, Path: name, Err: ErrRefused}
}

func (d *Door) Open(name string) (fs.File, error) {
	src, machine, err := d.at("open", name)
	if err != nil {
		return nil, err
	}
	if machine {
		return os.Open(name)
	}
	return &file{info{name, int64(len(src))}, bytes.NewReader(src)}, nil
}

// Stat describes a file or a folder, without opening it: it may be a device.
func (d *Door) Stat(name string) (fs.FileInfo, error) {
	src, machine, err := d.at("stat", name)
	if err != nil {
		return nil, err
	}
	if machine {
		return os.Stat(name)
	}
	return info{name, int64(len(src))}, nil
}

func (d *Door) ReadDir(name string) ([]fs.DirEntry, error) {
	_, machine, err := d.at("open", name)
	if err == nil && !machine {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("is no folder")}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadDir(name)
}

// Read holds files by their names as given and without folders. Two of one name are an error.
func Read(read func(name string) ([]byte, error), names []string) (map[string][]byte, error) {
	out, from := map[string][]byte{}, map[string]string{}
	var errs []error
	for _, name := range names {
		src, err := read(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, known := range []string{name, filepath.Base(name)} {
			if other, taken := from[known]; taken && other != name {
				errs = append(errs, fmt.Errorf("%s and %s would both be called %s; rename one of them", other, name, known))
			}
			out[known], from[known] = src, name
		}
	}
	return out, errors.Join(errs...)
}

// file is one in memory.
type file struct {
	about info
	*bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.about, nil }
func (f *file) Close() error               { return nil }

type info struct {
	name string
	size int64
}

func (i info) Name() string       { return filepath.Base(i.name) }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
