// Command soak leaves the program alone for a while: command lines, valid and broken, side by side,
// with little memory and few files, a third of them killed; scans into folders that fill up; and
// servers under clients of which half are rude. What is left behind must be what an undisturbed run
// writes, and servers must not grow:
//
//	soak -for 1h -seed 7
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"throughline/internal/test/questions"
)

func main() {
	long := flag.Duration("for", time.Minute, "how long")
	seed := flag.Uint64("seed", 1, "of the draw")
	workers := flag.Int("workers", 2, "command lines at a time")
	flag.Parse()
	if err := soak(context.Background(), *long, *seed, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(ctx context.Context, long time.Duration, seed uint64, workers int) error {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "throughline")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/throughline").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	c := &commands{program: program, dir: dir, fresh: map[string][]byte{}, count: map[string]int{}}
	until := time.Now().Add(long)
	errs := make(chan error, workers+len(servers)+1)
	var wait sync.WaitGroup
	for i := range workers {
		wait.Go(func() { errs <- c.run(ctx, rand.New(rand.NewPCG(seed, uint64(i))), until) })
	}
	wait.Go(func() { errs <- c.fill(ctx, rand.New(rand.NewPCG(seed, 2000)), until) })
	for i, s := range servers {
		wait.Go(func() { errs <- s.soak(ctx, program, rand.New(rand.NewPCG(seed, 1000+uint64(i))), until) })
	}
	wait.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	fmt.Println("command lines:", c.count)
	return errors.Join(all...)
}

// commands runs command lines.
type commands struct {
	program, dir string
	lock         sync.Mutex
	fresh        map[string][]byte // what undisturbed runs write, by their arguments
	count        map[string]int
}

// Limits of half of the runs. With four to seven open files, or less than 400 MB of addresses, the
// runtime of Go itself ends before the program begins.
const (
	fewFiles  = 16
	addresses = 2 << 20 // KiB
)

// crash is what no run may say, however it is treated.
var crash = [][]byte{[]byte("panic:"), []byte("goroutine "), []byte("SIGSEGV"), []byte("fatal error:")}

// draw is a command line that writes one file, and whether it is broken on purpose.
func draw(random *rand.Rand) (args []string, broken bool) {
	d := questions.Draw(1, random.Uint64N(500))[0]
	all := d.AllSettings()
	args = append([]string{"estimate"}, all.Args()...)
	if random.IntN(3) > 0 {
		return args, false
	}
	i := 1 + random.IntN(len(args)-1)
	switch name, value, _ := strings.Cut(args[i], "="); random.IntN(4) {
	case 0:
		args[i] = name + "=" + value[:len(value)/2]
	case 1:
		args[i] = name + "=\x01-1e999;" + value
	case 2:
		args[i] = name + "x=" + value
	default:
		args[i] = name
	}
	return args, true
}

func (c *commands) run(ctx context.Context, random *rand.Rand, until time.Time) error {
	for i := 0; time.Now().Before(until); i++ {
		args, broken := draw(random)
		key := strings.Join(args, " ")
		want, err := c.undisturbed(ctx, key, args)
		if err != nil {
			return err
		}
		name := filepath.Join(c.dir, fmt.Sprintf("%d-%p.json", i, random))
		line := `exec "$@"`
		if random.IntN(2) == 0 {
			line = fmt.Sprintf(`ulimit -n %d; ulimit -v %d; %s`, fewFiles, addresses, line)
		}
		killed := random.IntN(3) == 0
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", line, "sh", c.program}, append(args, "--trace-out", name)...)...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			return err
		}
		if killed {
			time.AfterFunc(time.Duration(random.IntN(200))*time.Millisecond, func() { cmd.Process.Kill() })
		}
		ended := cmd.Wait()
		got, err := os.ReadFile(name)
		there := err == nil
		os.Remove(name)
		for _, text := range crash {
			if bytes.Contains(said.Bytes(), text) {
				return fmt.Errorf("%s\n%s", key, said.Bytes())
			}
		}
		c.lock.Lock()
		c.count[map[bool]string{true: "broken", false: "valid"}[broken]]++
		if killed {
			c.count["killed"]++
		}
		c.lock.Unlock()
		switch {
		case there && !bytes.Equal(got, want):
			return fmt.Errorf("%s left %d bytes that an undisturbed run does not write", key, len(got))
		case !there && want != nil && !killed:
			return fmt.Errorf("%s left nothing: %w\n%s", key, ended, said.Bytes())
		}
	}
	return nil
}

// undisturbed is what a run alone writes; nil: nothing, as it is refused.
func (c *commands) undisturbed(ctx context.Context, key string, args []string) ([]byte, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if b, ok := c.fresh[key]; ok {
		return b, nil
	}
	name := filepath.Join(c.dir, "fresh.json")
	defer os.Remove(name)
	out, err := exec.CommandContext(ctx, c.program, append(args, "--trace-out", name)...).CombinedOutput()
	b, missing := os.ReadFile(name)
	var code *exec.ExitError
	if errors.As(err, &code) && (code.ExitCode() > 4 || missing == nil && code.ExitCode() == 2) {
		return nil, fmt.Errorf("%s ends with %d:\n%s", key, code.ExitCode(), out)
	}
	c.fresh[key] = b
	return b, nil
}

// listening waits for the address that a server prints. The channel gets how many goroutines it
// had when it was told to quit.
func listening(cmd *exec.Cmd) (at string, goroutines <-chan int, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if i := strings.Index(lines.Text(), "http://"); i >= 0 {
			at, n := strings.Fields(lines.Text()[i:])[0], make(chan int, 1)
			go func() {
				count := 0
				for lines.Scan() { // lest the server waits for a reader
					if strings.HasPrefix(lines.Text(), "goroutine ") {
						count++
					}
				}
				n <- count
			}()
			return at, n, nil
		}
	}
	return "", nil, errors.New("a server says no address")
}
