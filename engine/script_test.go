package engine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"throughline/assume"
	"throughline/deploy"
	"throughline/internal/test/racing"
	"throughline/plan"
)

// standIn takes the place of every program that scripts call: it says how it was called and with
// which variables, and runs until it is stopped. Asked as curl, it succeeds when a server has said
// that it listens on the port.
const standIn = `#!/usr/bin/env bash
name=$(basename "$0")
if [ "$name" = curl ]; then
  for last; do :; done
  port=${last##*:}
  [ -e "$LOG/port.${port%%/*}" ]
  exit
fi
port=8000
previous=
for word; do
  if [ "$previous" = --port ]; then port=$word; fi
  previous=$word
done
printf -v words ' %q' "$@" # written at once: others write there, too
printf '%s\n' "$name$words | gpus=${CUDA_VISIBLE_DEVICES:-all} side=${VLLM_NIXL_SIDE_CHANNEL_PORT:-} at=$ADDRESS pid=$$" >>"$LOG/calls.$NODE"
for word; do
  if [ "${word##*.}" = yml ]; then cat "$word" >>"$LOG/files"; fi
done
touch "$LOG/port.$port"
if [ "$port" = "${FAILS:-}" ]; then # when the other is there
  until [ -e "$LOG/port.30000" ]; do sleep 0.05; done
  exit 1
fi
while true; do sleep 0.05; done
`

// stage is a folder of stand-ins, and what they said.
type stage struct{ bin, log string }

func newStage(t *testing.T) stage {
	t.Helper()
	s := stage{filepath.Join(t.TempDir(), "bin"), t.TempDir()}
	if err := os.Mkdir(s.bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"python3", "vllm", "trtllm-serve", "vllm-router", "srun", "curl"} {
		if err := os.WriteFile(filepath.Join(s.bin, name), []byte(standIn), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start runs a script on a node.
func (s stage) start(t *testing.T, script string, node, nodes int, variables ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	var addresses []string
	for n := range nodes {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d", n+1))
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append([]string{"PATH=" + s.bin + ":" + os.Getenv("PATH"), "LOG=" + s.log, fmt.Sprintf("NODE=%d", node), "NODES=" + strings.Join(addresses, " "), "POLL=0.05"}, variables...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // what a failing script leaves
	return cmd, bufio.NewScanner(out)
}

func (s stage) said(name string) []string {
	src, _ := os.ReadFile(filepath.Join(s.log, name))
	return slices.DeleteFunc(strings.Split(string(src), "\n"), func(line string) bool { return line == "" })
}

// checkStopped looks for processes that still run.
func checkStopped(t *testing.T, calls []string) {
	t.Helper()
	for _, c := range calls {
		pid, err := strconv.Atoi(c[strings.LastIndex(c, "=")+1:])
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("still runs: %s", c)
		}
	}
}

// twoPools is a prefill pool of two servers that share a node, and a decode server on two.
func twoPools() *deploy.Deployment {
	return &deploy.Deployment{
		Name: "deepseek-ai/DeepSeek-V3", Model: deepseek, Precision: fp8, Assume: &assume.Assumptions{MemoryFraction: 0.9, Engine: true},
		Stored: deploy.Stored{Published: true}, GPUsPerNode: 8, MaxContext: 8192,
		Pools: []deploy.Pool{
			{Role: deploy.Prefill, Count: 2, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 4, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 4, TP: 1, DP: 1}}, Batch: plan.Batch{Count: 1, Size: 2}}},
			{Role: deploy.Decode, Count: 1, Plan: plan.Plan{Layout: plan.Layout{Attention: plan.Split{DP: 16, PP: 1, TP: 1}, Experts: plan.ExpertSplit{EP: 16, TP: 1, DP: 1}}, Batch: plan.Batch{Count: 1, Size: 128}}},
		},
	}
}

// A script starts every rank of every server with its processors and ports, waits for all of them,
// starts the router, and when it is stopped stops them all.
func TestScriptStarts(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			f, err := e.Fleet(twoPools())
			if err != nil {
				t.Fatal(err)
			}
			if f.Nodes != 3 {
				t.Fatalf("%d nodes", f.Nodes)
			}
			s, script := newStage(t), f.Script("a title")
			var all []*exec.Cmd
			var head *bufio.Scanner
			for n := range f.Nodes {
				cmd, out := s.start(t, script, n, f.Nodes)
				if n == 0 {
					head = out
				}
				all = append(all, cmd)
			}
			if !head.Scan() || head.Text() != "http://10.0.0.1:8000 answers" {
				t.Fatalf("node 0 says %q", head.Text())
			}
			var calls []string
			for patience := time.Now().Add(20 * time.Second); len(calls) < len(wantCalls[e.Name]) && time.Now().Before(patience); { // other nodes may be slower
				calls = slices.Concat(s.said("calls.0"), s.said("calls.1"), s.said("calls.2"))
				time.Sleep(time.Millisecond)
			}
			checkCalls(t, e, calls)
			for n, cmd := range all {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				err := cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); code != 143 && !(e.Name == "trtllm" && n == 2 && err == nil) {
					t.Errorf("node %d ends with %d", n, code)
				}
			}
			checkStopped(t, calls)
		})
	}
}

