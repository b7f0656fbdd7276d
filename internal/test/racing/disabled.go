//go:build !race

// Package racing reports whether the race detector is on. Long sequential arithmetic is then
// skipped; make test runs it without.
package racing

// Enabled: arithmetic takes twenty times as long under the race detector.
const Enabled = false
