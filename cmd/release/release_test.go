package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"throughline/internal/cli"
	"throughline/internal/test/long"
)

// example is a release of a program of a few bytes.
var example = source{"1.2.3", strings.Repeat("ab", 20), time.Unix(1700000000, 0).UTC()}

// inRoot runs a test in the folder of the module, as make does.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}

// TestArchives: files of a release hold the program, its manual and its terms, and two releases of
// one commit are equal.
func TestArchives(t *testing.T) {
	inRoot(t)
	shared, err := contents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var folders [2]string
	for i := range folders {
		folders[i] = t.TempDir()
		for _, of := range targets {
			if err := example.write(folders[i], of, []byte("program of "+of.String()), shared); err != nil {
				t.Fatal(err)
			}
		}
		if err := sums(folders[i]); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(folders[0], "*"))
	if len(files) != 6+2+1 {
		t.Errorf("there are %q", files)
	}
	for _, name := range files {
		if !bytes.Equal(read(t, name), read(t, filepath.Join(folders[1], filepath.Base(name)))) {
			t.Errorf("%s is another each time", name)
		}
	}
	for _, of := range targets {
		has := unpack(t, folders[0], of)
		base := "throughline-1.2.3-" + of.dashed() + "/"
		for _, name := range []string{"LICENSE", "THIRD_PARTY_NOTICES", "SECURITY.md", "man/man1/throughline-plan.1", "completions/fish/throughline.fish", "docs/plan.md"} {
			if len(has[base+name]) == 0 {
				t.Errorf("%s: there is no %s", of, name)
			}
		}
		if got := string(has[base+of.program()]); got != "program of "+of.String() {
			t.Errorf("%s: the program is %q", of, got)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unpack returns the files of an archive.
func unpack(t *testing.T, folder string, of target) map[string][]byte {
	t.Helper()
	base := filepath.Join(folder, "throughline-1.2.3-"+of.dashed())
	out := map[string][]byte{}
	if of.os == "windows" {
		z, err := zip.OpenReader(base + ".zip")
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if out[f.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	z, err := gzip.NewReader(bytes.NewReader(read(t, base+".tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	untar(t, z, out)
	return out
}

func untar(t *testing.T, r io.Reader, out map[string][]byte) {
	t.Helper()
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[h.Name], err = io.ReadAll(a); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDebian: dpkg unpacks the package where it belongs, and checks what it unpacked.
func TestDebian(t *testing.T) {
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("there is no dpkg-deb")
	}
	inRoot(t)
	shared, err := manual()
	if err != nil {
		t.Fatal(err)
	}
	deb, err := example.debian(target{"linux", "arm64"}, []byte("odd"), shared)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "x.deb")
	if err := os.WriteFile(name, deb, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(dpkg, "-f", name, "Architecture", "Version").CombinedOutput(); err != nil || string(out) != "Architecture: arm64\nVersion: 1.2.3\n" {
		t.Errorf("%s %v", out, err)
	}
	for _, args := range [][]string{{dpkg, "-x", name, dir}, {dpkg, "-e", name, filepath.Join(dir, "DEBIAN")}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %s %v", args, out, err)
		}
	}
	sum := exec.Command("md5sum", "--strict", "--quiet", "-c", "DEBIAN/md5sums")
	sum.Dir = dir
	if out, err := sum.CombinedOutput(); err != nil {
		t.Errorf("%s %v", out, err)
	}
	installs(t, name)
	if info, err := os.Stat(filepath.Join(dir, "usr/bin/throughline")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program: %v %v", info, err)
	}
}

// installs puts a package into an empty system, as root of it, and takes it away again: dpkg, other
// than dpkg-deb, makes no folder that the package does not name before its files.
func installs(t *testing.T, name string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"updates", "info", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("unshare", "-r", "dpkg", "--version").CombinedOutput(); err != nil {
		t.Logf("nothing is installed: %s %v", out, err)
		return
	}
	installed := filepath.Join(root, "usr/share/man/man1/throughline-plan.1.gz")
	for _, args := range [][]string{{"--install", name}, {"--verify", "throughline"}, {"--purge", "throughline"}} {
		cmd := exec.Command("unshare", append([]string{"-r", "dpkg", "--root=" + root, "--log=/dev/null", "--force-architecture"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == "--verify" && len(out) > 0 {
			t.Fatalf("%q: %s %v", args, out, err)
		}
		if _, err := os.Stat(installed); (err == nil) != (args[0] != "--purge") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestImage: every part of the image is where its digest says, from the index down to the files of
// a layer.
func TestImage(t *testing.T) {
	inRoot(t)
	built := map[target][]byte{{"linux", "amd64"}: []byte("on amd64"), {"linux", "arm64"}: []byte("on arm64")}
	image, err := example.image(built)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	untar(t, bytes.NewReader(image), parts)
	blob := func(d descriptor, into any) []byte {
		t.Helper()
		b := parts["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if len(b) != d.Size || d.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(b)) {
			t.Fatalf("%+v has %d bytes", d, len(b))
		}
		if into != nil {
			if err := json.Unmarshal(b, into); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	var index, all struct{ Manifests []descriptor }
	if err := json.Unmarshal(parts["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	blob(index.Manifests[0], &all)
	for _, m := range all.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		blob(m, &manifest)
		var config struct {
			Architecture string
			Config       struct{ Entrypoint []string }
			Rootfs       struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		blob(manifest.Config, &config)
		z, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], nil)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); config.Rootfs.DiffIDs[0] != got {
			t.Errorf("the layer is %s, not %s", got, config.Rootfs.DiffIDs[0])
		}
		files := map[string][]byte{}
		untar(t, bytes.NewReader(plain), files)
		program := strings.TrimPrefix(config.Config.Entrypoint[0], "/")
		if m.Platform.Architecture != config.Architecture || string(files[program]) != "on "+config.Architecture {
			t.Errorf("%+v and %+v have %q", m.Platform, config, files[program])
		}
		checkAuthorities(t, files["etc/ssl/certs/ca-certificates.crt"])
	}
	if len(all.Manifests) != 2 {
		t.Errorf("%d processors", len(all.Manifests))
	}
}

func checkAuthorities(t *testing.T, src []byte) {
	t.Helper()
	n := 0
	for block, rest := pem.Decode(src); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !c.IsCA {
			t.Fatalf("%v: %v", c, err)
		}
		n++
	}
	if n < 50 {
		t.Errorf("only %d authorities", n)
	}
}

// TestManual: every command has a page, whose lines the typesetter does not take for its own.
func TestManual(t *testing.T) {
	pages := map[string]string{}
	entries, err := manual()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pages[e.name] = string(e.data)
	}
	for _, c := range cli.Commands().Commands() {
		if c.IsAvailableCommand() && !strings.Contains(pages["man/man1/throughline-"+c.Name()+".1"], ".SH SYNOPSIS") {
			t.Errorf("there is no page of %s", c.Name())
		}
	}
	if got, want := roff("a-b\n.x\n'y \\n"), "a\\-b\n\\&.x\n\\&'y \\en"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	mandoc, err := exec.LookPath("man")
	if err != nil {
		return
	}
	cmd := exec.Command(mandoc, "--warnings", "-l", "-")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=120", "PAGER=cat", "MANPAGER=cat")
	cmd.Stdin = strings.NewReader(pages["man/man1/throughline-plan.1"])
	var warnings bytes.Buffer
	cmd.Stderr = &warnings
	if out, err := cmd.Output(); err != nil || warnings.Len() > 0 || !strings.Contains(string(out), "--prefill-gpus int") {
		t.Errorf("man: %v %s\n%s", err, &warnings, out)
	}
}

// TestNotes: a release without words about it fails.
func TestNotes(t *testing.T) {
	inRoot(t)
	changes := "# Changelog\n\n## 0.3.0\n\nlater\n\n## 0.2.0\n\nfirst\n"
	if got, err := section(changes, "0.3.0-dev+modified"); err != nil || got != "# Throughline 0.3.0-dev+modified\n\nlater\n" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := section(changes, "0.4.0"); err == nil {
		t.Error("nothing was missed")
	}
	s, err := commit(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if _, err := section(string(read(t, "CHANGELOG.md")), s.number); err != nil {
		t.Error(err)
	}
}

// TestInstalled: the archive of this system, unpacked into an empty folder, holds all that the
// commands of the README need; a second build is the same.
func TestInstalled(t *testing.T) {
	if !long.Mode() {
		t.Skip("builds the program twice")
	}
	inRoot(t)
	here := target{runtime.GOOS, runtime.GOARCH}
	var listed [2]string
	out := t.TempDir()
	for i := range listed {
		if err := release(t.Context(), out, here.String()); err != nil {
			t.Fatal(err)
		}
		listed[i] = string(read(t, filepath.Join(out, "SHA256SUMS")))
	}
	if listed[0] != listed[1] {
		t.Errorf("two builds differ:\n%s%s", listed[0], listed[1])
	}
	archives, _ := filepath.Glob(filepath.Join(out, "*.tar.gz"))
	dir := t.TempDir()
	if b, err := exec.Command("tar", "-C", dir, "-xzf", archives[0]).CombinedOutput(); err != nil {
		t.Fatalf("%s %v", b, err)
	}
	folders, _ := filepath.Glob(filepath.Join(dir, "*"))
	commands := 0
	for line := range strings.Lines(string(read(t, filepath.Join(folders[0], "README.md")))) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "./throughline ")
		if !ok {
			continue
		}
		commands++
		cmd := exec.Command("./throughline", strings.Fields(args)...)
		cmd.Dir, cmd.Env = folders[0], []string{"HOME=" + dir}
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %s %v", args, b, err)
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands", commands)
	}
}
