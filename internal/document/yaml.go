package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// ParseYAML reads src as [Parse] does; a name that ends in .yaml or .yml makes it YAML. Plain true,
// false, null, ~ and JSON numbers are what they say; everything else is text, so that a version 08,
// a date or a yes stays as written. Aliases are read; tags and multiple documents are rejected.
func ParseYAML(name string, src []byte) *File {
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".yaml" && ext != ".yml" {
		return Parse(name, src)
	}
	f := &File{name: name, source: newSource(src), nodes: map[string]*node{}, meant: map[string]bool{}}
	root, bad := f.parseYAML()
	if bad != nil {
		f.addProblem(bad.offset, "", bad.message)
		return f
	}
	if root.kind != Object {
		f.Problemf("", "the file must hold keys and their values, not %s", Value{f, root}.Describe())
		return f
	}
	f.root = root
	return f
}

func (f *File) parseYAML() (*node, *note) {
	s := scanner{text: f.source.text}
	for _, check := range []func() *note{s.binary, s.encoding} {
		if bad := check(); bad != nil {
			return nil, bad
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(f.source.text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &note{0, "the file is empty"}
	case err != nil:
		return nil, f.yamlError(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, &note{f.yamlOffset(&second), "a second document begins here; a file holds one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, f.yamlError(err)
	}
	b := yamlBuilder{file: f}
	root := b.build("", document.Content[0], 1)
	return root, b.bad
}

// yamlError places an error of the library, which names the line in its text.
func (f *File) yamlError(err error) *note {
	message, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if at := yamlLine.FindStringSubmatch(message); at != nil {
		line, _ = strconv.Atoi(at[1])
		message = at[2]
	}
	if hint := yamlHints[message]; hint != "" {
		message += ": " + hint
	}
	return &note{f.source.lines[min(max(line, 1), len(f.source.lines))-1], message}
}

// yamlHints explains the usual causes of the library's errors. Some of its lines are those where an
// unterminated value began.
var yamlHints = map[string]string{
	"found character that cannot start any token":    "a tab indents the line, or a text that begins with @ or ` needs quotes",
	"mapping values are not allowed in this context": "a text with a colon and a blank in it needs quotes, or the line is indented too far",
	"did not find expected key":                      "a line here or below is indented differently from the keys before it, or something follows a text in quotes",
	"could not find expected ':'":                    "a key and a colon are missing here",
	"found unexpected end of stream":                 "a text in quotes is never closed",
	"did not find expected ',' or ']'":               "a comma or the closing bracket is missing",
	"did not find expected ',' or '}'":               "a comma or the closing brace is missing",
	"did not find expected node content":             "a value is missing between brackets or commas",
}

var yamlLine = regexp.MustCompile(`^line (\d+): (.*)$`)

// yamlOffset is where a value begins; the library counts columns in characters.
func (f *File) yamlOffset(n *yaml.Node) int {
	if n.Line == 0 {
		return 0
	}
	at := f.source.lines[min(n.Line, len(f.source.lines))-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(f.source.text[at:])
		at += size
	}
	return at
}

// yamlBuilder turns what the library has read into our own tree, within the limits of JSON files.
// Aliases could make a small file large, so the limits count what they stand for.
type yamlBuilder struct {
	file   *File
	values int
	bad    *note // the first thing that cannot be taken
}

func (b *yamlBuilder) refuse(n *yaml.Node, format string, args ...any) {
	if b.bad == nil {
		b.bad = &note{b.file.yamlOffset(n), fmt.Sprintf(format, args...)}
	}
}

func (b *yamlBuilder) build(path string, from *yaml.Node, depth int) *node {
	n := &node{path: path, offset: b.file.yamlOffset(from)}
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	switch b.values++; {
	case b.values > maxValues:
		b.refuse(from, "there are more than %d values; this is no file of this program", maxValues)
	case depth > maxNesting:
		b.refuse(from, "lists and objects may nest %d levels deep and no further", maxNesting)
	case from.Style&yaml.TaggedStyle != 0:
		b.refuse(from, "the tag %s is not read; put a text in quotes", from.Tag)
	}
	if b.bad != nil {
		return n
	}
	if _, taken := b.file.nodes[path]; !taken {
		b.file.nodes[path] = n
	}
	switch from.Kind {
	case yaml.SequenceNode:
		n.kind = List
		for i, element := range from.Content {
			if b.bad != nil {
				break
			}
			n.elements = append(n.elements, b.build(elementPath(path, i), element, depth+1))
		}
	case yaml.MappingNode:
		n.kind = Object
		b.members(n, from, depth)
	default:
		n.literal = yamlLiteral(from)
		n.kind = literalKind(n.literal)
	}
	return n
}

func (b *yamlBuilder) members(n *node, from *yaml.Node, depth int) {
	first := map[string]int{} // key to offset
	for i := 0; i < len(from.Content) && b.bad == nil; i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			b.refuse(key, "a key must be a text")
			return
		}
		b.file.addMember(n, first, key.Value, b.file.yamlOffset(key), func(at string) *node { return b.build(at, value, depth+1) })
	}
}

var yamlNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// yamlLiteral is what a value without parts says.
func yamlLiteral(n *yaml.Node) hujson.Literal {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return hujson.String(n.Value)
	}
	switch n.Value {
	case "null", "Null", "NULL", "~", "":
		return hujson.Literal("null")
	case "true", "True", "TRUE":
		return hujson.Bool(true)
	case "false", "False", "FALSE":
		return hujson.Bool(false)
	}
	if yamlNumber.MatchString(n.Value) {
		return hujson.Literal(n.Value)
	}
	return hujson.String(n.Value)
}
