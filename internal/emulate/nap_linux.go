package emulate

import (
	"syscall"
	"time"
)

// nap sleeps for a short time. Timers of Go end up to a millisecond late on Linux, whose poller counts in those.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil) // one that a signal ends is followed by the next
}
