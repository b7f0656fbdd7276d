package emulate

import (
	"syscall"
	"time"
)

// nap sleeps briefly. Go's timers are up to a millisecond late on Linux, the unit of its poller.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil) // after a signal the next nap follows
}
