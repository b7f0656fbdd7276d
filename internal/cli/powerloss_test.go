//go:build linux

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"throughline/internal/test/long"
)

// disk is a file system of its own on a file, whose power can be cut.
type disk struct {
	*testing.T
	image, at string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a file system")
	}
	dir := t.TempDir()
	d := &disk{t, filepath.Join(dir, "image"), filepath.Join(dir, "disk")}
	if err := os.Mkdir(d.at, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.image, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 64<<20); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", d.image}, {"mount", "-o", "loop", d.image, d.at}} {
		if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", strings.Join(args, " "), err, said)
		}
	}
	t.Cleanup(func() { exec.Command("umount", d.at).Run() })
	return d
}

// cut takes the power away: what has not come down to the disk, the journal included, is lost.
func (d *disk) cut() {
	d.Helper()
	root, err := os.Open(d.at)
	if err != nil {
		d.Fatal(err)
	}
	defer root.Close()
	const shutdown, withoutJournal = 0x8004587d, uint32(2) // EXT4_IOC_SHUTDOWN of linux/ext4.h
	how := withoutJournal
	if _, _, code := syscall.Syscall(syscall.SYS_IOCTL, root.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); code != 0 {
		d.Skip("the file system has no switch: ", code)
	}
}

// back mounts the disk again, as after a restart of the machine.
func (d *disk) back() {
	d.Helper()
	for _, args := range [][]string{{"umount", d.at}, {"mount", "-o", "loop", d.image, d.at}} {
		if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			d.Fatalf("%s: %v: %s", strings.Join(args, " "), err, said)
		}
	}
}

// TestSweepPowerLoss: when the power goes, at any moment, parts are there and whole, or absent;
// none is lost before which another was begun; the scan goes on, and the table has the bytes of one
// that was never interrupted.
func TestSweepPowerLoss(t *testing.T) {
	if notRacing(t); !long.Mode() {
		t.Skip("make test-long mounts a file system of its own for it")
	}
	d := newDisk(t)
	dir := t.TempDir()
	file, alone, place := filepath.Join(dir, "scan.json"), filepath.Join(dir, "alone"), filepath.Join(d.at, "results")
	err := os.WriteFile(file, []byte(`{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1:20"}, "vary": ["sys.mem1.GBps=3000:9000:30"]}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	call(t, "sweep", "run", file, "-o", alone)
	want := mergedBytes(t, alone)
	parts := func() []string {
		names, _ := filepath.Glob(filepath.Join(place, "part-*.parquet"))
		return names
	}
	losses := 0
	for before := 0; ; losses++ {
		cmd := exec.Command("throughline", "sweep", "run", file, "-o", place, "--part", "0.02", "--jobs", "1")
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var seen []string
		over := false
		for !over && len(seen) < before+20 {
			select {
			case err := <-ended:
				if over = true; err != nil {
					t.Fatalf("%v: %s", err, said.String())
				}
			case <-time.After(time.Millisecond):
				seen = parts()
			}
		}
		if over {
			break
		}
		d.cut()
		if err := <-ended; err == nil || cmd.ProcessState.ExitCode() != 3 {
			t.Fatalf("without power: %v: %s", err, said.String())
		}
		d.back()
		left := parts()
		for _, name := range seen[:len(seen)-1] { // the last may not have been ended
			if _, err := os.Stat(name); err != nil {
				t.Errorf("loss %d: %v, which was there when another was begun", losses, err)
			}
		}
		if out := call(t, "sweep", "verify", place); !strings.Contains(out, "whole") {
			t.Error(out)
		}
		before = len(left)
	}
	if got := mergedBytes(t, place); !bytes.Equal(got, want) {
		t.Errorf("after %d losses the tables differ: %d and %d bytes", losses, len(got), len(want))
	}
	if losses < 5 {
		t.Errorf("the power was cut %d times", losses)
	}
	t.Logf("the power was cut %d times", losses)
}
