package matrix

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// setChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2): processes whose parents have ended become children of this one.
const setChildSubreaper = 36

// adopt makes this program the parent of orphans among its descendants, and returns the children that it has already.
func adopt() map[int]bool {
	syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
	before := map[int]bool{}
	for _, p := range processes() {
		if p.parent == os.Getpid() {
			before[p.pid] = true
		}
	}
	return before
}

// running is a process of this machine.
type running struct {
	pid, parent, group int
	zombie             bool
}

// processes are all of this machine.
func processes() []running {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []running
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		src, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		// What follows the name, which may hold anything: state, parent, group (proc(5)).
		fields := strings.Fields(string(src[bytes.LastIndexByte(src, ')')+1:]))
		if len(fields) < 3 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		out = append(out, running{pid, parent, group, fields[0] == "Z" || fields[0] == "X"})
	}
	return out
}

// hasGroup reports whether a process of the group is left. The dead among those that this program has adopted are buried.
func (p *process) hasGroup() bool {
	for _, r := range processes() {
		if r.group != p.cmd.Process.Pid {
			continue
		}
		if r.zombie && r.pid != p.cmd.Process.Pid && r.parent == os.Getpid() {
			syscall.Wait4(r.pid, nil, syscall.WNOHANG, nil)
		}
		if !r.zombie {
			return true
		}
	}
	return false
}

// strays are processes with the mark, and descendants of this program which it had not before; where before is nil, only those
// with the mark.
func strays(mark string, before map[int]bool) []stray {
	all := processes()
	ours := map[int]bool{}
	if before != nil {
		ours[os.Getpid()] = true
		for grown := true; grown; {
			grown = false
			for _, r := range all {
				if ours[r.parent] && !ours[r.pid] && !before[r.pid] {
					ours[r.pid], grown = true, true
				}
			}
		}
	}
	var out []stray
	for _, r := range all {
		if r.pid == os.Getpid() {
			continue
		}
		if r.zombie {
			if ours[r.pid] && r.parent == os.Getpid() { // all that this program has started has been waited for
				syscall.Wait4(r.pid, nil, syscall.WNOHANG, nil)
			}
			continue
		}
		if ours[r.pid] || marked(r.pid, mark) {
			out = append(out, stray{r.pid, nameOf(r.pid)})
		}
	}
	return out
}

// marked reports whether the environment of a process has the mark.
func marked(pid int, mark string) bool {
	src, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && bytes.Contains(append([]byte{0}, src...), []byte("\x00"+marker+"="+mark))
}

// nameOf is the command line of a process, in short.
func nameOf(pid int) string {
	const most = 60
	src, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	name := strings.TrimSpace(strings.ReplaceAll(string(src), "\x00", " "))
	if name == "" {
		return "process " + strconv.Itoa(pid)
	}
	if r := []rune(name); len(r) > most {
		name = string(r[:most-1]) + "…"
	}
	return name
}
