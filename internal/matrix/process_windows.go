package matrix

import "os/exec"

// shellWords run a command line in the shell of the system.
func shellWords(line string) []string { return []string{"cmd", "/C", line} }

// Windows lacks the process groups and signals needed here: only the first process is ended.

func ownGroup(*exec.Cmd) {}

func (p *process) signal(string) {
	if !p.ended() {
		p.cmd.Process.Kill()
	}
}

func signalOne(int, string) {}

func adopt() map[int]bool { return nil }

func (p *process) hasGroup() bool { return false }

func strays(string, map[int]bool, map[int]int64) []stray { return nil }

func descendants(map[int]bool) map[int]int64 { return nil }

func bootID() string { return "" }

func lock(string) (free func(), err error) { return func() {}, nil }
