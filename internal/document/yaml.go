package document

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// ParseYAML reads src as [Parse] does, where its name ends in .yaml or .yml as YAML. Of that it understands what people write
// by hand: maps and lists by indentation or in brackets, texts plain, in quotes, folded (>) or line by line (|), comments. Anchors,
// tags and several documents in a file are refused. Plain true, false, null, ~ and numbers as in JSON are what they say;
// everything else is text.
func ParseYAML(name string, src []byte) *File {
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".yaml" && ext != ".yml" {
		return Parse(name, src)
	}
	f := &File{name: name, source: newSource(src), nodes: map[string]*node{}, meant: map[string]bool{}}
	y := &yaml{scanner: scanner{text: f.source.text}, file: f}
	root, bad := y.document()
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

// yaml reads a file line by line. What cannot be read is panicked as a *note, and recovered by document.
type yaml struct {
	scanner
	file  *File
	lines []yamlLine
	at    int // the next line
	depth int
	count int // values
}

// yamlLine is a line with content from start to end, both offsets; blank ones and comments have none.
type yamlLine struct{ start, end, indent int }

func (l yamlLine) blank() bool { return l.start == l.end }

func (y *yaml) document() (root *node, bad *note) {
	defer func() {
		if r := recover(); r != nil {
			n, ok := r.(*note)
			if !ok {
				panic(r)
			}
			bad = n
		}
	}()
	for _, step := range []func() *note{y.binary, y.encoding} {
		if bad := step(); bad != nil {
			return nil, bad
		}
	}
	y.split()
	if y.skip(); y.at == len(y.lines) {
		return nil, &note{0, "the file is empty"}
	}
	root = y.block("", 0)
	if y.skip(); y.at < len(y.lines) {
		y.fail(y.lines[y.at].start, "this line is indented differently from those that it could belong to")
	}
	return root, nil
}

func (y *yaml) fail(offset int, format string, args ...any) {
	panic(&note{offset, fmt.Sprintf(format, args...)})
}

// split finds the lines. A comment that is a line of its own is a blank one; others are found when what stands before is read.
func (y *yaml) split() {
	first := true
	for i, begin := range y.file.source.lines {
		end := len(y.text)
		if i+1 < len(y.file.source.lines) {
			end = y.file.source.lines[i+1] - 1
		}
		text := bytes.TrimRight(y.text[begin:end], " \t\r")
		content := bytes.TrimLeft(text, " ")
		l := yamlLine{begin + len(text) - len(content), begin + len(text), len(text) - len(content)}
		switch s := string(content); {
		case strings.HasPrefix(s, "\t"):
			y.fail(l.start, "a tab indents this line; use spaces")
		case s == "---" && first:
			l.start = l.end
		case l.indent == 0 && (s == "---" || s == "..." || strings.HasPrefix(s, "%")):
			y.fail(l.start, "%s: several documents in a file, and directives, are not read", s)
		case strings.HasPrefix(s, "#"):
			// In a block of text it is none; that reads the lines of the source.
			l.start = l.end
		}
		first = first && l.blank()
		y.lines = append(y.lines, l)
	}
}

// skip goes to the next line that has content.
func (y *yaml) skip() {
	for y.at < len(y.lines) && y.lines[y.at].blank() {
		y.at++
	}
}

// next is the next line with content, and whether there is one.
func (y *yaml) next() (yamlLine, bool) {
	y.skip()
	if y.at == len(y.lines) {
		return yamlLine{}, false
	}
	return y.lines[y.at], true
}

// node is a new value. The limits are those of JSON.
func (y *yaml) node(path string, kind Kind, offset int) *node {
	if y.count++; y.count > maxValues {
		y.fail(offset, "there are more than %d values; this is no file of this program", maxValues)
	}
	n := &node{kind: kind, path: path, offset: offset}
	if _, taken := y.file.nodes[path]; !taken {
		y.file.nodes[path] = n
	}
	return n
}

func (y *yaml) enter(offset int) {
	if y.depth++; y.depth > maxNesting {
		y.fail(offset, "lists and objects may nest %d levels deep and no further", maxNesting)
	}
}

// block reads the value that begins with the next line, which is indented so far at least.
func (y *yaml) block(path string, least int) *node {
	l, _ := y.next()
	y.enter(l.start)
	defer func() { y.depth-- }()
	switch {
	case y.isItem(l):
		return y.list(path, l.indent)
	case y.keyEnd(l) >= 0:
		return y.object(path, l.indent)
	}
	return y.value(path, l.start, max(least-1, 0))
}

func (y *yaml) isItem(l yamlLine) bool {
	return y.text[l.start] == '-' && (l.end == l.start+1 || y.text[l.start+1] == ' ')
}

// keyEnd is the offset of the colon behind the key that a line begins with; -1: it has none.
func (y *yaml) keyEnd(l yamlLine) int {
	at := l.start
	switch c := y.text[at]; {
	case c == '"' || c == '\'':
		_, end, ok := y.quoted(at, l.end)
		if !ok {
			return -1
		}
		at = end
	case strings.IndexByte("[{|>&*!%@`", c) >= 0:
		return -1
	}
	for ; at < l.end; at++ {
		switch {
		case y.text[at] == ':' && (at+1 == l.end || y.text[at+1] == ' '):
			return at
		case y.text[at] == '#' && y.text[at-1] == ' ':
			return -1
		}
	}
	return -1
}

func (y *yaml) list(path string, indent int) *node {
	n := y.node(path, List, y.lines[y.at].start)
	for {
		l, ok := y.next()
		if !ok || l.indent < indent || l.indent == indent && !y.isItem(l) {
			return n
		}
		if l.indent > indent {
			y.fail(l.start, "this line is indented differently from the items before it")
		}
		at := elementPath(path, len(n.elements))
		rest := y.blanks(l.start+1, l.end)
		if y.ends(rest, l.end) {
			y.at++
			n.elements = append(n.elements, y.nested(at, indent, rest, false))
			continue
		}
		// What stands behind the dash is a line that is indented as far as it stands.
		y.lines[y.at] = yamlLine{rest, l.end, indent + rest - l.start}
		n.elements = append(n.elements, y.block(at, indent+1))
	}
}

func (y *yaml) object(path string, indent int) *node {
	n := y.node(path, Object, y.lines[y.at].start)
	first := map[string]int{}
	for {
		l, ok := y.next()
		if !ok || l.indent < indent {
			return n
		}
		colon := y.keyEnd(l)
		switch {
		case l.indent > indent:
			y.fail(l.start, "this line is indented differently from the keys before it")
		case colon < 0:
			y.fail(l.start, "a key and a colon are missing here")
		}
		key := strings.TrimSpace(string(y.text[l.start:colon]))
		if key == "" {
			y.fail(l.start, "a key is missing before this colon")
		}
		if c := key[0]; c == '"' || c == '\'' {
			key, _, _ = y.quoted(l.start, l.end)
		}
		y.member(n, first, key, l.start, func(at string) *node {
			rest := y.blanks(colon+1, l.end)
			if y.ends(rest, l.end) {
				y.at++
				return y.nested(at, indent, l.start, true)
			}
			return y.value(at, rest, indent)
		})
	}
}

// member adds one, unless there is one of its name.
func (y *yaml) member(n *node, first map[string]int, key string, offset int, value func(path string) *node) {
	at := memberPath(n.path, key)
	v := value(at)
	if earlier, ok := first[key]; ok {
		line, _ := y.file.source.position(earlier)
		y.file.addProblem(offset, at, fmt.Sprintf("duplicate key %s; it is first given on line %d", quote(key), line))
		return
	}
	first[key] = offset
	if n.path != "" || key != schemaKey {
		n.members = append(n.members, member{key, offset, v})
	}
}

// nested is the value on the lines below, or null where there is none. Lists may stand below their key without further
// indentation.
func (y *yaml) nested(path string, indent, offset int, ofKey bool) *node {
	l, ok := y.next()
	if ok && (l.indent > indent || ofKey && l.indent == indent && y.isItem(l)) {
		return y.block(path, indent+1)
	}
	n := y.node(path, Null, offset)
	n.literal = hujson.Literal("null")
	return n
}

// blanks is the offset behind blanks.
func (y *yaml) blanks(at, end int) int {
	for at < end && (y.text[at] == ' ' || y.text[at] == '\t') {
		at++
	}
	return at
}

// ends reports whether nothing but a comment follows.
func (y *yaml) ends(at, end int) bool { return at == end || y.text[at] == '#' }

// value reads a value that begins on the current line, and goes past its lines. What belongs to it further down is indented
// further than indent.
func (y *yaml) value(path string, at, indent int) *node {
	l := y.lines[y.at]
	switch c := y.text[at]; {
	case c == '|' || c == '>':
		return y.blockText(path, at, indent)
	case c == '[' || c == '{':
		n, end := y.flow(path, at)
		for y.at < len(y.lines) && y.lines[y.at].end < end {
			y.at++
		}
		y.nothingElse(end, y.lines[y.at].end)
		y.at++
		return n
	case c == '"' || c == '\'':
		text, end, ok := y.quoted(at, l.end)
		if !ok {
			y.fail(at, "this text in quotes does not end on its line, or has an escape that JSON does not have")
		}
		y.nothingElse(end, l.end)
		y.at++
		return y.scalar(path, at, hujson.String(text))
	}
	text := y.plain(at, l.end)
	y.at++
	for {
		more, ok := y.next()
		if !ok || more.indent <= indent {
			return y.scalar(path, at, plainLiteral(text))
		}
		if y.keyEnd(more) >= 0 {
			y.fail(more.start, "this looks like a key within a text; put the text in quotes, or behind > or |")
		}
		text += " " + y.plain(more.start, more.end)
		y.at++
	}
}

// plain is a text without quotes up to the end of a line or a comment.
func (y *yaml) plain(at, end int) string {
	if c := y.text[at]; strings.IndexByte("&*!%@`,]}?", c) >= 0 && !(c == '?' && at+1 < end && y.text[at+1] != ' ') {
		y.fail(at, "a text that begins with %c needs quotes; anchors, aliases and tags are not read", c)
	}
	text := string(y.text[at:end])
	if i := strings.Index(text, " #"); i >= 0 {
		text = strings.TrimRight(text[:i], " \t")
	}
	if i := strings.Index(text, ": "); i >= 0 || strings.HasSuffix(text, ":") {
		y.fail(at, "a text with a colon and a blank in it needs quotes, or must stand behind > or |")
	}
	return text
}

func (y *yaml) nothingElse(at, end int) {
	if at = y.blanks(at, end); !y.ends(at, end) {
		y.fail(at, "nothing may follow a value on its line but a comment")
	}
}

func (y *yaml) scalar(path string, offset int, l hujson.Literal) *node {
	n := y.node(path, literalKind(l), offset)
	n.literal = l
	return n
}

var yamlNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// plainLiteral is what a text without quotes says.
func plainLiteral(text string) hujson.Literal {
	switch text {
	case "null", "Null", "NULL", "~", "":
		return hujson.Literal("null")
	case "true", "True", "TRUE":
		return hujson.Bool(true)
	case "false", "False", "FALSE":
		return hujson.Bool(false)
	}
	if yamlNumber.MatchString(text) {
		return hujson.Literal(text)
	}
	return hujson.String(text)
}

// quoted is the text in quotes that begins at an offset, and the offset behind it.
func (y *yaml) quoted(at, end int) (text string, behind int, ok bool) {
	if y.text[at] == '"' {
		n := stringLength(y.text[at:end])
		if n == 0 {
			return "", 0, false
		}
		v, err := hujson.Parse(bytes.Clone(y.text[at : at+n]))
		if err != nil {
			return "", 0, false
		}
		return v.Value.(hujson.Literal).String(), at + n, true
	}
	for i := at + 1; i < end; i++ {
		switch {
		case y.text[i] != '\'':
		case i+1 < end && y.text[i+1] == '\'':
			i++
		default:
			return strings.ReplaceAll(string(y.text[at+1:i]), "''", "'"), i + 1, true
		}
	}
	return "", 0, false
}

// blockText reads a text line by line (|) or folded (>), which ends where the indentation does. A dash behind the sign leaves out
// the line break at its end, a plus keeps all.
func (y *yaml) blockText(path string, at, indent int) *node {
	l := y.lines[y.at]
	head, _, _ := strings.Cut(string(y.text[at:l.end]), " #")
	sign := strings.TrimSpace(head)
	if len(sign) > 2 || len(sign) == 2 && sign[1] != '-' && sign[1] != '+' {
		y.fail(at, "%s: only %c, %c- and %c+ are read", sign, sign[0], sign[0], sign[0])
	}
	y.at++
	var lines []string
	depth := 0
	for ; y.at < len(y.lines); y.at++ {
		begin := y.file.source.lines[y.at]
		raw := strings.TrimRight(string(y.text[begin:y.lines[y.at].end]), " \t\r")
		own := len(raw) - len(strings.TrimLeft(raw, " "))
		if raw != "" && depth == 0 {
			depth = own
		}
		if raw != "" && (own <= indent || own < depth) {
			break
		}
		lines = append(lines, raw[min(depth, len(raw)):])
	}
	text := ""
	for i, line := range lines {
		switch {
		case i == 0:
		case sign[0] == '|' || line == "" || lines[i-1] == "" || line[0] == ' ' || lines[i-1][0] == ' ':
			if sign[0] == '|' || line == "" || lines[i-1] != "" {
				text += "\n"
			}
		default:
			text += " "
		}
		text += line
	}
	if !strings.HasSuffix(sign, "+") {
		text = strings.TrimRight(text, "\n")
	}
	if len(sign) == 1 && text != "" || strings.HasSuffix(sign, "+") {
		text += "\n"
	}
	return y.scalar(path, at, hujson.String(text))
}

// flow reads a value in brackets, or one within them, and returns the offset behind it.
func (y *yaml) flow(path string, at int) (*node, int) {
	y.enter(at)
	defer func() { y.depth-- }()
	if at == len(y.text) {
		y.fail(at, "a value is missing here")
	}
	switch y.text[at] {
	case '[':
		n := y.node(path, List, at)
		return n, y.items(at, ']', func(at int) int {
			v, end := y.flow(elementPath(path, len(n.elements)), at)
			n.elements = append(n.elements, v)
			return end
		})
	case '{':
		n, first := y.node(path, Object, at), map[string]int{}
		return n, y.items(at, '}', func(at int) int {
			key, end := y.flowText(at)
			if end = y.space(end); end == len(y.text) || y.text[end] != ':' {
				y.fail(at, "a colon is missing behind this key")
			}
			y.member(n, first, key, at, func(path string) *node {
				var v *node
				v, end = y.flow(path, y.space(end+1))
				return v
			})
			return end
		})
	}
	if c := y.text[at]; c == '"' || c == '\'' {
		text, end := y.flowText(at)
		return y.scalar(path, at, hujson.String(text)), end
	}
	text, end := y.flowText(at)
	return y.scalar(path, at, plainLiteral(text)), end
}

// items reads what stands between brackets, with commas between.
func (y *yaml) items(open int, closing byte, item func(at int) int) int {
	at := y.space(open + 1)
	for {
		if at < len(y.text) && y.text[at] == closing {
			return at + 1
		}
		if at == len(y.text) {
			y.fail(open, "this bracket is never closed")
		}
		at = y.space(item(at))
		switch {
		case at < len(y.text) && y.text[at] == ',':
			at = y.space(at + 1)
		case at < len(y.text) && y.text[at] != closing:
			y.fail(at, "a comma or %c is missing here", closing)
		}
	}
}

// space is the offset behind blanks, line breaks and comments.
func (y *yaml) space(at int) int {
	for at < len(y.text) {
		switch {
		case isSpace(y.text[at]):
			at++
		case y.text[at] == '#' && at > 0 && isSpace(y.text[at-1]):
			for at < len(y.text) && y.text[at] != '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

// flowText is a text within brackets.
func (y *yaml) flowText(at int) (string, int) {
	line := bytes.IndexByte(y.text[min(at, len(y.text)):], '\n')
	if line < 0 {
		line = len(y.text) - at
	}
	if at < len(y.text) && (y.text[at] == '"' || y.text[at] == '\'') {
		text, end, ok := y.quoted(at, at+line)
		if !ok {
			y.fail(at, "this text in quotes does not end on its line, or has an escape that JSON does not have")
		}
		return text, end
	}
	end := at
	for end < at+line && strings.IndexByte(",]}[{", y.text[end]) < 0 && !(y.text[end] == ':' && (end+1 == len(y.text) || strings.IndexByte(" ,]}\r\n", y.text[end+1]) >= 0)) && !(y.text[end] == '#' && end > at && y.text[end-1] == ' ') {
		end++
	}
	text := strings.TrimSpace(string(y.text[at:end]))
	if text == "" {
		y.fail(min(at, len(y.text)), "a value is missing here")
	}
	if strings.IndexByte("&*!%@`|>?", text[0]) >= 0 {
		y.fail(at, "a text that begins with %s needs quotes; anchors, aliases and tags are not read", strconv.Quote(text[:1]))
	}
	return text, end
}
