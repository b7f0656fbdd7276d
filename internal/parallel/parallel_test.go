package parallel

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// All parts run, and a panic in one of them is one in Wait, with the place where it happened.
func TestPanic(t *testing.T) {
	var g Group
	var ran atomic.Int64
	for i := range 8 {
		g.Go(func() {
			ran.Add(1)
			if i == 3 {
				mistake()
			}
		})
	}
	err := Caught(func() error { g.Wait(); return nil })()
	var p *Panic
	if !errors.As(err, &p) || p.Value != "a mistake" || !strings.Contains(string(p.Stack), "parallel.mistake") || ran.Load() != 8 {
		t.Errorf("%d parts, %v", ran.Load(), err)
	}
	g = Group{}
	g.Go(func() {})
	g.Wait()
	if want := errors.New("no mistake"); Caught(func() error { return want })() != want {
		t.Error("an error becomes another")
	}
}

func mistake() { panic("a mistake") }
