package plan_test

import (
	"reflect"
	"slices"
	"testing"

	"throughline/plan"
)

// variants are the fields of a plan that a search tries several values of for one layout.
var variants = []string{"Batch", "Redundant", "Overlap"}

// behaviour is the fields of a plan that an engine, or how many clients there are, decides.
var behaviour = []string{
	"SharedApart", "LateGather", "SequenceFrom", "Gathered", "Reduced", "Captured", "Launch", "CapturedPrompts", "PromptLaunch", "SharedLaunches",
	"Piece", "TunedExchange", "SlowPrefill", "SlowDecode", "CopyKernels", "Unfused", "IndexKernels", "IndexFused", "IndexSkips", "FusedQuantise",
	"Under", "LightLast",
}

// TestKeyClassifiesEveryField: each field of a plan is layout, a variant or behaviour, and the key tells apart plans that
// differ in layout alone. A new field fails here until it is classified.
func TestKeyClassifiesEveryField(t *testing.T) {
	whole, key := reflect.TypeFor[plan.Plan](), reflect.TypeFor[plan.Key]()
	for i := range whole.NumField() {
		f := whole.Field(i)
		in, isLayout := key.FieldByName(f.Name)
		if isLayout && in.Type != f.Type {
			t.Errorf("%s is a %v in the key, a %v in the plan", f.Name, in.Type, f.Type)
		}
		kinds := 0
		for _, is := range []bool{isLayout, slices.Contains(variants, f.Name), slices.Contains(behaviour, f.Name)} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s is in %d of layout (plan.Key), variants and behaviour, not in one", f.Name, kinds)
		}
		var p plan.Plan
		change(reflect.ValueOf(&p).Elem().Field(i))
		if differs := p.Key() != (plan.Key{}); differs != isLayout {
			t.Errorf("%s: a change of it changes the key: %v, but it is layout: %v", f.Name, differs, isLayout)
		}
	}
	for i := range key.NumField() {
		if _, ok := whole.FieldByName(key.Field(i).Name); !ok {
			t.Errorf("a plan has no field %s", key.Field(i).Name)
		}
	}
}

// change makes a value differ from zero.
func change(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct:
		change(v.Field(0))
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	}
}
