package kernel

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTable: every kernel has all that the table is for, and no two have the same names.
func TestTable(t *testing.T) {
	names, rows := map[string]Slot{}, map[string]Slot{}
	for _, s := range Slots() {
		r := &table[s]
		if r.section == nil || r.name == "" || r.row == "" || r.axes == "" || r.pick == nil || r.prepare == nil {
			t.Errorf("slot %d: %+v", s, r)
			continue
		}
		if other, ok := names[r.name]; ok {
			t.Errorf("slots %d and %d are both called %s", s, other, r.name)
		}
		if other, ok := rows[r.row]; ok {
			t.Errorf("slots %d and %d are both measured as %s", s, other, r.row)
		}
		names[r.name], rows[r.row] = s, s
		if got, ok := Measured(r.row); !ok || got != s {
			t.Errorf("rows of %s are of %v", r.row, got)
		}
	}
	if _, ok := Measured("gem"); ok {
		t.Error("finds what is not in the table")
	}
	if SlotCount > slotPlaces {
		t.Errorf("%d slots have %d places", SlotCount, slotPlaces)
	}
}

// TestSections: the models of a set are in the sections of the table, all of them.
func TestSections(t *testing.T) {
	var keys, want []string
	for _, in := range sections {
		keys = append(keys, in.key)
	}
	set := reflect.TypeFor[Set]()
	for i := range set.NumField() {
		f := set.Field(i)
		if f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Pointer {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			want = append(want, key)
		}
	}
	slices.Sort(keys)
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("sections %v, a set has %v", keys, want)
	}
}

// TestDocumented: docs/model.md has a row for all that operators run in.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/model.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Slots() {
		if s.Of() == "" {
			continue
		}
		if row := fmt.Sprintf("| %s | `%s` | %s |\n", s.Of(), s.Section(), s.Axes()); !strings.Contains(string(text), row) {
			t.Errorf("no row %s", row)
		}
	}
}

// some is a set with a model of everything, each with its own latency.
func some() *Set {
	flat := func(latency float64) Base {
		return Base{Latency: latency, Norm: 1, Compute: Flat(1), Memory: Flat(1)}
	}
	curve := func(latency float64) *Curve { return &Curve{Latency: latency, Memory: Flat(1)} }
	return &Set{
		System:            "chip",
		Gemm:              map[string]*GemmModel{"bfloat16": {Base: flat(1), Weight: 2}, "float8": {Base: flat(2), Weight: 1}},
		GroupedGemm:       map[string]*GroupedModel{"bfloat16": {Base: flat(3), Weight: 2}},
		Experts:           map[string]*GroupedModel{"bfloat16": {Base: flat(4), Weight: 2}, "bfloat16 tuned": {Base: flat(3.5), Weight: 2}, "int4": {Base: flat(5), Weight: 0.5}},
		DispatchedExperts: map[string]*GroupedModel{"float8": {Base: flat(16), Weight: 1}},
		Absorb:            map[string]*GroupedModel{"bfloat16": {Base: flat(6), Weight: 2}},
		Decode:            map[string]*DecodeAttention{"bfloat16": {Base: flat(7)}, "float8": {Base: flat(8)}},
		Prefill:           map[string]*PrefillAttention{"bfloat16": {Base: flat(9)}},
		LinearDecode:      map[string]*LinearAttention{"gated_delta": {Base: flat(10)}},
		Elementwise:       map[string]*Curve{"add_rmsnorm": curve(11), "silu_mul": curve(12), "quantise": curve(17)},
		Collective:        map[string]*CollectiveModel{"all_reduce": {Latency: 14, Share: 1, Memory: Flat(1)}, "all_reduce_custom": {Latency: 13, Share: 1, Memory: Flat(1)}},
		LinearPrefill:     map[string]*LinearAttention{"gated_delta": {Base: flat(15)}},
	}
}

