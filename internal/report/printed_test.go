package report_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"throughline/internal/cli"
	"throughline/internal/test/golden"
)

// figures are what another prediction prints elsewhere: numbers, and the widths of what stands
// around them.
var figures = regexp.MustCompile(`[0-9][0-9.,e+]*|[-─]{2,}|[ \t]{2,}|[▏▎▍▌▋▊▉█░·]{2,}`)

// hashes of what was read stand for files whose other keys nobody asked about.
var hashes = regexp.MustCompile(`\b[0-9a-f]{16}\b`)

// TestPrinted: what commands print and write, as sums over their texts. The chip of the reference
// tool, by its assumptions, has the same figures in every version, and these count; of others only
// the words do. A report that moves is read in the examples of the documentation.
func TestPrinted(t *testing.T) {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(home, "..", "..")
	sums := golden.Sums{}
	for _, set := range []struct {
		lines string
		exact bool
	}{{reference, true}, {physical, false}} {
		for line := range strings.Lines(set.lines) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			t.Chdir(t.TempDir())
			for name, text := range inputs {
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			args := strings.Fields(strings.ReplaceAll(line, "ROOT", root))

			code := cli.Run(t.Context(), args, cli.Streams{Out: &out, Err: &out, Width: 110})
			sums.Add(line, "exit code", float64(code))
			add(sums, line, out.String(), set.exact)
			for name, text := range written(t) {
				add(sums, line+" "+name, text, set.exact)
			}
		}
	}
	t.Chdir(home)
	sums.Check(t, "testdata/printed.tsv")
}

// inputs are files that commands read.
var inputs = map[string]string{
	"points.csv": "model,tp,batch,isl,osl\nLlama-3.1-8B,1,8,1000,100\nLlama-3.1-8B,2,64,1000,100\nMixtral-8x7B,4,16,500,50\nMixtral-8x7B,3,16,500,50\n",
	"runs.csv": "model,system,engine,precision,tp,isl,osl,concurrency,ttft_ms,tpot_ms\nLlama-3.1-8B,H200,vllm,bf16,1,1024,128,16,90,9\n" +
		"Llama-3.1-8B,H200,vllm,bf16,1,1024,128,64,300,12\nLlama-3.1-8B,H200,vllm,bf16,1,1024,128,128,700,17\nLlama-3.1-70B,H100,sglang,fp8,8,1024,1024,64,200,\n",
	"kernels.csv": "Time (%),Total Time (ns),Instances,Name\n60,6000000,320,sm90_xmma_gemm_bf16\n30,3000000,32,flash_fwd_splitkv_kernel\n9,900000,64,fused_add_rms_norm\n1,100000,5,mystery_kernel\n",
	"scan.json":   `{"model": ["Llama-3.1-8B"]}`,
}

