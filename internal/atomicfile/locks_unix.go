//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// lock marks a file as that of a living process; it fails if another has it. On file systems
// without locks, removeLeftover leaves the file alone.
func lock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != syscall.EWOULDBLOCK
}

// claim opens and locks a file that no living process has locked.
func claim(name string) *os.File {
	f, err := os.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil // another user's
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !stillThere(f) {
		f.Close()
		return nil
	}
	return f
}

// removeLeftover removes a file that no living process has locked.
func removeLeftover(name string) {
	if f := claim(name); f != nil {
		os.Remove(name)
		f.Close()
	}
}

// keepOwner gives a file the owner and group of the one it replaces, as far as this user may.
func keepOwner(f *os.File, before fs.FileInfo) {
	if s, ok := before.Sys().(*syscall.Stat_t); ok {
		// The owner may be out of reach where the group is not.
		if f.Chown(int(s.Uid), int(s.Gid)) != nil {
			_ = f.Chown(-1, int(s.Gid))
		}
	}
}

// syncFolder makes the names in a folder durable, where the file system can.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
