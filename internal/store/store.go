// Package store keeps files that are whole or absent, and never replaced: in a folder that several
// machines may share, or in a bucket.
package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Store is where files are kept.
type Store interface {
	// Create writes a file, which appears whole; false: there is one of that name already.
	Create(ctx context.Context, name string, write func(io.Writer) error) (created bool, err error)
	// Read returns a file; fs.ErrNotExist: there is none.
	Read(ctx context.Context, name string) ([]byte, error)
	// Names of all files, in order.
	Names(ctx context.Context) ([]string, error)
	// Remove deletes a file, if it is there.
	Remove(ctx context.Context, name string) error
	String() string
}

// Open is the store at a place: a folder, or s3://bucket/prefix. A folder is made where it is not
// there.
func Open(ctx context.Context, place string, create bool) (Store, error) {
	if rest, ok := strings.CutPrefix(place, "s3://"); ok {
		return openBucket(ctx, rest)
	}
	info, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		if err := os.MkdirAll(place, 0o777); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s: %w", place, fs.ErrNotExist)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file; name a folder, or s3://bucket/prefix", place)
	}
	return folder(place), nil
}

type folder string

func (f folder) String() string { return string(f) }

// unfinished starts the names of files that are being written.
const unfinished = ".unfinished-"

// unfinishedName is one that no other process has.
func unfinishedName() string {
	var salt [8]byte
	rand.Read(salt[:])
	return unfinished + hex.EncodeToString(salt[:])
}

// stale is when a file that is being written has been given up: parts take seconds.
const stale = time.Hour

func (f folder) Create(_ context.Context, name string, write func(io.Writer) error) (bool, error) {
	final := filepath.Join(string(f), name)
	if _, err := os.Stat(final); err == nil {
		return false, nil
	}
	temporary := filepath.Join(string(f), unfinishedName())
	defer os.Remove(temporary)
	if err := written(temporary, write); err != nil {
		return false, err
	}
	// A link is made once, whoever tries; some file systems have none.
	switch err := os.Link(temporary, final); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		if err := os.Rename(temporary, final); err != nil {
			return false, err
		}
	}
	return true, synced(string(f))
}

// written writes a file down to the disk.
func written(name string, write func(io.Writer) error) error {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	err = write(out)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// synced brings the entries of a folder down to the disk.
func synced(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

func (f folder) Read(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), name))
}

func (f folder) Names(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(f))
	var out []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, unfinished) {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > stale {
				os.Remove(filepath.Join(string(f), name))
			}
			continue
		}
		if e.Type().IsRegular() {
			out = append(out, name)
		}
	}
	return out, err
}

func (f folder) Remove(_ context.Context, name string) error {
	err := os.Remove(filepath.Join(string(f), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func collected(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b)
	return b.Bytes(), err
}
