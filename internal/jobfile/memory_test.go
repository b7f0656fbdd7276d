package jobfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"throughline/assume"
	"throughline/internal/files"
)

// A job keeps its lists and not the file they were read from, whose tree takes much more memory.
func TestJobsKeepLittle(t *testing.T) {
	const lengths = 20_000
	var list []string
	for i := range lengths {
		list = append(list, fmt.Sprintf("[%d, 128]", 128+i))
	}
	src := fmt.Sprintf(`{"pd-fusion": {
		"model_list": ["llama_3_8b"], "sequence_length_list": [%s], "num_procs_list": [4],
		"wac_bytes_list": [[1, 1, 1, 1]], "flops_type_list": [["float8", "float16", "float16"]],
		"time_limit_list": [[null, 50]], "sys_list": ["H800_IB"], "output": "out"
	}}`, strings.Join(list, ", "))
	read := func() []*Job {
		jobs, _, err := Read(files.Machine, "scan.json", []byte(src), &assume.Reference)
		if err != nil || jobs[0].Len() != lengths {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		return jobs
	}
	read() // what is read once in a process is there before
	before := live()
	jobs := read()
	after := live()
	runtime.KeepAlive(jobs)
	const most = 100 // bytes; the two lengths take 16
	if per := (after - before) / lengths; per > most {
		t.Errorf("%d bytes for each of the lengths", per)
	}
}

// live is the bytes that are in use.
func live() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
