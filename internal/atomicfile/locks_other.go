//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
	"runtime"
)

// lock has nothing to do: Windows keeps open files from being removed.
func lock(*os.File) bool { return true }

// claim opens a file that is not open, where the system can tell, as Windows can.
func claim(name string) *os.File {
	if runtime.GOOS != "windows" || os.Rename(name, name) != nil {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	return f
}

// removeLeftover removes a file that is not open, where the system can tell.
func removeLeftover(name string) {
	if runtime.GOOS == "windows" {
		os.Remove(name)
	}
}

// keepOwner has nothing to do: files inherit their rights from the folder.
func keepOwner(*os.File, fs.FileInfo) {}

// syncFolder has nothing to do: folders cannot be synced.
func syncFolder(string) {}
