//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"throughline/internal/test/racing"
)

// TestSignals: every command ends within a tenth of a second of a signal, whether it computes or
// waits, and leaves no file.
func TestSignals(t *testing.T) {
	if racing.Enabled {
		t.Skip("how long a command takes to end is not for the race detector to say")
	}
	ops, err := filepath.Abs("../../measure/H200/ops.csv")
	if err != nil {
		t.Fatal(err)
	}
	serving := filepath.Join(t.TempDir(), "serving.csv")
	const header = "model_path,system,backend,precision,mode,isl,osl,concurrency,num_gpus,tp_size,silicon_ttft_ms,silicon_tpot_ms\n"
	table := header + strings.Repeat("llama_3_8b,h200_sxm,vllm,fp8,agg,1024,1024,16,1,1,100,10\n", 100_000)
	if err := os.WriteFile(serving, []byte(table), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		signal syscall.Signal
		code   int
		args   []string
	}{
		{syscall.SIGINT, 130, []string{"calibrate", "--system", "H200", "--measurements", ops, "-o", "out.json"}},
		{syscall.SIGTERM, 143, []string{"validate", "serving", serving, "--out", "out.csv"}},
		{syscall.SIGINT, 130, []string{"plan", "--model", "deepseek_v3_flash_mla_absorb", "--system", "H200", "--gpus", "100000"}},
		{syscall.SIGTERM, 143, []string{"estimate", "--model", "llama_3_8b", "--system", "H200", "--points", "-", "-o", "out.csv"}},
		{syscall.SIGINT, 130, []string{"models", "import", "-", "-o", "out.json"}},
		{syscall.SIGINT, 130, []string{"simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--num-prompts", "10000000", "--requests-out", "out.csv"}},
		{syscall.SIGTERM, 143, []string{"simulate", "--max-rate", "--model", "Llama-3.1-8B", "--system", "H200", "--num-prompts", "10000000"}},
		{syscall.SIGINT, 130, []string{"simulate", "--rate=1e9", "--model", "Llama-3.1-8B", "--system", "H200", "--num-prompts", "10000000"}},
		{syscall.SIGTERM, 143, []string{"emulate", "--model", "Llama-3.1-8B", "--system", "H200", "--port", "0"}},
	} {
		t.Run(strings.Join(c.args[:2], " "), func(t *testing.T) {
			t.Parallel()
			var took, limit time.Duration
			for range 3 {
				// On a busy machine even a process with nothing to do waits for its turn.
				limit = max(100*time.Millisecond, 5*idle(t))
				if took = interrupted(t, c.signal, c.code, c.args); took <= limit {
					return
				}
			}
			t.Errorf("ended %v after the signal, later than %v", took, limit)
		})
	}
}

// idle is how long a command takes that has nothing to do.
func idle(t *testing.T) time.Duration {
	t.Helper()
	start := time.Now()
	if err := exec.Command("throughline", "version").Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// interrupted runs a command in a folder of its own, sends it a signal, and returns how long it
// took to end.
func interrupted(t *testing.T, s syscall.Signal, code int, args []string) time.Duration {
	t.Helper()
	cmd := exec.Command("throughline", args...)
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe() // never says anything
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	time.Sleep(max(200*time.Millisecond, 5*idle(t))) // it is at work
	start := time.Now()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	took := time.Since(start)
	if cmd.ProcessState.ExitCode() != code || !strings.HasSuffix(said.String(), "throughline: interrupted; what was written before is complete\n") {
		t.Errorf("%v, exit code %d, want %d; said %q", err, cmd.ProcessState.ExitCode(), code, &said)
	}
	if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	return took
}

func TestSecondSignal(t *testing.T) {
	signals, codes := make(chan os.Signal, 2), make(chan int, 1)
	ctx := untilSignal(signals, func(code int) { codes <- code })
	signals <- os.Interrupt
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) || exitCode(ctx) != 130 {
		t.Errorf("%v, exit code %d", ctx.Err(), exitCode(ctx))
	}
	select {
	case code := <-codes:
		t.Fatalf("the first signal ended the program with %d", code)
	default:
	}
	signals <- syscall.SIGTERM
	if code := <-codes; code != 143 {
		t.Errorf("the second signal: exit code %d", code)
	}
}
