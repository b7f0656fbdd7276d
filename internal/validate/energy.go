package validate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/result"
	"throughline/op"
)

// energyColumns must be there; a table may have others.
var energyColumns = []string{"model", "system", "num_gpus", "task", "osl_mean", "max_batch", "joules_per_output_token"}

// energyTask is what a benchmark asks of a model.
type energyTask struct {
	name, model string // of any model unless part of its name stands here
	prompt      int    // tokens
	greedy      bool   // the likeliest token is taken: nothing is sorted
	memory      string // share of the memory that servers take; empty: as others
}

// energyTasks are those of ML.ENERGY; tables do not have their prompts. The first that fits is
// taken. What its clients send (leaderboard-v2 at c3af7f3, benchmark at HEAD of 2026) is: first
// questions of ShareGPT, 350 characters in the mean, after a system prompt; EvalPlus, decoded
// greedily; a paragraph of GPQA with four answers; a picture, which Gemma 3 turns into 256 tokens;
// 32 frames written as a second of video, of which the processor of Qwen3-VL takes four (two per
// second, no less than four) and that of Qwen3-Omni all, two frames to a token for 32 x 32 pixels.
// Servers of pictures and video take 0.85 of the memory (configs/vllm). Assumed: frames of 1280 x
// 720, pictures of a million pixels, 60 tokens of text beside them, 250 of a conversation of LM
// Arena, files of some hundred lines to fill in.
var energyTasks = []energyTask{
	{name: "chat", prompt: 115},
	{name: "lm-arena-chat", prompt: 250},
	{name: "code", prompt: 150, greedy: true},
	{name: "gpqa", prompt: 300},
	{name: "sourcegraph-fim", prompt: 2000},
	{name: "image-chat", model: "gemma-3", prompt: 320, memory: "0.85"},
	{name: "image-chat", prompt: 1300, memory: "0.85"},
	{name: "video-chat", model: "Omni", prompt: 14000, memory: "0.85"},
	{name: "video-chat", prompt: 1800, memory: "0.85"},
	{prompt: 300},
}

// isMetered tells runs of the benchmark whose servers read the energy counters of their GPUs, one
// after another, before and after each step: answers bring their energy along (benchmark_client.py
// of leaderboard-v2 at c3af7f3; begin_window and end_window of zeus/monitor/energy.py).
func isMetered(get func(string) string) bool {
	return strings.HasPrefix(get("source"), "ML.ENERGY leaderboard v2")
}

// counterSeconds is what NVML takes to read the energy counter of a GPU: 4.1 to 4.4 ms in the mean
// of 150 reads on an H200, at rest, with its clocks up and at work.
const counterSeconds = 4.2e-3

// EnergyPrompts are the tokens of a prompt by task.
func EnergyPrompts() string {
	var list []string
	for _, t := range energyTasks {
		name := cmp.Or(t.name, "others")
		if t.model != "" {
			name += " of " + t.model
		}
		list = append(list, name+" "+strconv.Itoa(t.prompt))
	}
	return strings.Join(list, ", ")
}

func taskOf(get func(string) string) energyTask {
	for _, t := range energyTasks {
		if (t.name == "" || t.name == get("task")) && strings.Contains(get("model"), t.model) {
			return t
		}
	}
	return energyTask{}
}

// Energy predicts joules per output token and watts per GPU of serving runs whose batches were kept
// full.
func Energy(ctx context.Context, name string, src io.Reader, q question.Question) (*Report, error) {
	p := newServingPredictor(ctx, q, Trial{Waiting: true})
	r, err := predictTable(ctx, name, src, energyColumns, func(get func(string) string) Row {
		row := Row{Class: get("system"), Figures: []Figure{ifMeasured(get("joules_per_output_token")), ifMeasured(get("avg_power_w_per_gpu"))}}
		row.Group = strings.Join([]string{path.Base(get("model")), get("system"), get("num_gpus"), get("task")}, " ")
		row.Label = "batch " + get("max_batch")
		task := taskOf(get)
		e, err := p.energy(energyCells(get, task), task, isMetered(get))
		for i := range row.Figures {
			if f := &row.Figures[i]; err != nil {
				f.Reason = cmp.Or(f.Reason, reasonIn(err))
			}
		}
		if err == nil {
			row.Figures[0].Predicted, row.Figures[1].Predicted = e.Output, e.Watts
		}
		return row
	})
	if err == nil {
		r.Figures = []string{"joules per output token", "watts per GPU"}
		r.Header = append(r.Header, "predicted_joules_per_output_token", "predicted_watts_per_gpu", "reason")
	}
	return r, err
}

func (p *servingPredictor) energy(cell func(string) string, task energyTask, metered bool) (*result.Energy, error) {
	run, err := p.read(cell)
	if err != nil {
		return nil, err
	}
	d, sorting := run.Served, 0.0
	if d.Engine.Name == "vllm" && !task.greedy {
		sorting = sortedLogit * float64(d.Model.Vocab)
	}
	d.Engine.Scheduling.SequenceSeconds += sorting
	if metered {
		d.Engine.Scheduling.StepSeconds += 2 * counterSeconds * float64(min(d.Procs(), d.PerNode()))
	}
	answer, err := point.Served(d, run.Load, run.Loaded)
	if err != nil {
		return nil, err
	}
	e := answer.Energy
	if e == nil {
		return nil, fmt.Errorf("%s has no block \"power\": its watts are not known", d.Of(op.Decode).System.Name)
	}
	// One processor sorts while the others wait, at the watts of any kernel and half its bandwidth.
	sys := d.Of(op.Decode).System
	busy := sys.Power.Busy + sys.Power.Byte*1e-12*sys.Memory.GBps*1e9/2
	e.Watts *= 1 + sorting*busy/e.Output
	e.Output += sorting * busy
	return e, nil
}

// sortedLogit is the seconds per logit of choosing among the likeliest tokens (top_p of 0.95, as
// ML.ENERGY asks) by sorting all of them, as vLLM did before 0.17.
//
// Chosen: steps of Qwen3 14B and 32B with 8 to 256 sequences (ML.ENERGY); 2026-11-16.
const sortedLogit = 0.4e-9

// energyCells are a row in the columns of serving runs. Batches are kept full, so that as many
// clients as a batch holds wait for their answers.
func energyCells(get func(string) string, task energyTask) func(string) string {
	rounded := func(text string) string {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return text
		}
		return strconv.Itoa(int(max(1, math.Round(v))))
	}
	cells := map[string]string{
		"isl": cmp.Or(get("isl"), strconv.Itoa(task.prompt)), "osl": rounded(get("osl_mean")), "concurrency": rounded(cmp.Or(get("avg_batch"), get("max_batch"))),
		"precision": cmp.Or(get("precision"), "bf16"), "tpot_ms": "", "memory_share": task.memory,
	}
	if task.name != "" { // whose pictures are counted among the tokens of its prompts
		cells["flags"] = strings.ReplaceAll(get("flags"), "multimodal", "")
	}
	if isMetered(get) { // benchmark_one_datapoint.py of leaderboard-v2, whose models take 4096 tokens
		cells["memory_share"], cells["step_tokens"] = "0.95", "4096"
	}
	spread := cmp.Or(get("ep"), "1") != "1" && get("tp") == "1" // by vLLM, over its tensor-parallel ranks
	if alone := cmp.Or(get("dp"), "1") == "1"; alone && (spread || get("tp") == "") {
		cells["tp"] = get("num_gpus")
	}
	return func(column string) string {
		if text, ok := cells[column]; ok {
			return text
		}
		return get(column)
	}
}
