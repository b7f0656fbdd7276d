package chart

import "testing"

// CheckLayout fails where two texts of a scene overlap, or something leaves the frame.
func CheckLayout(t *testing.T, name string, s *Scene) {
	t.Helper()
	for _, problem := range s.Problems() {
		t.Errorf("%s: %s", name, problem)
	}
}
