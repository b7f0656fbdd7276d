package document

import "slices"

// DecodeDocument keeps the value as it is, for a field that is read later.
func (v *Value) DecodeDocument(from Value) { *v = from }

// Merged returns the value with a JSON merge patch (RFC 7386) of the same file
// applied. What the patch brings keeps its place in the file, where problems
// with it are then reported.
func (v Value) Merged(patch Value) Value {
	return Value{v.file, merged(v.node, patch.node)}
}

func merged(target, patch *node) *node {
	if patch.kind != Object {
		return patch
	}
	out := &node{kind: Object, path: patch.path, offset: patch.offset}
	if target != nil && target.kind == Object {
		*out = *target
		out.members = slices.Clone(target.members)
	}
	for _, m := range patch.members {
		at := slices.IndexFunc(out.members, func(had member) bool { return had.key == m.key })
		switch {
		case m.value.kind == Null && at >= 0:
			out.members = slices.Delete(out.members, at, at+1)
		case m.value.kind == Null:
		case at >= 0:
			out.members[at] = member{m.key, m.offset, merged(out.members[at].value, m.value)}
		default:
			out.members = append(out.members, member{m.key, m.offset, merged(nil, m.value)})
		}
	}
	return out
}

// Root returns the object that the file holds, of a file without problems.
func (f *File) Root() Value { return Value{f, f.root} }

func (v Value) File() *File { return v.file }
