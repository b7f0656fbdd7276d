package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// target is a system and processor that the program is built for.
type target struct{ os, arch string }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func (t target) String() string { return t.os + "/" + t.arch }
func (t target) dashed() string { return t.os + "-" + t.arch }

func (t target) program() string {
	if t.os == "windows" {
		return "throughline.exe"
	}
	return "throughline"
}

// name is what the files of a release begin with.
func (s source) name() string { return "throughline-" + s.number }

// leaner leaves out what programs do not need: minio's own reader of JSON, where Go has one.
const leaner = "stdlibjson"

// told are the packages that read words, print answers and talk to others. Calls inside them are
// not expanded where they stand: a program of 26.9 million bytes has 25.0 so, and what it computes,
// which is elsewhere, takes no longer.
var told = []string{
	"api", "atomicfile", "axis", "bench", "catalogue", "chart", "cli", "csvfile", "difference", "document", "emulate", "exchange", "explain", "fitted", "gap", "gold",
	"jobfile", "matrix", "mcp", "measurement", "names", "page", "parquet", "picture", "profile", "protocol", "question", "rawdata", "report", "result", "runs",
	"scan", "scenario", "secret", "sentence", "shell", "spreadsheet", "store", "sweep", "table", "trace", "validate", "version", "watch", "web", "workbook",
}

// others are the same of the libraries.
var others = []string{
	"archive/...", "bufio", "compress/...", "crypto/...", "embed", "encoding/...", "flag", "fmt", "html/...", "image/...", "io/...", "log/...", "mime/...", "net/...",
	"os/...", "reflect", "regexp/...", "syscall", "text/...", "time", "vendor/...", "github.com/...", "go.yaml.in/...", "golang.org/...", "gonum.org/...",
}

// build compiles the program; no path, time or setting of this machine enters it.
func (s source) build(ctx context.Context, t target, folder string) ([]byte, error) {
	name := filepath.Join(folder, t.dashed(), t.program())
	const variables = "throughline/internal/version."
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", leaner, "-ldflags", "-s -w -buildid= -X " + variables + "Number=" + s.number + " -X " + variables + "revision=" + s.revision}
	for _, p := range others {
		args = append(args, "-gcflags="+p+"=-l")
	}
	for _, p := range told {
		args = append(args, "-gcflags=throughline/internal/"+p+"=-l")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", name, "./cmd/throughline")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOOS="+t.os, "GOARCH="+t.arch)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return os.ReadFile(name)
}

// mostBytes limits the program.
const mostBytes = 25_000_000

// check looks at a program as its users will: small, stripped, and needing no library that a bare
// system lacks.
func check(program []byte, t target) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	want := map[string]string{"GOOS": t.os, "GOARCH": t.arch, "CGO_ENABLED": "0", "-trimpath": "true", "-tags": leaner}
	for key, value := range want {
		if settings[key] != value {
			return fmt.Errorf("it was built with %s=%s, not %s", key, settings[key], value)
		}
	}
	if len(program) > mostBytes {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", len(program), mostBytes)
	}
	libraries, symbols, err := linked(program, t.os)
	if err != nil {
		return err
	}
	if symbols > 0 {
		return fmt.Errorf("it has %d debugging symbols", symbols)
	}
	for _, l := range libraries {
		if !slices.Contains(systemLibraries[t.os], l) {
			return fmt.Errorf("it needs %s", l)
		}
	}
	return nil
}

// systemLibraries is what programs without C link to: systems without a stable kernel interface
// have one library for it.
var systemLibraries = map[string][]string{
	"darwin":  {"/usr/lib/libSystem.B.dylib", "/usr/lib/libresolv.9.dylib", "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation", "/System/Library/Frameworks/Security.framework/Versions/A/Security"},
	"windows": {"kernel32.dll"},
}

// linked lists the libraries that a program loads, and counts its symbols for debuggers.
func linked(program []byte, system string) (libraries []string, symbols int, err error) {
	r := bytes.NewReader(program)
	switch system {
	case "darwin":
		f, err := macho.NewFile(r)
		if err != nil {
			return nil, 0, err
		}
		libraries, err = f.ImportedLibraries()
		if f.Section("__debug_info") != nil || f.Section("__zdebug_info") != nil {
			symbols = 1
		}
		return libraries, symbols, err
	case "windows":
		f, err := pe.NewFile(r)
		if err != nil {
			return nil, 0, err
		}
		libraries, err = f.ImportedLibraries()
		return libraries, len(f.Symbols), err
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, 0, errors.New("it is not static: it has an interpreter")
		}
	}
	all, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, 0, err
	}
	libraries, err = f.ImportedLibraries()
	if errors.Is(err, elf.ErrNoSymbols) {
		err = nil
	}
	return libraries, len(all), err
}

// materials writes the modules of a program with their licences in the CycloneDX format, by the
// tool of that project, whose version the module in sbom pins.
func (s source) materials(ctx context.Context, folder string, t target, out string) error {
	program, err := filepath.Abs(filepath.Join(folder, t.dashed(), t.program()))
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-licenses", "-noserial", "-notimestamp",
		"-version", "v"+s.number, "-output", out, program)
	cmd.Dir = filepath.Join("cmd", "release", "sbom")
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, b)
	}
	return nil
}

// sums writes SHA256SUMS, which sha256sum -c reads.
func sums(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", h.Sum(nil), filepath.Base(name))
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()), 0o666)
}
