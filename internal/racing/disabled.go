//go:build !race

// Package racing tells tests whether the race detector watches. Long fits, which nothing runs beside, skip then; make test
// runs them without it.
package racing

// Enabled: the race detector watches, and arithmetic takes twenty times as long.
const Enabled = false
