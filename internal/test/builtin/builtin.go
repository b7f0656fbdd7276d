// Package builtin hands built-in models and systems to tests.
package builtin

import (
	_ "embed"
	"testing"

	"throughline/hardware"
	"throughline/model"
)

// Model is a built-in model, with the settings of its file.
func Model(t testing.TB, name string) (*model.Model, *model.Settings) {
	t.Helper()
	src, ok := model.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no model %s", name)
	}
	m, set, doc := model.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return m, set
}

// System is a built-in system.
func System(t testing.TB, name string) *hardware.System {
	t.Helper()
	src, ok := hardware.Catalogue.Find(name)
	if !ok {
		t.Fatalf("no system %s", name)
	}
	s, doc := hardware.Read(name, src)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

//go:embed H200.json
var kept []byte

// Kept is a system with measured kernels as it once was: what is computed with it moves with
// formulas, not with facts.
func Kept(t testing.TB) *hardware.System {
	t.Helper()
	s, doc := hardware.Read("H200", kept)
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}
