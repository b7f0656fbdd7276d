// Package atomicfile writes the files that commands leave behind: complete and together, or not.
//
// A file is written to a temporary name beside its target, synced, and renamed. The temporary file
// is locked while its process lives, so that later writers of the same target recognise and remove
// what a killed process left. Devices and pipes are written directly; symbolic links are followed.
//
// Files that belong together are renamed one after another. A journal in their folder lists them,
// so that the next writer there completes the renames of a killed process.
package atomicfile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Write writes one file. It leaves no trace once the context has been cancelled.
func Write(ctx context.Context, name string, write func(io.Writer) error) error {
	var s Set
	defer s.Discard()
	if err := s.Add(ctx, name, write); err != nil {
		return err
	}
	return s.Commit(ctx)
}

// Create writes a new file; the error is [fs.ErrExist] if it exists.
func Create(ctx context.Context, name string, write func(io.Writer) error) error {
	if _, err := os.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	var s Set
	defer s.Discard()
	if err := s.Add(ctx, name, write); err != nil {
		return err
	}
	for _, f := range s.files {
		f.exclusive = true
	}
	return s.Commit(ctx)
}

// Set is files that appear together.
type Set struct {
	// Cleared: ClearFolder has removed leftovers, which costs more the more files there are.
	Cleared bool

	files []*file
}

// file is written but not yet in its place.
type file struct {
	target    string
	temporary *os.File
	exclusive bool   // the target must not exist
	replaces  bool   // the target existed
	backup    string // the previous target, if kept
	published bool
}

// temporaries of this process.
var temporaries = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// Abandon removes the temporary files of this process after a commit under way, before it ends.
// Only writers with a cancelled context fail.
func Abandon() {
	temporaries.Lock()
	defer temporaries.Unlock()
	for name := range temporaries.names {
		os.Remove(name)
		delete(temporaries.names, name)
	}
}

