package jobfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"reflect"
	"slices"
	"strings"

	"throughline/assume"
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/model"
)

// Hash identifies a run by everything that its results depend on: every field of it, and of all that it refers to. A field
// that is added to any of them is covered without being named here.
func (j *Job) Hash(r *Run) string {
	h := sha256.New()
	digest(h, reflect.ValueOf(r).Elem(), j.remembered)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// isShared are what the runs of a job point to together. They do not change, and their digests are worked out once.
var isShared = map[reflect.Type]bool{
	reflect.TypeFor[*model.Model](): true, reflect.TypeFor[*model.Settings](): true,
	reflect.TypeFor[*hardware.System](): true, reflect.TypeFor[*assume.Assumptions](): true,
}

// remembered is the digest of something shared.
func (j *Job) remembered(v reflect.Value) (string, bool) {
	if !isShared[v.Type()] {
		return "", false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	known, ok := j.shared[v.Interface()]
	if !ok {
		h := sha256.New()
		digest(h, v.Elem(), nil)
		known = string(h.Sum(nil))
		j.shared[v.Interface()] = known
	}
	return known, true
}

// digest writes a value to a hash: its type, and all it holds, fields by name, maps by sorted keys. What pointers of some
// types lead to may be remembered.
func digest(h hash.Hash, v reflect.Value, remembered func(reflect.Value) (string, bool)) {
	number := func(n uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, n)) }
	text := func(s string) {
		number(uint64(len(s)))
		h.Write([]byte(s))
	}
	text(v.Type().String())
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			number(1)
		} else {
			number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		number(v.Uint())
	case reflect.Float32, reflect.Float64:
		number(math.Float64bits(v.Float()))
	case reflect.String:
		text(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			text(v.Type().Field(i).Name)
			digest(h, v.Field(i), remembered)
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			text("nil")
		}
		number(uint64(v.Len()))
		for i := range v.Len() {
			digest(h, v.Index(i), remembered)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		number(uint64(len(keys)))
		for _, k := range keys {
			digest(h, k, remembered)
			digest(h, v.MapIndex(k), remembered)
		}
	case reflect.Pointer, reflect.Interface:
		switch {
		case v.IsNil():
			text("nil")
		case v.Type() == kernels:
			text(encoded(v))
		default:
			if remembered != nil {
				if known, ok := remembered(v); ok {
					text(known)
					return
				}
			}
			digest(h, v.Elem(), remembered)
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if !v.IsNil() {
			panic(fmt.Sprintf("jobfile: a %s has no hash", v.Type())) // runs of files have none
		}
		text("nil")
	default:
		panic(fmt.Sprintf("jobfile: a %s has no hash", v.Type()))
	}
}

// kernels keep, besides their models, what they have prepared from them; their file form is the models alone.
var kernels = reflect.TypeFor[*kernel.Set]()

func encoded(v reflect.Value) string {
	src, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err) // it was read from such a text
	}
	return string(src)
}
