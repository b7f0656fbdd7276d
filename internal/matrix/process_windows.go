package matrix

import "os/exec"

// shell is a command line as words.
func shell(line string) []string { return []string{"cmd", "/C", line} }

// Windows has neither process groups nor signals as this package needs them: only the first process is ended.

func ownGroup(*exec.Cmd) {}

func (p *process) signal(string) {
	if !p.ended() {
		p.cmd.Process.Kill()
	}
}

func signalOne(int, string) {}

func adopt() map[int]bool { return nil }

func (p *process) hasGroup() bool { return false }

func strays(string, map[int]bool) []stray { return nil }

func lock(string) (free func(), err error) { return func() {}, nil }
