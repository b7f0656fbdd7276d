//go:build !linux

package emulate

import "time"

func nap(d time.Duration) { time.Sleep(d) }
