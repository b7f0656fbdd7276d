package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"throughline/internal/test/long"
	"throughline/internal/test/racing"
)

// notRacing skips a test of what is read and printed: it is the same without the race detector, and
// commands that work side by side are run under it by others.
func notRacing(t *testing.T) {
	t.Helper()
	long.NotRacing(t)
}

// tests are those of this process, which are not run in programs that scripts start.
type tests struct{ *testing.M }

func (t tests) Run() int {
	predictsOnce()
	return t.M.Run()
}

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"throughline": func() {
			os.Exit(Main(os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// TestScripts runs the program the way a user does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"refuses": refuses,
			"packed":  packed,
		},
		Condition: func(name string) (bool, error) {
			if name != "race" {
				return false, fmt.Errorf("no condition %q", name)
			}
			return racing.Enabled && !long.Mode(), nil
		},
	})
}

// refuses is the script command "refuses MESSAGE ARG...": with these arguments the program must
// fail with the exit code of bad input, say the message first, and print no results.
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: refuses MESSAGE ARG...")
	}
	command := "throughline " + strings.Join(args[1:], " ") + "; test $? = 2"
	if err := ts.Exec("sh", "-c", command); err != nil {
		ts.Fatalf("exit code is not 2")
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout is %q", out)
	}
	first, _, _ := strings.Cut(ts.ReadFile("stderr"), "\n")
	if first != args[0] {
		ts.Fatalf("said %q, want %q", first, args[0])
	}
}

// packed is the script command "packed FILE [TEXT]": a compressed file of the text, or of a line of
// 64 MiB.
func packed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: packed FILE [TEXT]")
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if len(args) == 2 {
		io.WriteString(z, strings.ReplaceAll(args[1], `\n`, "\n"))
	} else {
		for range 64 {
			z.Write(make([]byte, 1<<20))
		}
	}
	ts.Check(z.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o666))
}
