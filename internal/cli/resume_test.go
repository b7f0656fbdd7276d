package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestRunKilled: a run that is killed again and again, whenever it has come further, ends with the
// bytes of one that was not.
func TestRunKilled(t *testing.T) {
	notRacing(t)
	dir := t.TempDir()
	file, alone, killed := filepath.Join(dir, "runtime.json"), filepath.Join(dir, "alone"), filepath.Join(dir, "killed")
	err := os.WriteFile(file, []byte(`{"pd-fusion": {"model_list": ["llama_3_8b", "llama_3_70b"], "sequence_length_list": [[512, 64], [4096, 512]], "num_procs_list": [2, 4],
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float16", "float16"]], "time_limit_list": [[null, 50]], "sys_list": ["H200"], "output": "out"}}`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "-c", file, "--vary", "sys.mem1.GBps=x0.5:x2:4", "--assume", "physical", "--format", "wide,long,json,parquet", "--jobs", "1"}
	call(t, append(args, "-o", alone)...)
	kills := 0
	for most := 0; ; kills++ {
		cmd := exec.Command("throughline", append(args, "-o", killed, "--resume")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for more := false; !more; {
			select {
			case err = <-ended:
				more = true
			case <-time.After(5 * time.Millisecond):
				parts, _ := filepath.Glob(filepath.Join(killed, "*", "part-*"))
				if len(parts) >= most+8 {
					most = len(parts)
					cmd.Process.Kill()
				}
			}
		}
		if err == nil {
			break
		}
		if cmd.ProcessState.ExitCode() >= 0 { // it was not killed
			t.Fatal(err)
		}
	}
	if kills == 0 {
		t.Error("it was never killed")
	}
	t.Logf("%d kills", kills)
	want, _ := os.ReadDir(alone)
	got, _ := os.ReadDir(killed)
	if len(want) != 6 || len(got) != len(want) {
		t.Fatalf("%d and %d files", len(want), len(got))
	}
	for _, f := range want {
		a, _ := os.ReadFile(filepath.Join(alone, f.Name()))
		b, _ := os.ReadFile(filepath.Join(killed, f.Name()))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs: %d and %d bytes", f.Name(), len(a), len(b))
		}
	}
}
