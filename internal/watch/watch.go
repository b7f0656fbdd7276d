// Package watch waits for files to change, or be replaced, by polling on any file system.
package watch

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// The polling interval, and how long a change must have settled: a file is not written in one go. A
// missing file has a little longer to come back, which is how some editors save.
const (
	every  = 15 * time.Millisecond
	settle = 25 * time.Millisecond
	absent = 60 * time.Millisecond
)

// State is the metadata of files.
type State map[string]stamp

// stamp is that of a file; zero if it does not exist.
type stamp struct {
	there    bool
	size     int64
	modified time.Time
	info     fs.FileInfo // of the file itself, not its name
}

func Stat(names []string) State {
	s := State{}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			s[name] = stamp{}
			continue
		}
		s[name] = stamp{true, info.Size(), info.ModTime(), info}
	}
	return s
}

// Any reports whether any of the files exists.
func (s State) Any() bool {
	for _, f := range s {
		if f.there {
			return true
		}
	}
	return false
}

func (a stamp) same(b stamp) bool {
	return a.there == b.there && a.size == b.size && a.modified.Equal(b.modified) && (!a.there || os.SameFile(a.info, b.info))
}

// changed are the files that differ now, in order.
func (s State) changed(now State) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !s[name].same(now[name]) {
			names = append(names, name)
		}
	}
	return names
}

// gone reports whether a file has disappeared.
func (s State) gone(now State) bool {
	for name := range s {
		if s[name].there && !now[name].there {
			return true
		}
	}
	return false
}

// Wait returns the names of files that have changed and settled, or none if the context has ended.
func (s State) Wait(ctx context.Context) (names []string) {
	files := slices.Collect(maps.Keys(s))
	tick := time.NewTicker(every)
	defer tick.Stop()
	last, since := s, time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := Stat(files)
		if len(last.changed(now)) > 0 {
			last, since = now, time.Now()
			continue
		}
		need := settle
		if s.gone(now) {
			need = absent
		}
		if names := s.changed(now); len(names) > 0 && time.Since(since) >= need {
			return names
		}
	}
}
