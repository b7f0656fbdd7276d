package report

import (
	"throughline/internal/result"
	"throughline/op"
)

// Key is a key of a JSON object and its field.
type Key struct {
	Path string // dots before nested keys
	Unit result.Unit
	Doc  string
}

// Keys lists the JSON keys of a deployment that plan or estimate writes.
func Keys(command string) []Key {
	switch command {
	case "plan":
		side := append(append(append(layout{}, sideKeys...), expertKeys...), draftKeys...)
		return append(append(candidateKeys.keys("", ""), capacityKeys.keys("", "")...), side.keys("decode.", result.Prefix(op.Decode))...)
	case "estimate":
		keys := append(pointKeys.keys("", ""), layout{{key: "context", field: "context"}}.keys("", "")...)
		keys = append(keys, seenKeys.keys("clients.", "")...)
		return append(keys, phaseKeys.keys("decode.", result.Prefix(op.Decode))...)
	}
	return nil
}

func (l layout) keys(path, prefix string) []Key {
	var out []Key
	for _, e := range l {
		if e.in != nil {
			out = append(out, e.in.keys(path+e.key+".", prefix)...)
			continue
		}
		f, _ := result.Lookup(prefix + e.field)
		unit := f.Unit
		if e.unit != result.None {
			unit = e.unit
		}
		out = append(out, Key{path + e.key, unit, f.Doc})
	}
	return out
}