// wantCalls are the calls that twoPools needs: each has all words of one of these.
var wantCalls = map[string][][]string{
	"sglang": {
		{"--disaggregation-mode prefill", "--port 30000", "--disaggregation-bootstrap-port 8998", "gpus=0,1,2,3", "at=10.0.0.1"},
		{"--disaggregation-mode prefill", "--port 30100", "--disaggregation-bootstrap-port 8999", "gpus=4,5,6,7", "at=10.0.0.1"},
		{"--disaggregation-mode decode", "--node-rank 0", "--dist-init-addr 10.0.0.2:20000", "gpus=all", "at=10.0.0.2"},
		{"--disaggregation-mode decode", "--node-rank 1", "--dist-init-addr 10.0.0.2:20000", "gpus=all", "at=10.0.0.3"},
		{"sglang_router.launch_router --pd-disaggregation", "--prefill http://10.0.0.1:30000 8998", "--prefill http://10.0.0.1:30100 8999", "--decode http://10.0.0.2:30000", "--port 8000"},
	},
	"vllm": {
		{"kv_producer", "--port 30000", "gpus=0,1,2,3", "side=15600", "--data-parallel-size 4", "at=10.0.0.1"},
		{"kv_producer", "--port 30100", "gpus=4,5,6,7", "side=15700", "--data-parallel-size 4", "at=10.0.0.1"},
		{"kv_consumer", "--data-parallel-size-local 8", "--data-parallel-address 10.0.0.2", "at=10.0.0.2"},
		{"kv_consumer", "--headless --data-parallel-start-rank 8", "at=10.0.0.3"},
		{"vllm-router --vllm-pd-disaggregation", "--prefill http://10.0.0.1:30000", "--prefill http://10.0.0.1:30100", "--decode http://10.0.0.2:30000"},
	},
	"trtllm": {
		{"trtllm-serve deepseek-ai/DeepSeek-V3", "--tp_size 4", "--port 30000", "gpus=0,1,2,3", "prefill.yml"},
		{"trtllm-serve deepseek-ai/DeepSeek-V3", "--tp_size 4", "--port 30100", "gpus=4,5,6,7", "prefill.yml"},
		{"srun --mpi=pmix -N 2 --nodelist 10.0.0.2,10.0.0.3 --ntasks-per-node 8 trtllm-llmapi-launch trtllm-serve", "--tp_size 16", "at=10.0.0.2"},
		{"trtllm-serve disaggregated -c", "-r 3600"},
	},
}

