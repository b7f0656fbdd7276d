package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"path"
	"strings"
	"time"
)

// maintainer is whom packages name; the domain is one that never exists.
const maintainer = "The Throughline authors <maintainers@throughline.invalid>"

// debianVersion sorts a version before a release below it.
func debianVersion(number string) string { return strings.Replace(number, "-dev", "~dev", 1) }

// debian is a package of Debian: an ar archive of its format, its description and its files
// (man deb.5).
func (s source) debian(t target, program []byte, shared []entry) ([]byte, error) {
	files := []entry{{"usr/bin/throughline", 0o755, program}}
	for _, e := range shared {
		var name string
		switch dir, base := path.Split(e.name); dir {
		case manuals + "/":
			z, err := gzipped(e.data)
			if err != nil {
				return nil, err
			}
			e.data, name = z, "usr/share/man/man1/"+base+".gz"
		case completions + "/bash/":
			name = "usr/share/bash-completion/completions/" + base
		case completions + "/zsh/":
			name = "usr/share/zsh/vendor-completions/" + base
		case completions + "/fish/":
			name = "usr/share/fish/vendor_completions.d/" + base
		case completions + "/powershell/":
			continue
		default:
			name = "usr/share/doc/throughline/" + e.name
			if e.name == "LICENSE" {
				name = "usr/share/doc/throughline/copyright"
			}
		}
		files = append(files, entry{name, e.mode, e.data})
	}
	history := fmt.Sprintf("throughline (%s) unstable; urgency=medium\n\n  * What is new: CHANGELOG.md beside this file.\n\n -- %s  %s\n", debianVersion(s.number), maintainer, s.when.Format(time.RFC1123Z))
	packed, err := gzipped([]byte(history))
	if err != nil {
		return nil, err
	}
	files = append(files, entry{"usr/share/doc/throughline/changelog.gz", 0o644, packed})
	size := 0
	var digests strings.Builder
	for _, f := range files {
		size += len(f.data)
		fmt.Fprintf(&digests, "%x  %s\n", md5.Sum(f.data), f.name)
	}
	control := fmt.Sprintf(`Package: throughline
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Section: science
Priority: optional
Description: predict how language models run on GPUs and other AI chips
 Finds the best way to deploy a model, predicts its speed and memory, and
 explains where the time goes. No GPU is needed.
`, debianVersion(s.number), t.arch, maintainer, (size+1023)/1024)
	var about, data bytes.Buffer
	if err := tarGzip(&about, dotted([]entry{{"control", 0o644, []byte(control)}, {"md5sums", 0o644, []byte(digests.String())}}), s.when); err != nil {
		return nil, err
	}
	if err := tarGzip(&data, dotted(files), s.when); err != nil {
		return nil, err
	}
	return ar([]entry{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, about.Bytes()}, {"data.tar.gz", 0o644, data.Bytes()}}, s.when), nil
}

// dotted names files from the folder that a package is unpacked into.
func dotted(entries []entry) []entry {
	out := make([]entry, len(entries))
	for i, e := range entries {
		out[i] = entry{"./" + e.name, e.mode, e.data}
	}
	return out
}

// ar is the archive format of Unix (man ar.5).
func ar(entries []entry, when time.Time) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, e := range entries {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", e.name, when.Unix(), 0, 0, "100644", len(e.data))
		b.Write(e.data)
		if len(e.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
