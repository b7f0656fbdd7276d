package number_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"throughline/model"
	"throughline/number"
)

// TestBytes: the share of the scales, by hand. A bit of a scale of s bits over n elements is s/n
// bits each.
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

// TestTable: names are unique, inputs are formats that something is multiplied in, and all that is
// narrower than 16 bits has a source.
func TestTable(t *testing.T) {
	var names []string
	for i := range number.Formats {
		f := &number.Formats[i]
		names = append(append(names, f.Name), f.Aliases...)
		if f.Source == "" && f.Bytes < 2 {
			t.Errorf("%s has no source", f.Name)
		}
		if _, ok := number.Find(f.Kind); !ok && f.Kind != "fp4" && f.Kind != number.GGUF {
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

// TestModelFile: a model file may name all formats of checkpoints; GGUF files are made of these.
func TestModelFile(t *testing.T) {
	field, _ := reflect.TypeFor[model.File]().FieldByName("Formats")
	want := slices.DeleteFunc(number.Names(), func(name string) bool { f, _ := number.Find(name); return f.Kind == number.GGUF })
	if got := strings.Split(field.Tag.Get("enum"), ","); !slices.Equal(got, want) {
		t.Errorf("the model format has %v, there are %v", got, want)
	}
}

// TestGGUF: bits of the blocks by hand, two bytes for each scale of 16 bits, and the layers of a
// mixture of 32: the first four, the last four, and every third of those between, 6, 9, … 27.
func TestGGUF(t *testing.T) {
	for name, bits := range map[string]float64{
		"q2_k": 2.625, "q3_k_m": 3.4375, "iq4_xs": 4.25, "q4_0": 4 + 16./32, "q4_1": 4 + 32./32, "q4_k_m": 4 + (16+16+12*8)/256., "q5_0": 5 + 16./32,
		"q5_k_m": 5 + (16+16+12*8)/256., "q6_k": 6 + (16+16*8)/256., "q8_0": 8 + 16./32, "mxfp4_moe": 4 + 8./32,
	} {
		if f, _ := number.Find(name); f.Bytes != bits/8 {
			t.Errorf("%s has %g bits, by hand %g", name, 8*f.Bytes, bits)
		}
	}
	f, _ := number.Find("q4_k_m")
	for i := range f.Mixture {
		if x := &f.Mixture[i]; x.Tensor == number.DownTensor && x.In(32) != (4+4+8)/32. {
			t.Errorf("of 32 layers %g have a wider second matrix", 32*x.In(32))
		}
	}
}
