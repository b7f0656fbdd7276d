package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// traced is an event of a trace.
type traced struct {
	Ph, Name, Cat string
	Pid, Tid      *int
	Ts, Dur       *float64
	Args          map[string]any
}

// readTrace checks a file against the trace event format, and that the spans of every thread lie
// beside or within each other.
func readTrace(t *testing.T, name string) []traced {
	t.Helper()
	var file struct {
		DisplayTimeUnit string
		TraceEvents     []traced
		OtherData       map[string]string
	}
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, &file); err != nil {
		t.Fatal(err)
	}
	if file.DisplayTimeUnit != "ms" || len(file.TraceEvents) == 0 {
		t.Fatalf("%d events, in %q", len(file.TraceEvents), file.DisplayTimeUnit)
	}
	processes, threads, spans := map[int]bool{}, map[[2]int]bool{}, map[[2]int][]traced{}
	for _, e := range file.TraceEvents {
		if e.Pid == nil || e.Tid == nil || e.Name == "" {
			t.Fatalf("%+v has no process, thread or name", e)
		}
		key := [2]int{*e.Pid, *e.Tid}
		switch e.Ph {
		case "M":
			processes[*e.Pid] = processes[*e.Pid] || e.Name == "process_name"
			threads[key] = threads[key] || e.Name == "thread_name"
			if e.Args["name"] == "" {
				t.Errorf("%+v names nothing", e)
			}
		case "X":
			if e.Ts == nil || e.Dur == nil || *e.Ts < 0 || *e.Dur < 0 || e.Cat == "" || !threads[key] {
				t.Fatalf("%+v: no time, no category, or a thread without a name", e)
			}
			spans[key] = append(spans[key], e)
		case "C":
			if e.Ts == nil || len(e.Args) == 0 {
				t.Fatalf("%+v counts nothing", e)
			}
			for k, v := range e.Args {
				if n, ok := v.(float64); !ok || n < 0 {
					t.Errorf("%s of %s is %v", k, e.Name, v)
				}
			}
		case "s", "t", "f": // an arrow from a request to a step of its own
			if e.Ts == nil || !threads[key] {
				t.Fatalf("%+v: no time, or a thread without a name", e)
			}
		default:
			t.Fatalf("%q is no phase of an event that is written here", e.Ph)
		}
		if !processes[*e.Pid] {
			t.Fatalf("%+v: a process without a name", e)
		}
	}
	for key, list := range spans {
		checkNested(t, key, list)
	}
	return file.TraceEvents
}

