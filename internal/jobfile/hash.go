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

// Hash identifies a run by every field that its results depend on, by reflection, so that new
// fields are covered.
func (j *Job) Hash(r *Run) string {
	h := sha256.New()
	digest(h, reflect.ValueOf(r).Elem(), j.cachedDigest)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// isShared are immutable types that the runs of a job share; their digests are cached.
var isShared = map[reflect.Type]bool{
	reflect.TypeFor[*model.Model](): true, reflect.TypeFor[*model.Settings](): true,
	reflect.TypeFor[*hardware.System](): true, reflect.TypeFor[*assume.Assumptions](): true,
}

// cachedDigest returns the cached digest of a shared value.
func (j *Job) cachedDigest(v reflect.Value) (string, bool) {
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

// digest hashes a value: its type and content, fields by name, maps by sorted keys. Digests of some
// pointers may be remembered.
func digest(h hash.Hash, v reflect.Value, remembered func(reflect.Value) (string, bool)) {
	(&digester{h, remembered}).add(v)
}

type digester struct {
	hash.Hash
	remembered func(reflect.Value) (string, bool)
}

func (d *digester) number(n uint64) { d.Write(binary.LittleEndian.AppendUint64(nil, n)) }

func (d *digester) text(s string) {
	d.number(uint64(len(s)))
	d.Write([]byte(s))
}

func (d *digester) add(v reflect.Value) {
	d.text(v.Type().String())
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			d.number(1)
		} else {
			d.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		d.number(math.Float64bits(v.Float()))
	case reflect.String:
		d.text(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			d.text(v.Type().Field(i).Name)
			d.add(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			d.text("nil")
		}
		d.number(uint64(v.Len()))
		for i := range v.Len() {
			d.add(v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		d.number(uint64(len(keys)))
		for _, k := range keys {
			d.add(k)
			d.add(v.MapIndex(k))
		}
	case reflect.Pointer, reflect.Interface:
		d.pointer(v)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if !v.IsNil() {
			panic(fmt.Sprintf("jobfile: a %s has no hash", v.Type())) // runs of files have none
		}
		d.text("nil")
	default:
		panic(fmt.Sprintf("jobfile: a %s has no hash", v.Type()))
	}
}

func (d *digester) pointer(v reflect.Value) {
	switch {
	case v.IsNil():
		d.text("nil")
	case v.Type() == kernels:
		d.text(encoded(v))
	default:
		if d.remembered != nil {
			if known, ok := d.remembered(v); ok {
				d.text(known)
				return
			}
		}
		d.add(v.Elem())
	}
}

// kernels cache what they prepare; their file form is the models alone.
var kernels = reflect.TypeFor[*kernel.Set]()

func encoded(v reflect.Value) string {
	src, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err) // it was read from such a text
	}
	return string(src)
}