// TestUntuned: blocks without tiles for their shape take the time of default ones, 4, tuned or not;
// where only tuned ones were measured, theirs.
func TestUntuned(t *testing.T) {
	half := Types{Matrix: "bfloat16", Wide: "bfloat16", Weight: 2}
	seconds := func(s *Set, untuned bool) float64 {
		k, _ := s.Bind(half).For(Use{Slot: Experts})
		return k.Seconds(&Pace{}, &Shape{M: 1, N: 1, K: 1, Count: 1, Rows: 1, Untuned: untuned})
	}
	if tuned, untuned := seconds(some(), false), seconds(some(), true); tuned != 3.5 || untuned != 4 {
		t.Errorf("%g tuned, %g not, want 3.5 and 4", tuned, untuned)
	}
	alone := some()
	delete(alone.Experts, "bfloat16")
	if untuned := seconds(alone, true); untuned != 3.5 {
		t.Errorf("%g without default tiles, want 3.5", untuned)
	}
}

// TestBind: which model a precision runs in.
func TestBind(t *testing.T) {
	half := Types{Matrix: "float16", Attention: "float16", Cache: "bfloat16", Wide: "bfloat16", Weight: 2, Dispatch: 2, Combine: 2}
	eight := Types{Matrix: "float8", Attention: "float16", Cache: "float8", Wide: "bfloat16", Weight: 1, Dispatch: 2, Combine: 2}
	four := half
	four.Weight = 0.5
	narrow := eight
	narrow.Wide = ""
	for _, c := range []struct {
		types Types
		slot  Slot
		want  float64 // latency; 0: not calibrated
	}{
		{half, Gemm, 1}, {eight, Gemm, 2}, {half, GroupedGemm, 3}, {eight, GroupedGemm, 0},
		// Of tuned tiles and others the faster; weights of four bits have a block of their own.
		{half, Experts, 3.5}, {four, Experts, 5}, {eight, Experts, 0}, {eight, DispatchedExperts, 16}, {half, DispatchedExperts, 0},
		{half, Quantise, 17}, {half, TopK, 0},
		{half, Absorb, 6}, {eight, Absorb, 6}, {narrow, Absorb, 0}, {narrow, LinearDecode, 0}, {eight, LinearDecode, 10},
		{half, Decode, 7}, {eight, Decode, 8}, {half, LatentDecode, 0}, {half, Prefill, 9}, {half, LatentPrefill, 0},
		{half, AddNorm, 11}, {half, SiluMul, 12}, {half, AllReduce, 13}, {half, AllGather, 0}, {half, None, 0}, {half, LinearPrefill, 15},
	} {
		b := some().Bind(c.types)
		k, _ := b.For(Use{Slot: c.slot})
		got := 0.0
		if k != nil {
			got = k.Seconds(&Pace{}, &Shape{M: 1, N: 1, K: 1, Count: 1, Rows: 1, Heads: 1, KVHeads: 1, Group: 2})
		}
		if got != c.want {
			t.Errorf("%v at %+v: %g, want %g", c.slot, c.types, got, c.want)
		}
		if within, _ := b.For(Use{c.slot, Within}); (within != nil) != (c.want > 0) {
			t.Errorf("%v: parts of it do not go with it", c.slot)
		}
		if beside, _ := b.For(Use{c.slot, Beside}); (beside != nil) != (c.slot == AddNorm || c.slot == SiluMul || c.slot == Quantise) {
			t.Errorf("%v: what is beside it", c.slot)
		}
	}
	if l := some().Bind(half).Launch; l != 1 {
		t.Errorf("the shortest product takes %g", l)
	}
	_, gemm := some().Bind(four).For(Use{Slot: Gemm})
	_, experts := some().Bind(four).For(Use{Slot: Experts})
	if !gemm.Narrowed || experts.Narrowed {
		t.Error("which weights are narrower than measured")
	}
	// Weights of four bits with their scales are what was measured, and floats are unpacked like
	// integers.
	scaled, floats := four, four
	scaled.Weight, floats.Weight, floats.Stored = 0.5625, 0.53125, "float4"
	for _, types := range []Types{scaled, floats} {
		b := some().Bind(types)
		k, _ := b.For(Use{Slot: Experts})
		_, experts := b.For(Use{Slot: Experts})
		if k == nil || experts.Key != "int4" || experts.Narrowed {
			t.Errorf("%+v: experts in %+v", types, experts)
		}
	}
	own := some()
	own.Experts["mxfp4"] = &GroupedModel{Base: own.Experts["int4"].Base, Weight: 0.53125}
	own.Experts["mxfp4_float8"] = own.Experts["mxfp4"]
	eightBits := floats
	eightBits.Matrix = "float8"
	for types, want := range map[Types]string{floats: "mxfp4", scaled: "int4", eightBits: "mxfp4_float8"} {
		if _, b := own.Bind(types).For(Use{Slot: Experts}); b.Key != want {
			t.Errorf("%+v: experts in %s, want %s", types, b.Key, want)
		}
	}
	// A block that was measured on the chip comes before products that were not.
	s := some()
	s.From = map[string]string{"grouped_gemm": "another"}
	if k, _ := s.Bind(half).For(Use{Slot: Experts}); k == nil {
		t.Error("takes products of another chip")
	}
}