// written are the texts of the files that a command has left.
func written(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || inputs[path] != "" {
			return err
		}
		src, err := os.ReadFile(path)
		out[filepath.ToSlash(path)] = string(src)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// add adds a text line by line, in any order: rows of the words alone may change places.
func add(sums golden.Sums, of, text string, exact bool) {
	lines := strings.Split(hashes.ReplaceAllString(text, "hash"), "\n")
	if !exact {
		for i, line := range lines {
			lines[i] = figures.ReplaceAllString(line, "0")
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
	}
	for i, line := range lines {
		sums.Add(of, "text", float64(1+i)*float64(crc32.ChecksumIEEE([]byte(line))%1e6))
	}
	if exact {
		sums.Add(of, "lines", float64(len(lines)))
	}
	if testing.Verbose() {
		fmt.Println("$", of)
		fmt.Println(strings.Join(lines, "\n"))
	}
}

// reference are questions whose figures stay.
const reference = `
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --tp 4 --batch 16
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --phase both --batch 8 --isl 100 --osl 20 --json
estimate --model Mixtral-8x7B --system SOW-S1 --assume reference --tp 4 --ep 4 --batch 16 --op-details ops.csv --trace-out trace.json
estimate --model DeepSeek-V3 --system SOW-S1 --assume reference --dp 16 --tp 4 --pp 2 --batch 16 --drafts 1 --phase decode
estimate --model DeepSeek-V3 --system SOW-S1 --assume reference --prefill-plan tp16·ep16 --decode-plan dp16·tp1·ep16 --concurrency 64
estimate --model Llama-3.1-70B --system SOW-S1 --assume reference --tp 1 --batch 4096
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 1,8,64 --tp 1,2
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 8 --vary sys.mem1.GBps=x0.5:x2:3 --where tpot<=1000ms
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 8 --vary sys.mem1.GBps=x0.5:x2:3 --json
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --points points.csv --out answers.csv
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --points points.csv
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 8 --vary sys.mem1.GBps=x0.5:x2:4 --vary sys.matrix.float16.tflops=x0.5:x2:3 --sensitivity morris --samples 12
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 8 --vary batch=1:64 --vary sys.mem1.GBps=x0.5:x2:3 --optimise max:tokens_per_s --optimise min:tpot --samples 10
explain --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 16 --tpot 5ms --ttft 100ms
explain --model Mixtral-8x7B --system SOW-S1 --assume reference --tp 4 --ep 4 --batch 16 --json
explain --model Mixtral-8x7B --system SOW-S1 --assume reference --tp 4 --ep 4 --batch 16 --wide --phase both --op-details ops.csv
explain --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 16 --seek mem1.GBps --until tpot=1ms
explain --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 16 --seek mem1.GBps --until tpot=1ns --json
plan --model Llama-3.1-8B --system SOW-S1 --assume reference,engine=true --gpus 8 --isl 1000 --osl 100 --top 2
plan --model Mixtral-8x7B --system SOW-S1 --assume reference,engine=true --gpus 8 --isl 1000 --osl 100 --tpot 20ms --json --top 1
plan --model Llama-3.1-70B --system SOW-S1 --assume reference,engine=true --gpus 2 --isl 1000 --osl 100 --tpot 1us --explain-rejected
plan --model Llama-3.1-8B --system SOW-S1 --assume reference,engine=true --gpus 8 --mode disagg --isl 1000 --osl 100 --top 2 --wide --price 2 --objective cost
run -c ROOT/configs/reference_sample.json --explain-rejected
run -c ROOT/configs/reference_sample.json --long --format json --op-details
run -c ROOT/configs/reference_sample.json --columns decoder_plans,TPOT,request_per_second --wide
run -c ROOT/configs/split_and_fusion.json --json
run -c ROOT/configs/split_and_fusion.json --category
run -c ROOT/configs/split_and_fusion.json --vary sys.mem1.GBps=x0.5:x2:2 --columns decoder_plans,TPOT,request_per_second
run -c ROOT/configs/split_and_fusion.json --columns nothing,TPOT
run -c ROOT/configs/split_and_fusion.json --long
plan --model Llama-3.1-8B --system SOW-S1 --assume reference,engine=true --gpus 8 --vary sys.mem1.GBps=x0.5:x2:3 --vary sys.mem1.GiB=x0.5:x2:3 --link sys.mem1.GiB,sys.mem1.GBps
plan --model Llama-3.1-8B --system SOW-S1 --assume reference,engine=true --vary gpus=1,2,4 --tpot 5ms --json
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --vary batch=1,8 --vary sys.mem1.GBps=x0.5:x2:2 --vary tp=1,2 --out points.out.csv
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --vary batch=8,10000000 --vary tp=1,3
models show Qwen3-32B
models show DeepSeek-V3
models show gpt-oss-120b
models show Nemotron-3-Nano-30B-A3B
models show Gemma-3-4B
models show Kimi-Linear-48B-A3B
models show Qwen3-32B --json
systems show SOW-S1
systems show nobody
plan --model Llama-3.1-8B --system SOW-S1 --assume reference,engine=true --gpus 2 --isl 1000 --osl 100 --columns TPOT,request_per_second --top 2
explain --model Llama-3.1-70B --system SOW-S1 --assume reference --tp 1 --batch 4096
explain --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 16 --seek mem1.GBps --until tpot=10s
run -c ROOT/configs/split_and_fusion.json --explain-rejected --columns TPOT
estimate --model Llama-3.1-8B --system SOW-S1 --assume reference --batch 8,16 --where tpot<=1us
`

// physical are questions whose figures move as facts and formulas do.
const physical = `
systems show H200
systems show GB200_NVL72
estimate --model Llama-3.1-8B --system H200 --engine vllm --concurrency 64 --isl 1024 --osl 128
estimate --model Llama-3.1-8B --system H200 --engine vllm --concurrency 64 --isl 1024 --osl 128 --json
estimate --model DeepSeek-V3 --system H200 --engine sglang --prefill-plan tp8·ep8 --decode-plan dp16·tp1·ep16 --concurrency 256 --price 3 --energy-price 0.1
estimate --model Llama-3.1-70B --system RTX_4090 --engine llamacpp --weights q4_k_m --gpu-layers 45
estimate --model Llama-3.1-8B --system H200 --phase decode --batch 64 --context 4096 --power-limit 700W,400
estimate --model Llama-3.1-8B --system H200 --engine vllm --concurrency 4,16,64 --isl 1024 --osl 128
estimate --model Llama-3.1-8B --system H200 --engine vllm --concurrency 64 --prefix-hit 0.5 --offload-weights 0.2 --popularity zipf:1
explain --model DeepSeek-V3 --system H200 --dp 16 --batch 64 --weights fp8 --tpot 50
explain --model Llama-3.1-70B --system H100_SXM --tp 8 --engine vllm --concurrency 64 --wide
explain --model Qwen3-32B --system H100_SXM --tp 4 --batch 64 --seek mem1.GBps --until tpot=10ms
plan --model Llama-3.1-8B --system H200 --gpus 2 --isl 1000 --osl 100 --tpot 50ms --top 2 --engine vllm,sglang
plan --model Llama-3.1-8B --system H200 --gpus 2 --isl 1000 --osl 100 --tpot 50ms --top 1 --json
plan --model Llama-3.1-8B --system H200 --gpus 4 --isl 1000 --osl 100 --mode disagg --engine sglang --launch-format sh --launch 1
plan --model Qwen3-30B-A3B --system H100_SXM --gpus 2 --isl 1000 --osl 100 --engine vllm --launch-format json --launch 1
plan --model Llama-3.1-8B --pool H200:1 --pool L40S:2 --isl 1000 --osl 100 --price H200=3,L40S=1 --objective cost --top 1
plan --model Llama-3.1-8B --system H200 --gpus 1 --isl 1000 --osl 100 --tpot 1ms --explain-rejected
plan --model Llama-3.1-8B --system H200 --gpus 1 --isl 1000 --osl 100 --objective energy --power-limit 700,400
simulate --model Llama-3.1-8B --system H200 --engine vllm --rate 8 --isl 512 --osl 32 --num-prompts 60 --requests-out requests.csv --timeline-out timeline.csv --steps-out steps.csv --trace-out trace.json
simulate --model Llama-3.1-8B --system H200 --engine vllm --rate 8 --isl 512 --osl 32 --num-prompts 60 --ttft p99:300ms --tpot p95:60ms --json
simulate --model DeepSeek-V3 --system H200 --engine sglang --prefill-plan tp8·ep8 --decode-plan dp8·tp1·ep8 --concurrency 8 --isl 512 --osl 16 --num-prompts 30 --trace-out trace.json
simulate --model Llama-3.1-8B --system H200 --engine vllm --rate 8,16 --isl 512 --osl 32 --num-prompts 60 --ttft p99:300ms
compare --kernels kernels.csv --model Llama-3.1-8B --system H200 --batch 32 --context 1000
diff H100_SXM H200
validate serving runs.csv --worst 3
calibrate serving runs.csv -o fitted.json
compare --measured tpot=31ms,ttft=150ms --model Llama-3.1-8B --system H200 --engine vllm --concurrency 64
calibrate power ROOT/measure/H200_power/power.csv --system H200 -o power.json
plan --model Llama-3.1-8B --system H200 --gpus 1 --isl 1000 --osl 100 --rate 2 --ttft p99:500ms --top 1
plan --model Llama-3.1-8B --system H200 --gpus 1,2 --isl 1000 --osl 100 --tpot 20ms,50ms
plan --model Llama-3.1-8B --system H200 --rate 20 --isl 1000 --osl 100 --objective min-gpus --top 1
plan --model Llama-3.1-70B --system H200 --gpus 1 --isl 1000 --osl 100
simulate --model Llama-3.1-8B --system H200 --engine vllm --max-rate --isl 512 --osl 16 --num-prompts 100 --ttft p90:300ms
simulate --model Llama-3.1-8B --system H200 --engine vllm --max-rate --isl 512 --osl 16 --num-prompts 100 --ttft p90:300ms --json
simulate --model Llama-3.1-8B --system H200 --engine vllm --max-rate --isl 512 --osl 16 --num-prompts 100 --ttft p90:1us
simulate --model Llama-3.1-8B --system H200,L40S --engine vllm --rate 2:64:4 --isl 512 --osl 16 --num-prompts 60 --ttft p99:300ms --tpot p95:20ms
explain --model DeepSeek-V3 --system H200 --prefill-plan tp8·ep8 --decode-plan dp16·tp1·ep16 --concurrency 64
validate ops ROOT/measure/H200/ops.csv --system H200 --worst 2
validate forward ROOT/measure/H200/forward.csv --system H200 --by kind --worst 2
simulate --model Llama-3.1-8B --system H200 --engine vllm --rate 4,8,4000 --isl 512 --osl 16 --num-prompts 60 --ttft p99:300ms --tpot p95:20ms
simulate --model Llama-3.1-8B --system H200,L40S --engine vllm,sglang --rate 4,8 --isl 512 --osl 16 --num-prompts 40 --ttft p99:300ms --json
simulate --model Llama-3.1-8B --system H200 --engine vllm --rate 4,8 --vary seed=1,2,3 --isl 512 --osl 16 --num-prompts 40
simulate --model Llama-3.1-8B --system H200 --engine vllm --concurrency 4,16 --vary sys.mem1.GBps=x0.5:x2:2 --isl 512 --osl 16 --num-prompts 40 --optimise max:tokens_per_s,min:ttft --samples 4
plan --model Llama-3.1-8B --system H200 --gpus 2 --isl 1000 --osl 100 --top 1 --launch 1 --json --explain-rejected
plan --model Mixtral-8x7B --system H100_SXM --gpus 8 --isl 1000 --osl 100 --mode disagg --tpot 30 --explain-rejected --top 1 --launch-for vllm
plan --model Llama-3.1-8B --system H200 --isl 1000 --osl 100 --vary gpus=1,2,4 --ttft 500ms --tpot 30ms
plan --model Llama-3.1-8B --system H200,L40S --gpus 1 --isl 1000 --osl 100 --objective latency --top 1
explain --model Llama-3.1-8B --system H200 --engine vllm --concurrency 64 --ttft 50ms --tpot 5ms --seek mem1.GBps --until tpot=5ms --replan
explain --model Llama-3.1-8B --system H200 --batch 32 --phase prefill --seek mem1.GBps --until ttft=10ms
comm --system H200 --library deepep,nccl --ep 16,64
schema long
schema runtime
run --columns help
check scan.json
version --json
models
models --json
systems
systems --json
estimate --model Llama-3.1-8B --system H200 --engine vllm --concurrency 64 --power-limit 700,300 --json
plan --model Llama-3.1-8B --system H200 --gpus 1 --isl 1000 --osl 100 --objective energy --power-limit 700,400 --json
calibrate --system H200 --measurements ROOT/measure/H200/experts.csv -o fitted.json
`
