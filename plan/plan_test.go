package plan_test

import (
	"reflect"
	"testing"

	"throughline/plan"
)

// TestPlanIsLayoutBehaviourAndVariants: a plan adds to its layout and behaviour only what a search
// or the load varies, and no field hides one of another part. A new field has to become part of one
// of them.
func TestPlanIsLayoutBehaviourAndVariants(t *testing.T) {
	whole := reflect.TypeFor[plan.Plan]()
	var own []string
	for i := range whole.NumField() {
		if f := whole.Field(i); !f.Anonymous {
			own = append(own, f.Name)
		}
	}
	if want := []string{"Batch", "Redundant", "Overlap", "Under"}; !reflect.DeepEqual(own, want) {
		t.Errorf("a plan has %q besides its layout and its behaviour, want %q", own, want)
	}
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(whole) {
		if seen[f.Name] {
			t.Errorf("two parts of a plan have a field %s", f.Name)
		}
		seen[f.Name] = true
	}
	for _, part := range []reflect.Type{reflect.TypeFor[plan.Layout](), reflect.TypeFor[plan.Behaviour]()} {
		if !part.Comparable() {
			t.Errorf("%s cannot be a key", part)
		}
		if _, embedded := whole.FieldByName(part.Name()); !embedded {
			t.Errorf("a plan does not embed its %s", part.Name())
		}
	}
}
