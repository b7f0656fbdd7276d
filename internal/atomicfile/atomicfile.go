// Package atomicfile writes the files that commands leave behind: whole, together with those that belong to them, or not
// at all.
//
// A file is written to a temporary name beside its target, synced, and renamed. The temporary file is locked as long as
// its process lives, so that whoever writes the same target later can tell what a killed process left and remove it.
// What is no regular file, such as a device or a pipe, is written directly; a symbolic link is followed.
//
// Files that belong together are renamed one after another. A journal in their folder says which, so that whoever writes
// there after a process was killed in between gives the others their names, too.
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

// Create writes one file that must not be there yet; else the error is [fs.ErrExist].
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
	// Cleared: ClearFolder has looked for what killed processes left. Looking for it again costs more the more files there are.
	Cleared bool

	files []*file
}

// file is one that is written but not yet in its place.
type file struct {
	target    string
	temporary *os.File
	exclusive bool   // the target must not be there
	replaces  bool   // the target was there
	backup    string // the target as it was; empty: not kept
	published bool
}

// temporaries are those of this process.
var temporaries = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// Abandon removes the temporary files of the whole process, after a commit that is under way. It is for a process that is
// about to end: writers that have not noticed yet fail where their context has been cancelled, and only there.
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
	mode := fs.FileMode(0o666) // what the umask leaves of it
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

// Commit puts the files of the set in their places. If one of them fails, the others are as they were.
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

// keep keeps the target as it is under a second name. Where the file system has no such thing, it cannot be taken back.
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
		// The file system has no links: the name is taken before the content comes.
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

// resolve follows symbolic links to the file they mean, which need not be there. What is there and no regular file is to be
// written directly, and so is an open file by its number, as in /dev/stdout.
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
	const most = 40 // as the kernel follows
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

// writeDirectly writes to what cannot be replaced. An open file that is meant to grow does.
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

// writable fails where the file itself could not be written: that its folder can must not be a way around its mode.
func writable(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// suffix ends the names of temporary files, so that nothing else is ever taken for one.
const suffix = ".throughline-tmp"

// prefix starts the names of the temporary files of a target. File systems have names of 255 bytes.
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

// ClearFolder removes the temporary files of all targets in a folder whose processes have ended.
func ClearFolder(dir string) {
	completeJournals(dir)
	clearLeftovers(dir, "")
}

// clearLeftovers removes temporary files whose names start so and whose processes have ended.
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
