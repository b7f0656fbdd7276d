//go:build unix && !linux

package matrix

import "syscall"

// adopt: only Linux hands orphans to this program.
func adopt() map[int]bool { return nil }

// hasGroup reports whether a process of the group is left.
func (p *process) hasGroup() bool { return syscall.Kill(-p.cmd.Process.Pid, 0) == nil }

// strays are not found on these systems.
func strays(string, map[int]bool, map[int]int64) []stray { return nil }

// descendants are unknown on these systems.
func descendants(map[int]bool) map[int]int64 { return nil }

func bootID() string { return "" }