// Add writes a file of the set to the disk, under a temporary name.
func (s *Set) Add(ctx context.Context, name string, write func(io.Writer) error) error {
	target, direct, err := resolve(name)
	if err != nil {
		return err
	}
	if direct {
		return writeDirectly(name, write)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
		return err
	}
	f := &file{target: target}
	mode := fs.FileMode(0o666) // before the umask
	before, err := os.Stat(target)
	switch {
	case err == nil:
		f.replaces, mode = true, 0o600
		if err := writable(target); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if !s.Cleared {
		completeJournals(filepath.Dir(target))
		clearLeftovers(filepath.Dir(target), prefix(target))
	}
	if f.temporary, err = create(ctx, target, mode); err != nil {
		return err
	}
	s.files = append(s.files, f)
	if f.replaces {
		keepOwner(f.temporary, before)
		if err := f.temporary.Chmod(before.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := write(f.temporary); err != nil {
		return err
	}
	return f.temporary.Sync()
}

// Commit puts the files of the set in their places. If one fails, the others are restored.
func (s *Set) Commit(ctx context.Context) error {
	temporaries.Lock()
	defer temporaries.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	remove, err := s.announce()
	if err != nil {
		return err
	}
	defer remove()
	for i, f := range s.files {
		if len(s.files) > 1 && f.replaces {
			f.keep()
		}
		if err := f.publish(); err != nil {
			remove()
			for j := i - 1; j >= 0; j-- {
				s.files[j].takeBack()
			}
			f.forget()
			return err
		}
		published()
	}
	for _, f := range s.files {
		f.forget()
		syncFolder(filepath.Dir(f.target))
	}
	return nil
}

// published is called after each file of a set has its name. Tests end the process there.
var published = func() {}

// Discard removes what has not been committed.
func (s *Set) Discard() {
	temporaries.Lock()
	defer temporaries.Unlock()
	for _, f := range s.files {
		if !f.published {
			f.temporary.Close()
			os.Remove(f.temporary.Name())
			delete(temporaries.names, f.temporary.Name())
		}
	}
	s.files = nil
}

// keep links the target to a second name; on file systems without links it cannot be restored.
func (f *file) keep() {
	backup := temporaryName(f.target)
	if os.Link(f.target, backup) == nil {
		f.backup = backup
	}
}

// publish gives the file its name.
func (f *file) publish() error {
	name := f.temporary.Name()
	if runtime.GOOS == "windows" { // where an open file keeps its name
		f.temporary.Close()
	}
	if f.exclusive {
		// Two processes that create the same file must not both succeed.
		err := os.Link(name, f.target)
		switch {
		case err == nil:
			os.Remove(name)
			f.done(name)
			return nil
		case errors.Is(err, fs.ErrExist):
			return &fs.PathError{Op: "create", Path: f.target, Err: fs.ErrExist}
		}
		// Without links, the name is taken before the content comes.
		claim, err := os.OpenFile(f.target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		claim.Close()
	}
	if err := os.Rename(name, f.target); err != nil {
		if f.exclusive {
			os.Remove(f.target)
		}
		return err
	}
	f.done(name)
	return nil
}

func (f *file) done(temporary string) {
	f.temporary.Close()
	f.published = true
	delete(temporaries.names, temporary)
}

// takeBack undoes publish.
func (f *file) takeBack() {
	switch {
	case f.backup != "":
		os.Rename(f.backup, f.target)
		f.backup = ""
	case !f.replaces:
		os.Remove(f.target)
	}
}

func (f *file) forget() {
	if f.backup != "" {
		os.Remove(f.backup)
		f.backup = ""
	}
}

// resolve follows symbolic links to their target, which need not exist. Irregular files, and open
// ones such as /dev/stdout, are to be written directly.
func resolve(name string) (target string, direct bool, err error) {
	if name == "" {
		return "", false, errors.New("an empty name is no file")
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return "", false, fmt.Errorf("%s is a folder", name)
	}
	if err == nil && !info.Mode().IsRegular() {
		return name, true, nil
	}
	const most = 40 // the kernel's limit
	for range most {
		info, err := os.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return name, false, nil
		}
		to, err := os.Readlink(name)
		if err != nil {
			return "", false, err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			return "", false, err
		}
		if strings.HasPrefix(dir, "/proc/") || dir == "/dev/fd" {
			return name, true, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		name = to
	}
	return "", false, fmt.Errorf("%s is a symbolic link that leads nowhere", name)
}

// writeDirectly writes to what cannot be replaced, appending to open files.
func writeDirectly(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// writable fails where the file itself is read-only: a writable folder must not bypass its mode.
func writable(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// suffix of temporary files, so that nothing else is ever taken for one.
const suffix = ".throughline-tmp"

// prefix of the temporary files of a target. File systems limit names to 255 bytes.
func prefix(target string) string {
	base := filepath.Base(target)
	return "." + strings.ToValidUTF8(base[:min(len(base), 200)], "") + "."
}

func temporaryName(target string) string {
	return filepath.Join(filepath.Dir(target), prefix(target)+rand.Text()[:10]+suffix)
}

// create makes a temporary file beside its target and locks it.
func create(ctx context.Context, target string, mode fs.FileMode) (*os.File, error) {
	temporaries.Lock()
	defer temporaries.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := temporaryName(target)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		if lock(f) && stillThere(f) {
			temporaries.names[name] = true
			return f, nil
		}
		// Another process took it for a leftover before it was locked.
		f.Close()
		os.Remove(name)
	}
}

// stillThere reports whether the name of an open file is still its own.
func stillThere(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// ClearFolder removes the leftovers of all targets in a folder.
func ClearFolder(dir string) {
	completeJournals(dir)
	clearLeftovers(dir, "")
}

// clearLeftovers removes temporary files with a prefix whose processes have ended.
func clearLeftovers(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // they stay for another time
	}
	for _, e := range entries {
		if n := e.Name(); e.Type().IsRegular() && strings.HasPrefix(n, prefix) && strings.HasSuffix(n, suffix) {
			removeLeftover(filepath.Join(dir, n))
		}
	}
}
