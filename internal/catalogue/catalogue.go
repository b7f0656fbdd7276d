// Package catalogue gives access to the files that are built into the program.
package catalogue

import (
	"io/fs"
	"path"
	"strings"
)

// Set is a folder of built-in JSON files. Their names are their base names without the ending.
type Set struct{ Files fs.FS }

// Find returns the file that a path or name refers to by its base name, with or without ".json".
func (s Set) Find(ref string) ([]byte, bool) {
	// Files written on Windows carry backslashes.
	base := path.Base(strings.ReplaceAll(ref, `\`, "/"))
	src, err := fs.ReadFile(s.Files, "catalogue/"+strings.TrimSuffix(base, ".json")+".json")
	return src, err == nil
}

// Names lists the files, sorted.
func (s Set) Names() []string {
	entries, err := fs.ReadDir(s.Files, "catalogue")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	return names
}