func checkNested(t *testing.T, key [2]int, list []traced) {
	t.Helper()
	slices.SortStableFunc(list, func(a, b traced) int { return cmp.Or(cmp.Compare(*a.Ts, *b.Ts), cmp.Compare(*b.Dur, *a.Dur)) })
	const rounding = 1e-6
	var open []float64 // ends of the spans around
	for _, e := range list {
		end := *e.Ts + *e.Dur
		for len(open) > 0 && open[len(open)-1] <= *e.Ts+rounding {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && end > open[len(open)-1]+rounding {
			t.Fatalf("process %d, thread %d: %s from %v to %v overlaps another that ends at %v", key[0], key[1], e.Name, *e.Ts, end, open[len(open)-1])
		}
		open = append(open, end)
	}
}

// stepTimes are the times of the steps that estimate prints, in ms.
func stepTimes(t *testing.T, printed string) map[string]float64 {
	t.Helper()
	type step struct {
		Step float64 `json:"step_ms"`
	}
	var answer struct{ Prefill, Decode step }
	if err := json.Unmarshal([]byte(printed), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Prefill.Step == 0 || answer.Decode.Step == 0 {
		t.Fatalf("%+v", answer)
	}
	return map[string]float64{"prefill": answer.Prefill.Step, "decode": answer.Decode.Step}
}

// checkMemory: the memory of every process is counted from its step's start on, until it ends.
func checkMemory(t *testing.T, flags string, events []traced) {
	t.Helper()
	held := map[int][]float64{}
	processes := 0
	for _, e := range events {
		if e.Name == "process_name" {
			processes++
		}
		if e.Ph == "C" && e.Name == "memory GiB" {
			held[*e.Pid] = append(held[*e.Pid], e.Args["weights"].(float64)+e.Args["working space"].(float64)+e.Args["KV cache"].(float64))
		}
	}
	if len(held) != processes {
		t.Errorf("%s: the memory of %d of %d processes is counted", flags, len(held), processes)
	}
	for pid, gib := range held {
		if len(gib) != 2 || !(gib[0] > 1) || gib[1] != 0 {
			t.Errorf("%s: process %d holds %v GiB", flags, pid, gib)
		}
	}
}

// TestTraceOfSteps: the timeline of a step is as long as the step; lanes, stages and micro-batches
// have their places.
func TestTraceOfSteps(t *testing.T) {
	notRacing(t)
	t.Chdir(t.TempDir())
	for flags, threads := range map[string][]string{
		"--model llama_3_8b --system H200 --batch 8":                                                                     {"matrix", "vector", "layers", "micro-batches"},
		"--model llama_3_70b --system H100_SXM --tp 4 --pp 4 --batch 32":                                                 {"matrix", "network 0", "network 1"},
		"--model DeepSeek-V3 --system H200 --dp 16 --batch 64 --weights fp8 --overlap two-batch":                         {"matrix", "network 1"},
		"--model DeepSeek-V3 --system H200 --dp 16 --batch 64 --weights fp8 --overlap single-batch":                      {"matrix", "network 1"},
		"--model qwen3_32b_flash --system SOW-S1 --tp 4 --batch 16 --weights fp8 --assume reference":                     {"matrix", "network 0"},
		"--model DeepSeek-V3 --system H200 --weights fp8 --prefill-plan dp8,ep8 --decode-plan dp16 --batch 8 --drafts 1": {"matrix"},
	} {
		args := append([]string{"estimate", "--json", "--trace-out", "trace.json"}, strings.Fields(flags)...)
		steps := stepTimes(t, call(t, args...))
		events := readTrace(t, "trace.json")
		checkMemory(t, flags, events)
		for phase, step := range steps {
			of := map[int]bool{}
			seen := map[string]bool{}
			start, end := math.Inf(1), 0.0
			for _, e := range events {
				if e.Ph == "X" && !(*e.Dur > 0) {
					t.Fatalf("%s: %s takes no time", flags, e.Name)
				}
				if e.Name == "process_name" && strings.Contains(e.Args["name"].(string), phase+" step") {
					of[*e.Pid] = true
				}
				if e.Name == "thread_name" {
					seen[e.Args["name"].(string)] = true
				}
				if e.Ph == "X" && of[*e.Pid] && e.Cat != "handover" {
					start, end = min(start, *e.Ts), max(end, *e.Ts+*e.Dur)
				}
			}
			if math.Abs((end-start)/1e3-step) > 1e-5*step {
				t.Errorf("%s: the %s takes %v ms, the step %v", flags, phase, (end-start)/1e3, step)
			}
			if before := steps["prefill"]; phase == "decode" && start/1e3 < before*(1-1e-5) {
				t.Errorf("%s: the decode starts after %v ms, in the prefill of %v", flags, start/1e3, before)
			}
			for _, name := range threads {
				if !seen[name] {
					t.Errorf("%s: no thread %s", flags, name)
				}
			}
		}
	}
}

// TestTraceOfSimulation: all requests and steps of a run are in its trace, and the KV cache beside
// them.
func TestTraceOfSimulation(t *testing.T) {
	t.Chdir(t.TempDir())
	call(t, "simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--dp", "2", "--rate", "40", "--num-prompts", "200", "--isl", "256", "--osl", "64",
		"--trace-out", "trace.json", "--steps-out", "steps.csv", "--requests-out", "requests.csv")
	lines := func(name string) int { return strings.Count(string(readFile(t, name)), "\n") - 1 }
	count := map[string]int{}
	for _, e := range readTrace(t, "trace.json") {
		switch {
		case e.Ph == "C" && strings.HasPrefix(e.Name, "KV use"):
			count["cache"]++
			if e.Args["percent"].(float64) > 100 {
				t.Errorf("%v", e.Args)
			}
		case e.Ph == "X" && e.Cat == "step":
			count["step"]++
		case e.Ph == "X" && strings.HasPrefix(e.Name, "request "):
			count["request"]++
		}
	}
	if n := lines("steps.csv"); count["step"] != n || count["cache"] != n || n == 0 {
		t.Errorf("%v in the trace, %d steps in the table", count, n)
	}
	if n := lines("requests.csv"); count["request"] != n || n != 200 {
		t.Errorf("%v in the trace, %d requests in the table", count, n)
	}
	// The same run gives the same trace.
	before := string(readFile(t, "trace.json"))
	call(t, "simulate", "--model", "Llama-3.1-8B", "--system", "H200", "--dp", "2", "--rate", "40", "--num-prompts", "200", "--isl", "256", "--osl", "64", "--trace-out", "trace.json")
	if string(readFile(t, "trace.json")) != before {
		t.Error("two traces of one run differ")
	}
}

// TestTraceCountsWatts: the mean of the watts in a trace is that of the answer, also while a server
// waits.
func TestTraceCountsWatts(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, flags := range []string{"--rate 3 --dp 2", "--rate 40", "--rate 8 --tp 2 --pp 2"} {
		var said struct {
			Watts    float64 `json:"watts_per_gpu"`
			Duration float64
		}
		args := append(strings.Fields("simulate --json --model Llama-3.1-8B --system H200 --num-prompts 100 --isl 256 --osl 64 --trace-out trace.json"), strings.Fields(flags)...)
		if err := json.Unmarshal([]byte(call(t, args...)), &said); err != nil {
			t.Fatal(err)
		}
		of := map[int][]traced{}
		end := 0.0
		for _, e := range readTrace(t, "trace.json") {
			if e.Ph == "C" && e.Name == "watts per GPU" {
				of[*e.Pid] = append(of[*e.Pid], e)
				end = max(end, *e.Ts)
			}
		}
		mean := 0.0
		for _, list := range of {
			slices.SortStableFunc(list, func(a, b traced) int { return cmp.Compare(*a.Ts, *b.Ts) })
			for i, e := range list {
				until := end
				if i+1 < len(list) {
					until = *list[i+1].Ts
				}
				mean += e.Args["W"].(float64) * (until - *e.Ts) / (end - *list[0].Ts) / float64(len(of))
			}
		}
		if len(of) == 0 || math.Abs(mean/said.Watts-1) > 0.01 {
			t.Errorf("%s: %g W in the traces of %d servers, %g W in the answer", flags, mean, len(of), said.Watts)
		}
	}
}

// TestStepsAddUp: the operators of a step in a table, in a trace and in JSON, its shares and the
// memory add up to what is printed; estimate and explain write the same table.
func TestStepsAddUp(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, flags := range []string{
		"--model Qwen3-30B-A3B --system H200 --engine vllm --isl 600",
		"--model DeepSeek-V3 --system H200 --dp 16 --batch 64 --weights fp8 --overlap two-batch --engine sglang",
		"--model DeepSeek-V3 --system H200 --dp 16 --batch 64 --weights fp8 --overlap single-batch --redundant 16 --drafts 1 --popularity served",
		"--model Llama-3.1-8B --system H200 --pp 3 --batch 4 --offload-weights 1 --offload-cache 0.5",
	} {
		args := strings.Fields(flags + " --phase both --json --op-details ")
		printed := call(t, append(append([]string{"estimate"}, args...), "a.csv", "--trace-out", "trace.json")...)
		explained := call(t, append(append([]string{"explain"}, args...), "b.csv")...)
		table := string(readFile(t, "a.csv"))
		if table != string(readFile(t, "b.csv")) {
			t.Errorf("%s: estimate and explain write different tables", flags)
		}
		sums := []map[string]float64{sumTable(table), sumTrace(readTrace(t, "trace.json")), sumExplained(t, explained), sumShares(t, printed)}
		for phase, step := range stepTimes(t, printed) {
			for i, of := range []string{"table", "trace", "explanation", "shares"} {
				if got := sums[i][phase]; math.Abs(got-step) > 1e-9*step {
					t.Errorf("%s, %s: %v ms in the %s, the step takes %v", flags, phase, got, of, step)
				}
			}
		}
	}
}

// sumTable is the ms of each phase in a table of operators.
func sumTable(table string) map[string]float64 {
	rows := strings.Split(strings.TrimSpace(table), "\n")
	header := strings.Split(rows[0], ",")
	at := func(name string) int { return slices.Index(header, name) }
	sums := map[string]float64{}
	for _, row := range rows[1:] {
		cells := strings.Split(row, ",")
		var time, repeat float64
		fmt.Sscan(cells[at("process_time")], &time)
		fmt.Sscan(cells[at("repeat")], &repeat)
		sums[cells[0]] += 1e3 * time * repeat
	}
	return sums
}

// sumTrace is the ms of each phase that the spans of a trace expose.
func sumTrace(events []traced) map[string]float64 {
	phases, sums := map[int]string{}, map[string]float64{}
	for _, e := range events {
		if e.Name == "process_name" {
			phases[*e.Pid] = "decode"
			if strings.Contains(e.Args["name"].(string), "prefill step") {
				phases[*e.Pid] = "prefill"
			}
		}
		if exposed, ok := e.Args["exposed_us"].(float64); ok {
			sums[phases[*e.Pid]] += exposed / 1e3
		}
	}
	return sums
}

// sumExplained is the ms of each phase by its operators, whose memory must be no less than nothing
// and fill the processor.
func sumExplained(t *testing.T, printed string) map[string]float64 {
	t.Helper()
	var answer struct {
		Explained map[string]struct {
			Operators []struct {
				Time  float64 `json:"time_us"`
				Times float64
			}
			Memory map[string]float64 `json:"memory_gib"`
		}
	}
	if err := json.Unmarshal([]byte(printed), &answer); err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for phase, x := range answer.Explained {
		for _, o := range x.Operators {
			sums[phase] += o.Time * o.Times / 1e3
		}
		held := 0.0
		for part, gib := range x.Memory {
			if held += gib; gib < 0 {
				t.Errorf("%s: %v GiB of %s", phase, gib, part)
			}
		}
		if capacity := x.Memory["capacity"]; math.Abs(held-2*capacity) > 1e-9*capacity {
			t.Errorf("%s: parts of the memory are %v of %v GiB", phase, held-capacity, capacity)
		}
	}
	return sums
}

// sumShares is the ms of each phase by part of the model.
func sumShares(t *testing.T, printed string) map[string]float64 {
	t.Helper()
	type step struct {
		Time map[string]float64 `json:"time_ms"`
	}
	var answer struct{ Prefill, Decode step }
	if err := json.Unmarshal([]byte(printed), &answer); err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for phase, of := range map[string]*step{"prefill": &answer.Prefill, "decode": &answer.Decode} {
		for part, ms := range of.Time {
			if part != "compute_bound" && part != "memory_bound" {
				sums[phase] += ms
			}
		}
	}
	return sums
}
