package number_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"throughline/model"
	"throughline/number"
)

// TestBytes: the share of the scales, by hand. A bit of a scale of s bits over n elements is s/n bits each.
func TestBytes(t *testing.T) {
	for name, bits := range map[string]float64{
		"mxfp4": 4 + 8./32, "nvfp4": 4 + 8./16, "fp4": 4 + 8./16, "int4": 4 + 16./128, "w4a16": 4 + 16./128, "int4_g32": 4 + 16./32,
		"fp8": 8, "fp8_block": 8 + 32./16384, "mxfp8": 8 + 8./32, "int8": 8, "bf16": 16, "bfloat16": 16, "fp32": 32,
	} {
		f, ok := number.Find(name)
		if !ok || f.Bytes != bits/8 {
			t.Errorf("%s: %+v, want %g bits", name, f, bits)
		}
	}
	if _, ok := number.Find("fp7"); ok {
		t.Error("finds fp7")
	}
}

// TestTable: names are unique, inputs are formats that something is multiplied in, and all that is narrower than 16 bits has
// a source.
func TestTable(t *testing.T) {
	var names []string
	for i := range number.Formats {
		f := &number.Formats[i]
		names = append(append(names, f.Name), f.Aliases...)
		if f.Source == "" && f.Bytes < 2 {
			t.Errorf("%s has no source", f.Name)
		}
		if _, ok := number.Find(f.Kind); !ok && f.Kind != "fp4" {
			t.Errorf("%s is one of %s, which is none", f.Name, f.Kind)
		}
		for _, in := range f.Inputs {
			if g, ok := number.Find(in.Format); !ok || len(g.Types) == 0 || in.Needs == "" {
				t.Errorf("%s is multiplied with %+v", f.Name, in)
			}
		}
	}
	slices.Sort(names)
	if n := len(names); len(slices.Compact(names)) != n {
		t.Errorf("a name stands for two formats: %v", names)
	}
}

// TestModelFile: a model file may name all formats.
func TestModelFile(t *testing.T) {
	field, _ := reflect.TypeFor[model.File]().FieldByName("Formats")
	if got := strings.Split(field.Tag.Get("enum"), ","); !slices.Equal(got, number.Names()) {
		t.Errorf("the model format has %v, there are %v", got, number.Names())
	}
}
