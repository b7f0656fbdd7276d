package golden

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Sums are totals of figures over many cases. That figures are right is shown elsewhere, by hand or
// by a law; what moves one of them anywhere moves its total, which says where to look.
type Sums map[[2]string]float64

// near is how far totals may differ that other processors add up.
const near = 1e-9

// Add adds one figure of something.
func (s Sums) Add(of, figure string, v float64) {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		figure, v = fmt.Sprintf("%s is %v", figure, v), 1
	}
	if v != 0 {
		s[[2]string{of, figure}] += v
	}
}

// Fields adds every number and text in a value, by the name of its field; a number that has a name
// itself is counted by that.
func (s Sums) Fields(of string, v any) { s.fields(of, "", 1, reflect.ValueOf(v)) }

func (s Sums) fields(of, name string, times float64, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.fields(of, name, times, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			s.fields(of, strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), times, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() { // weighed, lest two that change places go unnoticed
			s.fields(of, name, times*float64(1+i), v.Index(i))
		}
	case reflect.Float64, reflect.Float32:
		s.Add(of, name, times*v.Float())
	case reflect.Bool:
		if v.Bool() {
			s.Add(of, name, times)
		}
	case reflect.String:
		sum := 0
		for i, r := range v.String() {
			sum += (1 + i) * int(r)
		}
		s.Add(of, strings.TrimSpace(name+" letters"), times*float64(sum))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.whole(of, name, times, v, float64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.whole(of, name, times, v, float64(v.Uint()))
	}
}

func (s Sums) whole(of, name string, times float64, v reflect.Value, number float64) {
	if v.CanInterface() {
		if named, ok := v.Interface().(fmt.Stringer); ok {
			s.Add(of, strings.TrimSpace(name+" "+named.String()), times)
			return
		}
	}
	s.Add(of, name, times*number)
}

// Check compares the totals with those of a file, which -update writes.
func (s Sums) Check(t *testing.T, name string) {
	t.Helper()
	var keys [][2]string
	for k := range s {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var out strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&out, "%s\t%s\t%.13g\n", k[0], k[1], s[k])
	}
	want := Sums{}
	for line := range strings.Lines(string(Content(t, name, []byte(out.String())))) {
		part := strings.Split(strings.TrimSpace(line), "\t")
		v, err := strconv.ParseFloat(part[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		k := [2]string{part[0], part[1]}
		want[k], keys = v, append(keys, k)
	}
	moved := 0
	for i, k := range keys {
		if a, b := s[k], want[k]; slices.Index(keys, k) == i && !(math.Abs(a-b) <= near*max(math.Abs(a), math.Abs(b))) {
			if moved++; moved <= 20 {
				t.Errorf("%s: %s of %s adds up to %.13g, and was %.13g", name, k[1], k[0], a, b)
			}
		}
	}
	if moved > 0 {
		t.Errorf("%d of %d totals moved; if they should, run the test with -update", moved, len(want))
	}
}
