package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"throughline/internal/test/cloud"
)

// stores are a folder and a bucket, which behave alike.
func stores(t *testing.T) map[string]Store {
	t.Helper()
	return map[string]Store{"folder": open(t, t.TempDir()), "bucket": openService(t, cloud.New(true))}
}

func open(t *testing.T, place string) Store {
	t.Helper()
	s, err := Open(context.Background(), place, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openService(t *testing.T, s *cloud.Service) Store {
	t.Helper()
	s.Start(t)
	return open(t, "s3://bucket/scans/one")
}

func text(content string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, content); return err }
}

// A file is there as a whole, and the first one of its name stays.
func TestFirstStays(t *testing.T) {
	ctx := context.Background()
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			if created, err := s.Create(ctx, "a", text("first")); err != nil || !created {
				t.Fatal(created, err)
			}
			if created, err := s.Create(ctx, "a", text("second")); err != nil || created {
				t.Error("a second file of the same name", created, err)
			}
			if data, err := s.Read(ctx, "a"); err != nil || string(data) != "first" {
				t.Errorf("%q, %v", data, err)
			}
			if _, err := s.Read(ctx, "b"); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			if names, err := s.Names(ctx); err != nil || !slices.Equal(names, []string{"a"}) {
				t.Error(names, err)
			}
			if err := errors.Join(s.Remove(ctx, "a"), s.Remove(ctx, "a")); err != nil {
				t.Error(err)
			}
			if names, _ := s.Names(ctx); len(names) != 0 {
				t.Error(names)
			}
		})
	}
}

// What cannot be written to its end, as on a full disk, leaves nothing.
func TestHalfWritten(t *testing.T) {
	ctx, full := context.Background(), errors.New("no space left on device")
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			created, err := s.Create(ctx, "a", func(w io.Writer) error { io.WriteString(w, "half"); return full })
			if created || !errors.Is(err, full) {
				t.Error(created, err)
			}
			if names, _ := s.Names(ctx); len(names) != 0 {
				t.Error(names)
			}
			if f, ok := s.(folder); ok {
				if left, _ := os.ReadDir(string(f)); len(left) != 0 {
					t.Errorf("%v is left", left)
				}
			}
		})
	}
}

// Of four workers that send the same 50 files, 50 are taken and 150 refused.
func TestFourWorkers(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			var taken, refused int
			var lock sync.Mutex
			var group sync.WaitGroup
			for worker := range 4 {
				group.Go(func() {
					for i := range 50 {
						created, err := s.Create(context.Background(), fmt.Sprintf("part-%d", (i+worker*13)%50), text("the same"))
						if err != nil {
							t.Error(err)
						}
						lock.Lock()
						if created {
							taken++
						} else {
							refused++
						}
						lock.Unlock()
					}
				})
			}
			group.Wait()
			if taken != 50 || refused != 150 {
				t.Errorf("%d taken, %d refused", taken, refused)
			}
		})
	}
}

// A bucket that replaces files is known, whoever else finds it out at the same time.
func TestUnguardedBucket(t *testing.T) {
	ctx := context.Background()
	refusing := openService(t, cloud.New(true))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if guarded, err := IsGuarded(ctx, refusing); !guarded || err != nil {
					t.Error("a bucket that refuses is not known", err)
				}
			}
		})
	}
	group.Wait()
	service := cloud.New(false)
	s := openService(t, service)
	if guarded, err := IsGuarded(ctx, s); guarded || err != nil {
		t.Error("a bucket that replaces files is not known", err)
	}
	if created, err := s.Create(ctx, "a", text("x")); err != nil || !created {
		t.Error(created, err)
	}
	if got := service.Object("scans/one/a"); string(got) != "x" {
		t.Errorf("%q", got)
	}
}

// Files that a process left unfinished are no files.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, unfinished+"0"), []byte("half"), 0o666); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, unfinished+"1")
	given := time.Now().Add(-61 * time.Minute)
	if err := errors.Join(os.WriteFile(left, nil, 0o666), os.Chtimes(left, given, given)); err != nil {
		t.Fatal(err)
	}
	if names, err := open(t, dir).Names(context.Background()); err != nil || len(names) != 0 {
		t.Error(names, err)
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != 1 || there[0].Name() != unfinished+"0" {
		t.Errorf("%v is left, %v: what was given up an hour ago is removed, and nothing else", there, err)
	}
}

func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{file, "s3://", filepath.Join(file, "below")} {
		if _, err := Open(context.Background(), place, true); err == nil {
			t.Errorf("%s is no place", place)
		}
	}
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "none"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
