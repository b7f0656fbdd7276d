package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A scan of 8,000 points in 16 parts, which takes a fraction of a second.
const (
	scanned = `{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1:8", "phase": "decode"}, "vary": ["sys.mem1.GBps=3000:9000:1000"]}`
	points  = "500" // of a part, so that parts are the same however fast the machine is
)

// inside runs $3 … into the folder $2 with room for $1 KiB, of a file system that ends with it, and
// copies what is left there to $2.left. Without privileges: who asks is root of a namespace.
const inside = `mount -t tmpfs -o size=$1k full "$2" || exit 99
at=$2; shift 2; "$@"; code=$?
[ ! -d "$at/r" ] || cp -a "$at/r" "$at.left" || exit 98
exit $code`

func within(ctx context.Context, room int, at string, line ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "unshare", append([]string{"-rm", "sh", "-c", inside, "sh", fmt.Sprint(room), at}, line...)...)
}

// fill runs a scan into folders that fill up, a third of the runs killed: each part that is left is
// that of a fresh run, and where there is room again the scan ends with the same table.
func (c *commands) fill(ctx context.Context, random *rand.Rand, until time.Time) error {
	file, fresh, at := filepath.Join(c.dir, "scan.json"), filepath.Join(c.dir, "fresh"), filepath.Join(c.dir, "full")
	if err := errors.Join(os.WriteFile(file, []byte(scanned), 0o666), os.Mkdir(at, 0o777)); err != nil {
		return err
	}
	if out, err := within(ctx, 64, at, "true").CombinedOutput(); err != nil {
		fmt.Printf("no folder fills up: this machine gives no file systems of a size: %v %s\n", err, out)
		return nil
	}
	want, err := c.table(ctx, file, fresh)
	if err != nil {
		return err
	}
	for i := 0; time.Now().Before(until); i++ {
		line := []string{c.program, "sweep", "run", file, "-o", at + "/r", "--part", points}
		killed := random.IntN(3) == 0
		if killed {
			line = append([]string{"timeout", "-s", "KILL", fmt.Sprintf("%.3f", 0.3*random.Float64())}, line...)
		}
		out, ended := within(ctx, 4+random.IntN(350), at, line...).CombinedOutput()
		left := at + ".left"
		if err := c.whole(left, fresh, killed, ended, out); err != nil {
			return fmt.Errorf("a scan into a folder that fills up: %w\n%s", err, out)
		}
		if got, err := c.table(ctx, file, left); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("a scan that had no room, continued, has %d bytes and not %d: %w", len(got), len(want), err)
		}
		if err := os.RemoveAll(left); err != nil {
			return err
		}
		c.lock.Lock()
		switch c.count["scans"]++; {
		case killed:
			c.count["scans killed"]++
		case ended != nil:
			c.count["scans without room"]++
		}
		c.lock.Unlock()
	}
	return nil
}

// table is that of a scan, whose missing parts are answered before.
func (c *commands) table(ctx context.Context, file, folder string) ([]byte, error) {
	name := folder + ".csv"
	defer os.Remove(name)
	for _, args := range [][]string{{"run", file, "-o", folder, "--part", points}, {"verify", folder}, {"merge", folder, "-o", name}} {
		if out, err := exec.CommandContext(ctx, c.program, append([]string{"sweep"}, args...)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("sweep %s: %w\n%s", args[0], err, out)
		}
	}
	return os.ReadFile(name)
}

// whole compares what a scan left with a fresh one. Without room it ends with 3, as for any file
// that cannot be written.
func (c *commands) whole(left, fresh string, killed bool, ended error, said []byte) error {
	var code *exec.ExitError
	if !killed && ended != nil && (!errors.As(ended, &code) || code.ExitCode() != 3 || !bytes.Contains(said, []byte("no space left"))) {
		return ended
	}
	for _, text := range crash {
		if bytes.Contains(said, text) {
			return errors.New("it crashes")
		}
	}
	files, err := os.ReadDir(left)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if killed && strings.HasPrefix(f.Name(), ".unfinished-") {
			continue // no part, and removed after an hour
		}
		got, err := os.ReadFile(filepath.Join(left, f.Name()))
		if err != nil {
			return err
		}
		if want, err := os.ReadFile(filepath.Join(fresh, f.Name())); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s has %d bytes that a fresh run does not write, %w", f.Name(), len(got), err)
		}
	}
	return nil
}
