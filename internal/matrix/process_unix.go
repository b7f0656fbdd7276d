//go:build unix

package matrix

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

var signals = map[string]syscall.Signal{
	"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP, "SIGQUIT": syscall.SIGQUIT, "SIGKILL": syscall.SIGKILL,
}

// shellWords run a command line in the shell of the system.
func shellWords(line string) []string { return []string{"/bin/sh", "-c", line} }

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signal sends one to the group, whose number stays taken while its leader is not reaped.
func (p *process) signal(name string) {
	if !p.ended() || p.hasGroup() {
		syscall.Kill(-p.cmd.Process.Pid, signals[name])
	}
}

func signalOne(pid int, name string) { syscall.Kill(pid, signals[name]) }

// lock keeps others from a folder until it is freed or this program ends.
func lock(name string) (free func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errBusy
		}
		return func() {}, nil // a file system without locks
	}
	return func() { f.Close() }, nil
}
