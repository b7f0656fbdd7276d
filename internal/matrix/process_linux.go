package matrix

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// setChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2): orphans become children of this process.
const setChildSubreaper = 36

// adopt makes this program the parent of orphaned descendants, and returns its current children.
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

type running struct {
	pid, parent, group int
	zombie             bool
	start              int64 // in ticks since the machine was started
}

// processes of this machine.
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
		// After the name, which may hold anything: state, parent, group, 20th: starttime (proc(5)).
		fields := strings.Fields(string(src[bytes.LastIndexByte(src, ')')+1:]))
		if len(fields) < 20 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		start, _ := strconv.ParseInt(fields[19], 10, 64)
		out = append(out, running{pid, parent, group, fields[0] == "Z" || fields[0] == "X", start})
	}
	return out
}

// hasGroup reports whether a process of the group is left, and reaps adopted dead ones.
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

// family adds all descendants of processes, except those that were there before.
func family(all []running, ours, before map[int]bool) {
	for grown := true; grown; {
		grown = false
		for _, r := range all {
			if ours[r.parent] && !ours[r.pid] && !before[r.pid] {
				ours[r.pid], grown = true, true
			}
		}
	}
}

// descendants are the processes started by this program, even indirectly, and when they began.
func descendants(before map[int]bool) map[int]int64 {
	all, ours, out := processes(), map[int]bool{os.Getpid(): true}, map[int]int64{}
	family(all, ours, before)
	for _, r := range all {
		if ours[r.pid] && !r.zombie && r.pid != os.Getpid() {
			out[r.pid] = r.start
		}
	}
	return out
}

func bootID() string {
	src, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(src))
}

// strays are marked processes, known ones (by start time) with all their descendants, and new
// descendants of this program; without before, none of the latter.
func strays(mark string, before map[int]bool, known map[int]int64) []stray {
	all := processes()
	ours := map[int]bool{}
	if before != nil {
		ours[os.Getpid()] = true
	}
	for _, r := range all {
		if start, ok := known[r.pid]; ok && start == r.start {
			ours[r.pid] = true
		}
	}
	family(all, ours, before)
	var out []stray
	for _, r := range all {
		if r.pid == os.Getpid() {
			continue
		}
		if r.zombie {
			if ours[r.pid] && r.parent == os.Getpid() { // all children of this program have been waited for
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
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(src, []byte{0}) {
		if part, ok := bytes.CutPrefix(variable, []byte(marker+"="+mark+":")); ok && (string(part) == serverPart || string(part) == clientPart) {
			return true
		}
	}
	return false
}

// nameOf is the command line of a process.
func nameOf(pid int) string {
	src, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	name := strings.TrimSpace(strings.ReplaceAll(string(src), "\x00", " "))
	if name == "" {
		return "process " + strconv.Itoa(pid)
	}
	return name
}
