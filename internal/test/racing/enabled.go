//go:build race

package racing

// Enabled: the race detector watches, and arithmetic takes twenty times as long.
const Enabled = true
