//go:build race

package racing

// Enabled: arithmetic takes twenty times as long under the race detector.
const Enabled = true
