package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"throughline/internal/test/cloud"
)

// TestSweepKilled: six processes share a scan while one of them is killed every 0.4 s and started
// again, in a folder and in a bucket; no point is lost, and the table has the bytes of one process.
func TestSweepKilled(t *testing.T) {
	notRacing(t)
	dir := t.TempDir()
	file, alone := filepath.Join(dir, "scan.json"), filepath.Join(dir, "alone")
	// 600 points of some milliseconds each.
	err := os.WriteFile(file, []byte(`{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1:20"}, "vary": ["sys.mem1.GBps=3000:9000:30"]}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	call(t, "sweep", "run", file, "-o", alone)
	want := mergedBytes(t, alone)
	for name, place := range map[string]string{"folder": filepath.Join(dir, "shared"), "bucket": "s3://bucket/shared"} {
		t.Run(name, func(t *testing.T) {
			service := cloud.New(true)
			service.Start(t)
			killed, notes := killedWorkers(t, file, place)
			if got := mergedBytes(t, place); !bytes.Equal(got, want) {
				t.Errorf("the tables differ: %d and %d bytes", len(got), len(want))
			}
			status := call(t, "sweep", "status", place)
			if !strings.Contains(status, "of 600 points") {
				t.Error(status)
			}
			twice := service.Refused("part-")
			for line := range strings.Lines(notes) {
				var n int
				if fmt.Sscanf(line, "answered twice: %d", &n); name == "folder" {
					twice += n
				}
			}
			// It is six in a thousand in the mean, and thirteen at most, where six other programs
			// run.
			if twice > 600*2/100 {
				t.Errorf("%d of 600 parts were answered twice", twice)
			}
			t.Logf("%d kills, %d of 600 parts answered twice", killed, twice)
		})
	}
}

// mergedBytes is the table of a scan.
func mergedBytes(t *testing.T, place string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "merged.parquet")
	call(t, "sweep", "merge", place, "-o", file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// killedWorkers lets six processes share a scan, and kills one every 0.4 s, until all have ended by
// themselves.
func killedWorkers(t *testing.T, file, place string) (killed int, notes string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var lock sync.Mutex
	var running []*exec.Cmd
	var group sync.WaitGroup
	for shard := range 6 {
		group.Go(func() {
			for ctx.Err() == nil {
				var said bytes.Buffer
				cmd := exec.CommandContext(ctx, "throughline", "sweep", "run", file, "-o", place, "--part", "0.02", "--jobs", "1", "--shard", string(rune('0'+shard))+"/6")
				cmd.Stderr = &said
				lock.Lock()
				err := cmd.Start()
				running = append(running, cmd)
				lock.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Wait(); err == nil {
					lock.Lock()
					notes += said.String()
					lock.Unlock()
					return
				} else if code := cmd.ProcessState.ExitCode(); code >= 0 { // it was not killed
					t.Errorf("exit code %d: %s", code, said.String())
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return killed, notes
		case <-time.After(400 * time.Millisecond):
			lock.Lock()
			running[rand.IntN(len(running))].Process.Kill() // one that has ended is not hurt
			killed++
			lock.Unlock()
		}
	}
}

// TestSweepDiskFull: where no file can grow over 8 KiB, a scan ends with exit code 3; what it began
// is continued when there is room, and no part is half-written.
func TestSweepDiskFull(t *testing.T) {
	notRacing(t)
	dir := t.TempDir()
	file, place := filepath.Join(dir, "scan.json"), filepath.Join(dir, "results")
	err := os.WriteFile(file, []byte(`{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1:8", "phase": "decode"}, "vary": ["sys.mem1.GBps=3000:9000:1000"]}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", `ulimit -f 8; exec throughline sweep run "$0" -o "$1"`, file, place)
	said, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(said), "file too large") {
		t.Fatalf("exit code %d, %v: %s", code, err, said)
	}
	call(t, "sweep", "verify", place) // which refuses a part that is cut; a last one of few rows may fit into 8 KiB
	call(t, "sweep", "run", file, "-o", place)
	if out := call(t, "sweep", "verify", place); !strings.Contains(out, "with 8000 rows are whole") {
		t.Error(out)
	}
}

// TestReplanned: on the layout that a search chooses as well, planning at each value finds what the
// fixed deployment does; from a poor one it finds a value where that has none.
func TestReplanned(t *testing.T) {
	notRacing(t)
	seek := func(args ...string) (value *float64) {
		var out struct {
			Explained map[string]struct {
				Seek struct{ Value *float64 }
			}
		}
		args = append([]string{"explain", "--model", "llama_3_8b", "--system", "H100_SXM", "--batch", "64", "--engine", "vllm", "--seek", "mem1.GBps", "--until", "tpot=7ms", "--json"}, args...)
		if err := json.Unmarshal([]byte(call(t, args...)), &out); err != nil {
			t.Fatal(err)
		}
		return out.Explained["decode"].Seek.Value
	}
	fixed, again, poor := seek("--tp", "2"), seek("--tp", "2", "--replan"), seek("--pp", "2", "--replan")
	if fixed == nil || again == nil || poor == nil || *again > 1.01**fixed {
		t.Fatalf("%v, planned again %v, from a poor layout %v", fixed, again, poor)
	}
	t.Logf("%.0f GB/s, planned again %.0f, from pipeline stages %.0f", *fixed, *again, *poor)
}

// TestPointsAreAnswers: the answer of a point is what the same question prints when asked alone.
func TestPointsAreAnswers(t *testing.T) {
	notRacing(t)
	for _, args := range [][]string{
		{"estimate", "--model", "llama_3_8b", "--system", "H200", "--batch", "4"},
		{"simulate", "--model", "llama_3_8b", "--system", "H200", "--isl", "64", "--num-prompts", "20", "--rate", "5"},
		{"plan", "--model", "llama_3_8b", "--system", "H200", "--gpus", "1"},
	} {
		var several struct {
			Points []struct{ Answer any }
		}
		if err := json.Unmarshal([]byte(call(t, append(args, "--json", "--vary", "osl=8,16")...)), &several); err != nil {
			t.Fatal(err)
		}
		var one any
		if err := json.Unmarshal([]byte(call(t, append(args, "--json", "--osl", "8")...)), &one); err != nil {
			t.Fatal(err)
		}
		if len(several.Points) != 2 || !reflect.DeepEqual(several.Points[0].Answer, one) {
			t.Errorf("%v: the answer of a point is another", args)
		}
	}
}
