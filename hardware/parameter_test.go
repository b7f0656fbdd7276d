package hardware_test

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"throughline/hardware"
)

// anyIndex turns the path of a number into the pattern of its key.
var anyIndex = regexp.MustCompile(`^(matrix|vector)\.\w+|\[\d+\]`)

func keyOf(name string) string {
	return anyIndex.ReplaceAllStringFunc(name, func(part string) string {
		if part[0] == '[' {
			return "[]"
		}
		engine, _, _ := strings.Cut(part, ".")
		return engine + ".*"
	})
}

// numberKeys are the numbers of the format outside tables, with their bounds.
func numberKeys(t *testing.T) map[string]map[string]any {
	t.Helper()
	text, err := hardware.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		if _, ok := s["minimum"]; ok {
			out[at] = s
		}
		for key, property := range s {
			switch p := property.(type) {
			case map[string]any:
				switch key {
				case "properties":
					for name, inner := range p {
						walk(strings.TrimPrefix(at+"."+name, "."), inner.(map[string]any))
					}
				case "additionalProperties":
					walk(at+".*", p)
				case "items":
					if p["properties"] != nil {
						walk(at+"[]", p)
					}
				}
			}
		}
	}
	walk("", schema)
	return out
}

// Every number of the format outside tables is a parameter of a system, with the bounds of the
// format, but those of power other than its limit: without that, no time follows from them.
func TestParametersAreTheNumbersOfTheFormat(t *testing.T) {
	src, _ := hardware.Catalogue.Find("H200")
	s, _ := hardware.Read("H200", src)
	s.Memory.New = &hardware.NewMemory{GBps: 1, ThreadGBps: 1, MiB: 32} // which CPUs have
	s.Borrowed.WeightOnly = 1                                           // which chips have that unpack weights through memory
	keys := numberKeys(t)
	seen := map[string]bool{}
	for _, p := range s.Parameters() {
		key := keyOf(p.Name)
		seen[key] = true
		bounds, ok := keys[key]
		if !ok {
			t.Errorf("%s is no number of the format", p.Name)
			continue
		}
		high, closed := bounds["maximum"].(float64)
		if !closed {
			high = bounds["exclusiveMaximum"].(float64)
		}
		if strings.HasSuffix(p.Name, ".size") {
			continue // between its neighbours, see below
		}
		if p.Low != bounds["minimum"] || math.Abs(p.High-high) > 1e-15 {
			t.Errorf("%s lies in [%g, %g], in the format in %v..%v", p.Name, p.Low, p.High, bounds["minimum"], high)
		}
	}
	for key := range keys {
		if !seen[key] && !strings.HasPrefix(key, "power.") && !strings.HasPrefix(key, "economics.") {
			t.Errorf("%s is no parameter", key)
		}
	}
}

func TestParametersChangeACopy(t *testing.T) {
	for name, e := range catalogue(t) {
		for _, p := range e.Parameters() {
			before, first := e.Clone(), p.Of(e.System)
			v := (p.Low + first) / 2
			if p.Whole {
				v = math.Floor(v)
			}
			changed := p.With(e.System, v)
			if p.Of(changed) != v {
				t.Errorf("%s: %s is %g after setting it to %g", name, p.Name, p.Of(changed), v)
			}
			if !reflect.DeepEqual(before, e.System) {
				t.Fatalf("%s: changing a copy's %s changed the original", name, p.Name)
			}
			if v != first && reflect.DeepEqual(changed, e.System) {
				t.Errorf("%s: %s changes nothing", name, p.Name)
			}
			if !reflect.DeepEqual(e.System, p.With(changed, first)) {
				t.Errorf("%s: %s does not change back", name, p.Name)
			}
		}
	}
}

// A level stays between its neighbours: 8 of 65536.
func TestSizesStayNested(t *testing.T) {
	src, _ := hardware.Catalogue.Find("H200")
	s, _ := hardware.Read("H200", src)
	p, _ := s.Parameter("networks[0].size")
	if got := p.With(s, 1e6).Networks[0].Size; got != 65535 {
		t.Errorf("inner level of %d, want 65535", got)
	}
	p, _ = s.Parameter("networks[1].size")
	if got := p.With(s, 1).Networks[1].Size; got != 9 {
		t.Errorf("outer level of %d, want 9", got)
	}
	if _, ok := s.Parameter("mem1.gbps"); ok {
		t.Error("found a parameter that does not exist")
	}
}
