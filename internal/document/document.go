// Package document reads the hand-written JSON files of the program.
//
// The people who write these files want to hear about every mistake at once,
// where it is and what would have been right. So nothing here stops at the
// first problem: [Parse] and [File.Decode] collect problems with line, column
// and key path, the caller adds its own with [File.Problemf], and [File.Err]
// returns them all together.
//
// The dialect is JSON with //, /* */ and # comments and trailing commas. Files
// are often pasted out of other documents, so a title or a Markdown fence
// around the object is skipped with a warning.
//
// The format of a file is a Go struct. The same struct tags that drive the
// decoding also give the JSON Schema of the format; see [File.Decode] for the
// tags and [Schema] for the schema.
package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A File is a parsed file together with the problems found in it so far.
type File struct {
	name     string
	source   source
	root     *node            // nil if the file could not be parsed
	nodes    map[string]*node // by path
	meant    map[string]bool  // paths of absent keys that an unknown key is a near miss of
	problems []Problem
	warnings []Problem
}

// Parse reads src, the content of the file called name. It always returns a
// File: syntax errors are among its problems.
func Parse(name string, src []byte) *File {
	f := &File{name: name, source: newSource(src), nodes: map[string]*node{}, meant: map[string]bool{}}

	parsed, skipped, bad := parse(f.source)
	for _, n := range skipped {
		f.warnings = append(f.warnings, f.problemAt(n.offset, "", n.message))
	}
	if bad != nil {
		f.addProblem(bad.offset, "", bad.message)
		return f
	}

	root := f.build("", parsed)
	if root.kind != Object {
		f.Problemf("", "the file must hold an object, not %s", Value{f, root}.Describe())
		return f
	}
	f.root = root
	return f
}

// build turns a parsed value into our own tree: keys are unescaped and unique,
// and every node knows its path.
func (f *File) build(path string, parsed hujson.Value) *node {
	n := &node{path: path, offset: parsed.StartOffset}
	if _, taken := f.nodes[path]; !taken {
		f.nodes[path] = n
	}
	switch v := parsed.Value.(type) {
	case hujson.Literal:
		n.kind = literalKind(v)
		n.literal = v
	case *hujson.Array:
		n.kind = List
		for i, element := range v.Elements {
			n.elements = append(n.elements, f.build(elementPath(path, i), element))
		}
	case *hujson.Object:
		n.kind = Object
		first := map[string]int{} // key to offset
		for _, m := range v.Members {
			key, offset := m.Name.Value.(hujson.Literal).String(), m.Name.StartOffset
			f.addMember(n, first, key, offset, func(at string) *node { return f.build(at, m.Value) })
		}
	}
	return n
}

// addMember adds a key and the value that build makes at its path, unless the object has the key.
func (f *File) addMember(n *node, first map[string]int, key string, offset int, build func(path string) *node) {
	at := memberPath(n.path, key)
	if earlier, ok := first[key]; ok {
		line, _ := f.source.position(earlier)
		f.addProblem(offset, at, fmt.Sprintf("duplicate key %s; it is first given on line %d", quote(key), line))
		return
	}
	first[key] = offset
	// Editors look for this key; it says nothing about the content.
	if n.path == "" && key == schemaKey {
		return
	}
	n.members = append(n.members, member{key, offset, build(at)})
}

const schemaKey = "$schema"

// Keys returns the keys of the root object in the order of the file, without
// "$schema". It is nil if the file could not be parsed.
func (f *File) Keys() []string {
	if f.root == nil {
		return nil
	}
	keys := make([]string, 0, len(f.root.members))
	for _, m := range f.root.members {
		keys = append(keys, m.key)
	}
	return keys
}

// Has reports whether the file has a value at path, be it null. The path of a
// value is written like networks[1].ops.p2p; "" is the root object.
func (f *File) Has(path string) bool {
	return f.root != nil && f.nodes[path] != nil
}

// Sound reports whether the file has a value at path and no problem was found
// in it so far. Only then does a comparison with other values say something
// new.
func (f *File) Sound(path string) bool {
	return f.Has(path) && !slices.ContainsFunc(f.problems, func(p Problem) bool {
		rest, within := strings.CutPrefix(p.Path, path)
		return within && (path == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// Lacks reports whether the file has no value at path, nor an unknown key in
// its place that is a near miss of it.
func (f *File) Lacks(path string) bool {
	return !f.Has(path) && !f.meant[path]
}

// Problemf adds a problem with the value at path. If there is no such value,
// the problem is placed at the nearest value around it.
func (f *File) Problemf(path, format string, args ...any) {
	f.problems = append(f.problems, f.problemNear(path, fmt.Sprintf(format, args...)))
}

// Warnf adds a warning. It is placed as by [File.Problemf].
func (f *File) Warnf(path, format string, args ...any) {
	f.warnings = append(f.warnings, f.problemNear(path, fmt.Sprintf(format, args...)))
}

// Problems returns the problems found so far in the order of the file.
func (f *File) Problems() []Problem { return sorted(f.problems) }

// Warnings returns the warnings found so far in the order of the file.
func (f *File) Warnings() []Problem { return sorted(f.warnings) }

// Err returns an [*Error] with all the problems found so far, or nil if there
// are none.
func (f *File) Err() error {
	if len(f.problems) == 0 {
		return nil
	}
	return &Error{f.Problems()}
}

func (f *File) addProblem(offset int, path, message string) {
	f.problems = append(f.problems, f.problemAt(offset, path, message))
}

func (f *File) problemNear(path, message string) Problem {
	for around := path; ; around = around[:max(0, strings.LastIndexAny(around, ".["))] {
		if n := f.nodes[around]; n != nil {
			return f.problemAt(n.offset, path, message)
		}
		if around == "" { // the file could not be parsed
			return Problem{File: f.name, Path: path, Message: message}
		}
	}
}

func (f *File) problemAt(offset int, path, message string) Problem {
	line, column := f.source.position(offset)
	return Problem{f.name, line, column, path, message}
}
