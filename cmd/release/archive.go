package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

// shown is what an archive has besides the program: what the README speaks of, and leads to.
var shown = []string{"LICENSE", "THIRD_PARTY_NOTICES", "README.md", "README.zh-CN.md", "CHANGELOG.md", "SECURITY.md", "docs", "configs", "schemas", "measure", "hardware/catalogue"}

// contents is what all archives share. Of folders it takes what git knows, lest results of a user
// slip in.
func contents(ctx context.Context) ([]entry, error) {
	names, err := exec.CommandContext(ctx, "git", append([]string{"ls-files", "-z"}, shown...)...).Output()
	if err != nil {
		return nil, err
	}
	out, err := manual()
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, entry{name, 0o644, src})
	}
	return out, nil
}

// write packs the archive of a system, and of Linux the Debian package.
func (s source) write(out string, t target, program []byte, shared []entry) error {
	base := s.name() + "-" + t.dashed()
	entries := []entry{{path.Join(base, t.program()), 0o755, program}}
	for _, e := range shared {
		entries = append(entries, entry{path.Join(base, e.name), e.mode, e.data})
	}
	pack, ending := tarGzip, ".tar.gz"
	if t.os == "windows" {
		pack, ending = zipped, ".zip"
	}
	var b bytes.Buffer
	if err := pack(&b, entries, s.when); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, base+ending), b.Bytes(), 0o666); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	deb, err := s.debian(t, program, shared)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "throughline_"+debianVersion(s.number)+"_"+t.arch+".deb"), deb, 0o666)
}

// withFolders sorts entries and adds the folders that they are in, each before its files.
func withFolders(entries []entry) []entry {
	out := slices.Clone(entries)
	seen := map[string]bool{}
	for _, e := range entries {
		// By its letters: a name that begins with a point keeps it, and its folders sort before it.
		for i, c := range e.name {
			if dir := e.name[:i]; c == '/' && dir != "." && !seen[dir] {
				seen[dir] = true
				out = append(out, entry{dir + "/", fs.ModeDir | 0o755, nil})
			}
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return out
}

// tarred writes a tar archive that holds nothing of the machine it is written on.
func tarred(out io.Writer, entries []entry, when time.Time) error {
	w := tar.NewWriter(out)
	for _, e := range withFolders(entries) {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.data)), ModTime: when, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if e.mode.IsDir() {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}

func tarGzip(out io.Writer, entries []entry, when time.Time) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := tarred(z, entries, when); err != nil {
		return err
	}
	return z.Close()
}

func zipped(out io.Writer, entries []entry, when time.Time) error {
	w := zip.NewWriter(out)
	for _, e := range withFolders(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}
