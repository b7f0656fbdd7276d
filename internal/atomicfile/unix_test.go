//go:build unix

package atomicfile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These are set in the processes that tests start and kill.
const (
	writerOf = "ATOMICFILE_WRITES"  // a file, in the middle of it
	commits  = "ATOMICFILE_COMMITS" // files in a folder, between the names of the first and the second
)

func TestMain(m *testing.M) {
	if name := os.Getenv(writerOf); name != "" {
		err := Write(context.Background(), name, func(w io.Writer) error {
			io.WriteString(w, "half")
			fmt.Println("writing")
			time.Sleep(time.Minute) // where nothing is to wake it, the runtime ends a process
			return nil
		})
		fmt.Println(err)
		os.Exit(1)
	}
	if dir := os.Getenv(commits); dir != "" {
		published = func() {
			fmt.Println("writing")
			time.Sleep(time.Minute)
		}
		fmt.Println(writeSet(context.Background(), dir, "new", "a.csv", "b.csv", "c.csv"))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestKilled: what a killed process left is cleared by the next one, what a living one is writing
// is not.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.csv")
	put(t, filepath.Join(dir, ".a.csv.notes"), "of someone else", 0o644)
	start := func() *exec.Cmd { return startWriter(t, writerOf, name) }
	killed := start()
	killed.Process.Kill()
	killed.Wait()
	if got := names(t, dir); !strings.Contains(got, suffix) {
		t.Fatalf("a killed process left %q; the test shows nothing", got)
	}
	start()
	if err := Write(t.Context(), name, text("whole")); err != nil {
		t.Fatal(err)
	}
	holds(t, name, "whole")
	if got := names(t, dir); strings.Count(got, suffix) != 1 || !strings.Contains(got, ".a.csv.notes") {
		t.Errorf("left %q, not the file that is being written and that of someone else", got)
	}
}

// startWriter starts another process that writes, and waits until it is in the middle of it.
func startWriter(t *testing.T, what, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), what+"="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "writing\n" {
		t.Fatalf("the other process said %q", line)
	}
	return cmd
}

// writeSet writes files that belong together.
func writeSet(ctx context.Context, dir, content string, names ...string) error {
	var s Set
	defer s.Discard()
	for _, n := range names {
		if err := s.Add(ctx, filepath.Join(dir, n), text(content)); err != nil {
			return err
		}
	}
	return s.Commit(ctx)
}

// TestKilledBetweenNames: a process that is killed when one file of three has its name leaves a set
// that the next one makes whole, whatever it writes there. While the process lives no other one
// touches the set.
func TestKilledBetweenNames(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := writeSet(t.Context(), dir, "old", "a.csv", "b.csv"); err != nil {
		t.Fatal(err)
	}
	other := startWriter(t, commits, dir)
	if err := Write(t.Context(), at("d.csv"), text("while it lives")); err != nil {
		t.Fatal(err)
	}
	holds(t, at("a.csv"), "new")
	holds(t, at("b.csv"), "old")
	holds(t, at("c.csv"), "")
	other.Process.Kill()
	other.Wait()
	if err := Write(t.Context(), at("d.csv"), text("after it")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.csv", "b.csv", "c.csv"} {
		holds(t, at(name), "new")
	}
	if err := writeSet(t.Context(), dir, "newest", "a.csv", "b.csv", "c.csv"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "a.csv b.csv c.csv d.csv" {
		t.Errorf("left %q", got)
	}
}

// TestClearFolder: sets that killed processes left are made whole, their other temporary files
// removed whatever they were to be; what a living one writes stays.
func TestClearFolder(t *testing.T) {
	dir := t.TempDir()
	startWriter(t, writerOf, filepath.Join(dir, "e.csv"))
	killed := []*exec.Cmd{startWriter(t, writerOf, filepath.Join(dir, "d.csv")), startWriter(t, commits, dir)}
	for _, cmd := range killed {
		cmd.Process.Kill()
		cmd.Wait()
	}
	ClearFolder(dir)
	for _, name := range []string{"a.csv", "b.csv", "c.csv"} {
		holds(t, filepath.Join(dir, name), "new")
	}
	if got := names(t, dir); strings.Count(got, suffix) != 1 || !strings.HasPrefix(got, ".e.csv.") {
		t.Errorf("left %q", got)
	}
}

// TestJournals: one that is not whole, or that names what is none of ours, moves nothing and is
// removed.
func TestJournals(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "in")
	if err := os.Mkdir(inner, 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, ".x.0"+suffix), "outside", 0o644)
	put(t, filepath.Join(inner, ".a.0"+suffix), "ours", 0o644)
	put(t, filepath.Join(inner, "notes"), "theirs", 0o644)
	for i, text := range []string{
		`[{"From":".a.0.throughline-tmp","To":"a"}`, `[{"From":".a.0.throughline-tmp","To":"a"}]`, // cut off
		`[{"From":"notes","To":"a"}]` + "\n", `[{"From":"../.x.0.throughline-tmp","To":"../x"}]` + "\n", `[{"From":".a.0.throughline-tmp","To":"b"}]` + "\n", "\n",
	} {
		put(t, filepath.Join(inner, fmt.Sprintf(".%d%s", i, journalSuffix)), text, 0o644)
	}
	if err := Write(t.Context(), filepath.Join(inner, "d"), text("d")); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, inner), ".a.0"+suffix+" d notes"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
	holds(t, filepath.Join(dir, ".x.0"+suffix), "outside")
}

func TestModes(t *testing.T) {
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "private"), "before", 0o600)
	put(t, filepath.Join(dir, "shared"), "before", 0o664)
	for name, want := range map[string]fs.FileMode{"private": 0o600, "shared": 0o664, "new": 0o600} {
		if err := Write(t.Context(), filepath.Join(dir, name), text("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	syscall.Umask(0o022)
	if err := Write(t.Context(), filepath.Join(dir, "usual"), text("x")); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "usual")); info.Mode() != 0o644 {
		t.Errorf("usual: %v", info.Mode())
	}
}

// TestReadOnly: a file that may not be written is not replaced either.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write every file")
	}
	name := filepath.Join(t.TempDir(), "a")
	put(t, name, "before", 0o444)
	if err := Write(t.Context(), name, text("x")); !os.IsPermission(err) {
		t.Errorf("error %v", err)
	}
	holds(t, name, "before")
}

// TestDevices: what is no regular file stays what it is.
func TestDevices(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes: ", err)
	}
	if err := os.Symlink("pipe", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, link} {
		read := make(chan string)
		go func() {
			got, err := os.ReadFile(pipe)
			read <- fmt.Sprint(string(got), err)
		}()
		if err := Write(t.Context(), name, text("through")); err != nil {
			t.Error(err)
			return // nothing will be read
		}
		if got := <-read; got != "through<nil>" {
			t.Errorf("read %s", got)
		}
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info.Mode(), err)
	}
}

// TestOpenFile: an open file by its number is written where it is, after what it holds.
func TestOpenFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	put(t, name, "before, ", 0o644)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	number := fmt.Sprintf("/dev/fd/%d", f.Fd())
	if _, err := os.Stat(number); err != nil {
		t.Skip("open files have no names: ", err)
	}
	if err := Write(t.Context(), number, text("after")); err != nil {
		t.Fatal(err)
	}
	holds(t, name, "before, after")
}
