package question

import (
	"strings"
	"testing"
)

// Choices are taken in any case, and by the words that rows of plans have for them; what is none
// says which there are.
func TestChoicesInOtherWords(t *testing.T) {
	for _, c := range []struct{ setting, text, want string }{
		{"overlap", "tbo", "two-batch"}, {"overlap", "SBO", "single-batch"}, {"overlap", "Two-Batch", "two-batch"}, {"overlap", "ANY", "any"}, {"overlap", "off", "off"},
		{"popularity", "Served", "served"}, {"popularity", "Zipf:0.6", "zipf:0.6"}, {"popularity", "COUNTS:Visits.csv", "counts:Visits.csv"}, {"mode", "Agg", "agg"},
	} {
		s, ok := Lookup(Plan, c.setting)
		if !ok {
			t.Fatalf("no setting %s", c.setting)
		}
		var q Question
		if err := s.Set(&q, c.text); err != nil || s.Get(&q) != c.want {
			t.Errorf("%s %s is %q, %v, want %q", c.setting, c.text, s.Get(&q), err, c.want)
		}
	}
	s, _ := Lookup(Plan, "overlap")
	if err := s.Set(new(Question), "tb"); err == nil || !strings.Contains(err.Error(), `"two-batch"`) {
		t.Errorf("tb: %v", err)
	}
	q := Question{Popularity: "serve"}
	if err := (&Loaded{Question: q}).visit(); err == nil || !strings.Contains(err.Error(), `did you mean "served"?`) {
		t.Errorf("serve: %v", err)
	}
}
