package matrix

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMark: processes of another run, whose mark begins like that of this one, are not its own.
func TestMark(t *testing.T) {
	mark := fmt.Sprintf("test%d", time.Now().UnixNano())
	for value, want := range map[string]int{mark + ":server": 1, mark + ":client": 1, mark + "1:server": 0, mark + ":other": 0, mark: 0, "x" + mark + ":server": 0} {
		cmd := exec.Command("sleep", "304")
		cmd.Env = append(os.Environ(), marker+"="+value)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A process that has just been started may not have its environment yet.
		got := len(strays(mark, nil, nil))
		for end := time.Now().Add(time.Second); got != want && time.Now().Before(end); time.Sleep(time.Millisecond) {
			got = len(strays(mark, nil, nil))
		}
		if got != want {
			t.Errorf("%s: %d found, want %d", value, got, want)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// TestEmptied: of a run that was killed, the next one also ends processes with an emptied
// environment in sessions of their own.
func TestEmptied(t *testing.T) {
	text := "servers:\n" + server("s", "(setsid env -i sleep 305 &); "+up) + "clients:\n" + client("c", "exec sleep 305")
	if dir := os.Getenv("THROUGHLINE_TEST_KILLED"); dir != "" {
		runFile(t, t.Context(), dir, text) // the run that is killed
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEmptied$")
	cmd.Env = append(os.Environ(), "THROUGHLINE_TEST_KILLED="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	named := func() (out []int) {
		for _, p := range processes() {
			if nameOf(p.pid) == "sleep 305" && !p.zombie {
				out = append(out, p.pid)
			}
		}
		return out
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		known := readTrail(dir)
		found := 0
		for _, pid := range named() {
			if known[pid] != 0 {
				found++
			}
		}
		if found == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the processes are not written down: %v", known)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	_, said, err := runFile(t, t.Context(), dir, "clients:\n"+client("c", printed))
	if err != nil || !strings.Contains(said, "of a run that was killed: ") {
		t.Errorf("%v\n%s", err, said)
	}
	for end := time.Now().Add(5 * time.Second); len(named()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left: %v", named())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, trailName)); err == nil {
		t.Error("the list of processes is left")
	}
}

// TestOrphans: grandchildren that have left their group are found: by the mark in their
// environment, and, where they have none, as orphans that this program adopts.
func TestOrphans(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	for name, command := range map[string]string{
		"session":  "setsid sleep 301 & echo all is up; exec sleep 300",
		"daemon":   "(setsid env -i sleep 301 &) ; echo all is up; exec sleep 300",
		"stubborn": `(setsid sh -c "trap '' TERM; sleep 301; sleep 301" &) ; echo all is up; exec sleep 300`,
	} {
		t.Run(name, func(t *testing.T) {
			results, said, err := runFile(t, t.Context(), t.TempDir(), "servers:\n"+strings.ReplaceAll(server("s", command), "10s", "1s")+"clients:\n"+client("c", "sleep 0.3;"+printed))
			if err != nil || len(results) != 1 || results[0].Verdict != Done || !strings.Contains(strings.Join(results[0].Notes, ""), "left its process group and was ended: ") {
				t.Fatalf("%+v, %v\n%s", results, err, said)
			}
			for _, p := range processes() {
				if strings.Contains(nameOf(p.pid), "sleep 301") && !p.zombie {
					t.Errorf("%s is left", nameOf(p.pid))
				}
			}
		})
	}
}
