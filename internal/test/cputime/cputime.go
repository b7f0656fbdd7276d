//go:build unix

// Package cputime measures processor time, which other programs hardly change.
package cputime

import (
	"syscall"
	"time"
)

// Now returns the processor time of this process.
func Now() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
