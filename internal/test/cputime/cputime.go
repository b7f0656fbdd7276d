//go:build unix

// Package cputime measures how long the processors of this machine work, which other programs do not change as they change the
// time on a clock.
package cputime

import (
	"syscall"
	"time"
)

// Now is the time that this process has computed.
func Now() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
