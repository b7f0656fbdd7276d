package result

import (
	"strings"
	"testing"

	"throughline/serving"
)

// Names are unique in the registry and in each table; the fields of tables are those of the
// registry.
func TestRegistry(t *testing.T) {
	for _, table := range Tables() {
		seen := map[string]bool{}
		for i := range table.Rows {
			r := &table.Rows[i]
			if seen[r.Label] {
				t.Errorf("%s has two rows %s", table.Name, r.Label)
			}
			seen[r.Label] = true
			if f, ok := Lookup(r.Name); !ok || f != r.Field {
				t.Errorf("%s is not in the registry", r.Name)
			}
		}
	}
	if n := len(Fields()); n < 200 {
		t.Errorf("only %d fields", n)
	}
}

// The unit in the name of a field is its unit.
func TestUnitsInNames(t *testing.T) {
	spelled := map[string]Unit{"s": Seconds, "ms": Millis, "Gib": GiB, "GBps": GBps, "token/s": TokenRate, "%": Percent, "W": Watts}
	for _, f := range Fields() {
		_, rest, ok := strings.Cut(f.Name, "(")
		if !ok {
			continue
		}
		if want := spelled[strings.TrimSuffix(rest, ")")]; want != f.Unit || want == "" {
			t.Errorf("%s is in %s", f.Name, f.Unit)
		}
	}
}

// A field can be asked for in another unit.
func TestOtherUnits(t *testing.T) {
	r := &Record{Complete: true, Prediction: serving.Prediction{TTFT: 0.25}}
	f, ok := Lookup("TTFT(s)")
	if !ok || f.Value(r) != 0.25 || f.In(Millis, r) != 250.0 || f.In(Seconds, r) != 0.25 {
		t.Errorf("%v s is %v ms", f.Value(r), f.In(Millis, r))
	}
	if got := f.In(Millis, &Record{}); got != nil {
		t.Errorf("what is not known is %v ms", got)
	}
}
