// Package catalogue finds the built-in or user file that a name or path refers to.
package catalogue

import (
	"cmp"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"throughline/internal/document"
)

// Set is a folder of built-in JSON files, named by their base names without the ending.
type Set struct {
	What    string // model, system: for messages
	Files   embed.FS
	Folder  string            // of the files; empty: catalogue
	Aliases map[string]string // other names of files
	// Endings are lower-case words behind a name that mean the same file: trainings, number
	// formats.
	Endings []string
	// Match finds the file of a name that has other words besides; nil: none has.
	Match func(name string) (string, bool)
	// Checkpoints: a folder with a config.json may take the place of a file.
	Checkpoints bool
}

// Find returns the file that a path or name refers to by its base name, with or without ".json".
func (s Set) Find(ref string) ([]byte, bool) {
	name, ok := s.Name(ref)
	if !ok {
		return nil, false
	}
	src, err := fs.ReadFile(s.Files, s.folder()+"/"+name+".json")
	return src, err == nil
}

// Name is the file that a path or name refers to: by exact name; else by names and aliases without
// case and separators; else after dropping endings, one after another.
func (s Set) Name(ref string) (string, bool) {
	name := base(ref)
	for {
		if found, ok := s.named(name); ok {
			return found, true
		}
		shorter, ok := s.withoutEnding(name)
		if !ok && s.Match != nil {
			return s.Match(base(ref))
		} else if !ok {
			return "", false
		}
		name = shorter
	}
}

// withoutEnding is a name without its last word, if that is an ending or a date of four digits.
func (s Set) withoutEnding(name string) (string, bool) {
	at := strings.LastIndexAny(name, "-_ ")
	if at < 1 || len(s.Endings) == 0 {
		return "", false
	}
	word := strings.Trim(strings.ToLower(name[at+1:]), "()")
	isDate := len(word) == 4 && strings.Trim(word, "0123456789") == ""
	return name[:at], isDate || slices.Contains(s.Endings, word)
}

func (s Set) named(name string) (string, bool) {
	if _, err := fs.Stat(s.Files, s.folder()+"/"+name+".json"); err == nil {
		return name, true
	}
	all, folded := s.listed(), Fold(name)
	if i := slices.Index(all.folded, folded); i >= 0 {
		return all.names[i], true
	}
	for alias, n := range s.Aliases {
		if Fold(alias) == folded {
			return n, true
		}
	}
	return "", false
}

func (s Set) folder() string { return cmp.Or(s.Folder, "catalogue") }

// mostNear is how many suggestions are made.
const mostNear = 5

// Near are suggestions for a missing name: those that have it or else all its parts, the nearest
// first, then those that begin alike; or the nearest alone.
func (s Set) Near(ref string) []string {
	name := strings.ToLower(base(ref))
	near := s.having([]string{name})
	for _, parts := range [][]string{strings.FieldsFunc(name, isSeparator), strings.Fields(beforeDigits.ReplaceAllString(name, "$1 $2"))} {
		if len(near) == 0 {
			near = s.having(parts)
		}
	}
	if one, ok := document.Nearest(base(ref), s.listed().names); ok && (len(near) == 0 || slices.Contains(near, one)) {
		near = append([]string{one}, slices.DeleteFunc(near, func(n string) bool { return n == one })...)
	}
	return near[:min(len(near), mostNear)]
}

func isSeparator(r rune) bool { return strings.ContainsRune("-_.: ", r) }

var beforeDigits = regexp.MustCompile(`(\pL)(\d)`)

// having are the names that have all of some parts.
func (s Set) having(parts []string) []string {
	for i, p := range parts {
		parts[i] = Fold(p)
	}
	if len(strings.Join(parts, "")) < 2 {
		return nil
	}
	var begin, within []string
	all := s.listed()
	for i, n := range all.names {
		switch folded := all.folded[i]; {
		case slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(folded, p) }):
		case strings.HasPrefix(folded, parts[0]):
			begin = append(begin, n)
		default:
			within = append(within, n)
		}
	}
	return append(begin, within...)
}

// base is the last element of a path without ".json". Files written on Windows carry backslashes.
func base(ref string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(ref, `\`, "/")), ".json")
}

// Fold ignores case and separators in names, except between two digits: 3.1-8 is not 3-18.
func Fold(name string) string {
	var b strings.Builder
	runes := []rune(strings.ToLower(name))
	for i, r := range runes {
		if !isSeparator(r) {
			b.WriteRune(r)
			continue
		}
		if i > 0 && i+1 < len(runes) && unicode.IsDigit(runes[i-1]) && unicode.IsDigit(runes[i+1]) {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// Names lists the files, sorted without regard to case.
func (s Set) Names() []string { return slices.Clone(s.listed().names) }

type list struct{ names, folded []string }

// lists are those of folders, which are compiled in and do not change.
var lists sync.Map

func (s Set) listed() list {
	type folder struct {
		files embed.FS
		name  string
	}
	key := folder{s.Files, s.folder()}
	if known, ok := lists.Load(key); ok {
		return known.(list)
	}
	entries, err := fs.ReadDir(s.Files, s.folder())
	if err != nil {
		panic(err) // the folder is compiled in
	}
	out := list{names: make([]string, len(entries))}
	for i, e := range entries {
		out.names[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	slices.SortFunc(out.names, func(a, b string) int {
		return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
	})
	for _, n := range out.names {
		out.folded = append(out.folded, Fold(n))
	}
	lists.Store(key, out)
	return out
}