// TestShare: what is prepared is shared until the set changes.
func TestShare(t *testing.T) {
	s := some()
	types := Types{Matrix: "bfloat16", Weight: 2}
	first := s.Bind(types)
	if again := s.Bind(types); first == again {
		t.Error("shares what may change")
	}
	s.Share()
	first = s.Bind(types)
	if again := s.Bind(types); first != again || first == s.Bind(Types{Matrix: "float8", Weight: 1}) {
		t.Error("does not share by precision")
	}
	s.Put(LatentDecode, "bfloat16", &DecodeAttention{Base: Base{Latency: 1, Norm: 1, Compute: Flat(1), Memory: Flat(1)}}, 0.1)
	types.Cache = "bfloat16"
	if k, _ := s.Bind(types).For(Use{Slot: LatentDecode}); k == nil || s.Errors["latent_decode.bfloat16"] != 0.1 {
		t.Error("does not see what was put")
	}
	s.Put(LatentDecode, "bfloat16", &DecodeAttention{}, 0.2)
	if s.LatentDecode["bfloat16"].Norm != 1 || s.Errors["latent_decode.bfloat16"] != 0.1 {
		t.Error("replaces what is there")
	}
}

// TestBeyond: asking changes nothing, and tells sizes within those that were measured from others.
func TestBeyond(t *testing.T) {
	s := Surface{Axes: [][]float64{{1, 10}, {2, 20}, {3, 30}}, Slowdown: []float64{1, 1, 1, 1, 1, 1, 1, 1}}
	g := GemmModel{Base: Base{Norm: 1, Compute: s, Memory: s}, Tiled: true}
	k, err := g.prepare(&Types{})
	prepared(t, err)
	for _, c := range []struct {
		m, n, k float64
		want    bool
	}{
		{1, 2, 3, true}, // a tile of 16 rows, which was not measured
		{5, 10, 20, true}, {5, 21, 20, true}, {5, 10, 2, true},
	} {
		if got := k.Beyond(product(c.m, c.n, c.k)); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
	g.Tiled = false
	k, err = g.prepare(&Types{})
	prepared(t, err)
	for _, c := range []struct {
		m, n, k float64
		want    bool
	}{{1, 2, 3, false}, {10, 20, 30, false}, {5, 10, 20, false}, {11, 10, 20, true}, {0.5, 10, 20, true}, {5, 21, 20, true}, {5, 10, 2, true}} {
		if got := k.Beyond(product(c.m, c.n, c.k)); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}
