//go:build !race

// Package racing tells tests whether the race detector watches. Long arithmetic, which nothing runs beside, skips then;
// make test runs it without.
package racing

// Enabled: the race detector watches, and arithmetic takes twenty times as long.
const Enabled = false
