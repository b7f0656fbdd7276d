//go:build linux

package main

import (
	"testing"
	"time"

	"throughline/internal/test/golden"
	"throughline/internal/test/long"
)

// TestSoak: a minute of it.
func TestSoak(t *testing.T) {
	if !long.Mode() {
		t.Skip("takes a minute")
	}
	t.Chdir(golden.Root)
	if err := soak(t.Context(), time.Minute, uint64(time.Now().Unix()), 2); err != nil {
		t.Error(err)
	}
}