// checkCalls compares what was started with what twoPools needs.
func checkCalls(t *testing.T, e *Engine, calls []string) {
	t.Helper()
	want := wantCalls[e.Name]
	if len(calls) != len(want) {
		t.Errorf("%d calls, want %d:\n%s", len(calls), len(want), strings.Join(calls, "\n"))
	}
	for _, parts := range want {
		found := slices.ContainsFunc(calls, func(c string) bool {
			c = strings.ReplaceAll(c, `\`, "")
			return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(c, p) })
		})
		if !found {
			t.Errorf("no call has %q:\n%s", parts, strings.Join(calls, "\n"))
		}
	}
}

// When a server ends, the script stops the others and fails.
func TestScriptFails(t *testing.T) {
	f, err := find(t, "sglang").Fleet(twoPools())
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	cmd, _ := s.start(t, f.Script(), 0, 3, "FAILS=30100")
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	checkStopped(t, s.said("calls.0"))
	for _, c := range []struct{ nodes, want string }{{"10.0.0.1", "has 1 addresses, not 3"}, {"", "NODES: addresses of the 3 nodes"}} {
		bad := exec.Command("bash", "-c", f.Script())
		bad.Env = []string{"PATH=" + os.Getenv("PATH"), "NODES=" + c.nodes}
		if out, err := bad.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("NODES=%q: %s", c.nodes, out)
		}
	}
}

// Scripts are shell, no line of them is longer than a terminal is wide but for addresses, and every
// option of a server or router is one that its version has.
func TestScripts(t *testing.T) {
	if racing.Enabled {
		t.Skip("one script after another")
	}
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			drawn, tried, routed := 0, 0, map[string]bool{}
			var scripts []string
			deployments(func(s *served) {
				if drawn++; drawn%5 > 0 {
					return
				}
				d, pool := s.parts()
				if pool.Role == deploy.Decode {
					d.Pools = append([]deploy.Pool{{Role: deploy.Prefill, Count: 2, Plan: plan.Plan{
						Layout: plan.Layout{Attention: plan.Split{DP: 1, PP: 1, TP: 8}, Experts: pool.Plan.Experts},
						Batch:  plan.Batch{Count: 1, Size: 2},
					}}}, *pool)
					if d.Model.IsMoE() {
						d.Pools[0].Plan.Experts = plan.ExpertSplit{EP: 8, TP: 1, DP: 1}
					}
				}
				f, err := e.Fleet(d)
				if err != nil {
					return
				}
				if tried++; tried%23 == 0 {
					scripts = append(scripts, f.Script("a title"))
				}
				checkOptions(t, e, f, routed)
			})
			if tried == 0 || len(routed) == 0 {
				t.Fatalf("%d fleets, options of routers: %v", tried, routed)
			}
			checkShell(t, scripts)
		})
	}
}

// checkShell reads scripts as bash does and, where there is one, as a linter does: each as the file
// that it will be.
func checkShell(t *testing.T, scripts []string) {
	t.Helper()
	folder, files := t.TempDir(), []string{}
	for i, script := range scripts {
		for line := range strings.Lines(script) {
			if len([]rune(line)) > 81 && !strings.Contains(line, "'{") {
				t.Fatalf("a long line: %s", line)
			}
		}
		file := filepath.Join(folder, fmt.Sprintf("%d.sh", i))
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		files = append(files, file)
	}
	if linter, err := exec.LookPath("shellcheck"); err == nil {
		if out, err := exec.Command(linter, files...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func checkOptions(t *testing.T, e *Engine, f *Fleet, routed map[string]bool) {
	t.Helper()
	for _, s := range f.Servers {
		_, args, _ := strings.Cut(strings.Join(slices.Concat(s.Command, s.Later), "\x00"), strings.ReplaceAll(e.Program, " ", "\x00"))
		for word := range strings.SplitSeq(args, "\x00") {
			if strings.HasPrefix(word, "-") && !slices.Contains(e.Options.Options, word) {
				t.Fatalf("%s has no option %s: %q", e.Name, word, s.Command)
			}
		}
	}
	if f.Router == nil {
		return
	}
	for _, word := range f.Router.Command[3:] {
		if strings.HasPrefix(word, "-") {
			routed[word] = true
			if !slices.Contains(e.RouterOptions.Options, word) {
				t.Fatalf("the router of %s has no option %s: %q", e.Name, word, f.Router.Command)
			}
		}
	}
	var config []string
	for line := range strings.Lines(f.Router.Config) {
		if !strings.HasPrefix(strings.TrimSpace(line), "- ") {
			config = append(config, line)
		}
	}
	for _, key := range keys(t, strings.ReplaceAll(strings.Join(config, ""), "urls:\n", "urls: x\n")) {
		if !slices.Contains(e.RouterOptions.Keys, key) {
			t.Fatalf("the router of %s has no key %s", e.Name, key)
		}
	}
}
