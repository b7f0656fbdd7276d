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

// A scan of 8,000 points in a dozen parts or more, which takes a fraction of a second.
const (
	scanned = `{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1:8", "phase": "decode"}, "vary": ["sys.mem1.GBps=3000:9000:1000"]}`
	work    = "1s" // of a part
)

// inside runs $4 … into the folder $2 with room for $1 KiB, of a file system that ends with it, and
// copies what is left there to $2.left; $3 is in it before. Without privileges: who asks is root of
// a namespace.
const inside = `mount -t tmpfs -o size=$1k full "$2" || exit 99
at=$2
[ -z "$3" ] || { mkdir "$at/r" && cp "$3" "$at/r/"; } || exit 97
shift 3; "$@"; code=$?
[ ! -d "$at/r" ] || cp -a "$at/r" "$at.left" || exit 98
exit $code`

func within(ctx context.Context, room int, at, before string, line ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "unshare", append([]string{"-rm", "sh", "-c", inside, "sh", fmt.Sprint(room), at, before}, line...)...)
}

// fill runs a scan into folders that fill up, a third of the runs killed: each part that is left is
// that of a fresh run, and where there is room again the scan ends with the same table.
func (c *commands) fill(ctx context.Context, random *rand.Rand, until time.Time) error {
	file, fresh, at := filepath.Join(c.dir, "scan.json"), filepath.Join(c.dir, "fresh"), filepath.Join(c.dir, "full")
	if err := errors.Join(os.WriteFile(file, []byte(scanned), 0o666), os.Mkdir(at, 0o777)); err != nil {
		return err
	}
	if out, err := within(ctx, 64, at, "", "true").CombinedOutput(); err != nil {
		fmt.Printf("no folder fills up: this machine gives no file systems of a size: %v %s\n", err, out)
		return nil
	}
	want, err := c.table(ctx, file, fresh)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(fresh, "*"))
	if err != nil {
		return err
	}
	needed := 0 // KiB, of whole pages
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		needed += 4 * int(1+info.Size()>>12)
	}
	for time.Now().Before(until) {
		line := []string{c.program, "sweep", "run", file, "-o", at + "/r", "--part", work}
		begun := "" // or the scan that was begun: its parts are the same however fast the machine is
		if random.IntN(4) > 0 {
			begun = filepath.Join(fresh, manifest)
		}
		killed := random.IntN(3) == 0
		if killed {
			line = append([]string{"timeout", "-s", "KILL", fmt.Sprintf("%.3f", 0.3*random.Float64())}, line...)
		}
		out, ended := within(ctx, 8+random.IntN(needed*5/4), at, begun, line...).CombinedOutput()
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
	for _, args := range [][]string{{"run", file, "-o", folder, "--part", work}, {"verify", folder}, {"merge", folder, "-o", name}} {
		if out, err := exec.CommandContext(ctx, c.program, append([]string{"sweep"}, args...)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("sweep %s: %w\n%s", args[0], err, out)
		}
	}
	return os.ReadFile(name)
}

// manifest is the file that says which points each part has.
const manifest = "scan.json"

// whole compares what a scan left with a fresh one; parts of other points are compared by the table
// that they make. Without room it ends with 3, as for any file that cannot be written.
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
	mine, _ := os.ReadFile(filepath.Join(left, manifest)) // none: nothing else may be there
	theirs, err := os.ReadFile(filepath.Join(fresh, manifest))
	if err != nil {
		return err
	}
	other := len(mine) > 0 && !bytes.Equal(mine, theirs)
	for _, f := range files {
		switch name := f.Name(); {
		case name == manifest, other && strings.HasSuffix(name, ".parquet"):
			continue
		case killed && (strings.HasPrefix(name, ".unfinished-") || strings.HasPrefix(name, "try-")):
			continue // no part, and removed after an hour; nor the mark of one that was begun
		}
		got, err := os.ReadFile(filepath.Join(left, f.Name()))
		if err != nil {
			return err
		}
		if want, err := os.ReadFile(filepath.Join(fresh, f.Name())); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s has %d bytes that a fresh run does not write, %v", f.Name(), len(got), err)
		}
	}
	return nil
}
