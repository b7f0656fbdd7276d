package structure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/internal/test/golden"
)

// linked is a package that the program contains.
type linked struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// allLinked are the packages of other modules in the program, on all systems that it is built for.
func allLinked(t *testing.T) (out []linked) {
	t.Helper()
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/throughline")
		cmd.Dir, cmd.Env, cmd.Stderr = golden.Root, append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0"), os.Stderr
		src, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(strings.NewReader(string(src))); d.More(); {
			var p linked
			if err := d.Decode(&p); err != nil {
				t.Fatal(err)
			}
			if p.Module != nil && !p.Module.Main {
				out = append(out, p)
			}
		}
	}
	return out
}

var legal = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents|third_party_licenses)(\.(txt|md))?$`)

// terms are the files that say under which terms a package may be passed on: those beside it and
// above it in its module.
func terms(t *testing.T, p *linked) (out []string) {
	t.Helper()
	for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !legal.MatchString(e.Name()) {
				continue
			}
			err := filepath.WalkDir(filepath.Join(dir, e.Name()), func(name string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					out = append(out, name)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// TestNotices: THIRD_PARTY_NOTICES has the terms of every module that the program contains, each
// text once. The standard library of Go has those of its other modules.
func TestNotices(t *testing.T) {
	const library = "golang.org/x/sys"
	texts := map[string]map[string]bool{} // of each text the modules
	found := map[string]bool{}
	for _, p := range allLinked(t) {
		name := p.Module.Path + " " + p.Module.Version
		for _, file := range terms(t, &p) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(src), "\r\n", "\n"))
			if texts[text] == nil {
				texts[text] = map[string]bool{}
			}
			inside, _ := filepath.Rel(p.Module.Dir, file)
			texts[text][name+", "+filepath.ToSlash(inside)] = true
			found[name] = true
			if p.Module.Path == library && inside == "LICENSE" {
				texts[text]["The Go standard library"] = true
			}
		}
		if !found[name] {
			t.Errorf("%s has no licence", name)
		}
	}
	type notice struct{ of, text string }
	var all []notice
	for text, of := range texts {
		all = append(all, notice{strings.Join(slices.Sorted(maps.Keys(of)), "\n"), text})
	}
	slices.SortFunc(all, func(a, b notice) int { return cmp.Compare(a.of, b.of) })
	var b strings.Builder
	fmt.Fprintln(&b, "The throughline program contains the software below, under the terms that follow it.")
	line := strings.Repeat("=", 80)
	for _, n := range all {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", line, n.of, line, n.text)
	}
	golden.File(t, filepath.Join(golden.Root, "THIRD_PARTY_NOTICES"), []byte(b.String()))
}
