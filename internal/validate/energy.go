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

// taskPrompts are prompt lengths by task, where a table does not have them. Assumed: the mean of
// LMSYS-Chat-1M is 70 tokens (arXiv:2309.11998, table 1) and ML.ENERGY adds a system prompt; GPQA
// asks a paragraph with four answers; FIM fills in a file of some hundred lines.
var taskPrompts = map[string]int{"chat": 100, "lm-arena-chat": 250, "code": 150, "gpqa": 300, "sourcegraph-fim": 2000, "image-chat": 1300, "video-chat": 5000}

// usualPrompt is that of other tasks.
const usualPrompt = 300

// Energy predicts joules per output token and watts per GPU of serving runs whose batches were kept
// full.
func Energy(ctx context.Context, name string, src io.Reader, q question.Question) (*Report, error) {
	p := newServingPredictor(ctx, q, Trial{Simulated: Nothing})
	r, err := predictTable(ctx, name, src, energyColumns, func(get func(string) string) Row {
		row := Row{Class: get("system"), Figures: []Figure{ifMeasured(get("joules_per_output_token")), ifMeasured(get("avg_power_w_per_gpu"))}}
		row.Group = strings.Join([]string{path.Base(get("model")), get("system"), get("num_gpus"), get("task")}, " ")
		row.Label = "batch " + get("max_batch")
		e, err := p.energy(energyCells(get))
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

// energy of one row.
func (p *servingPredictor) energy(cell func(string) string) (*result.Energy, error) {
	run, err := p.read(cell)
	if err != nil {
		return nil, err
	}
	d, sorting := run.Served, 0.0
	if d.Engine.Name == "vllm" {
		sorting = sortedLogit * float64(d.Model.Vocab)
	}
	d.Engine.Scheduling.SequenceSeconds += sorting
	answer, err := point.Served(d, run.Load, run.Loaded)
	if err != nil {
		return nil, err
	}
	e := answer.Energy
	if e == nil {
		return nil, fmt.Errorf("%s has no block `power`: its watts are not known", d.Of(op.Decode).System.Name)
	}
	// One processor sorts while the others wait, at the watts of any kernel and half its bandwidth.
	sys := d.Of(op.Decode).System
	busy := sys.Power.Busy + sys.Power.Byte*1e-12*sys.Memory.GBps*1e9/2
	e.Watts *= 1 + sorting*busy/e.Output
	e.Output += sorting * busy
	return e, nil
}

// sortedLogit is the seconds per logit of choosing among the likeliest tokens (top_p of 0.95, as
// ML.ENERGY asks) by sorting all of them, as vLLM did before 0.17. Chosen: steps of Qwen3 14B and
// 32B with 8 to 256 sequences grow by it.
const sortedLogit = 0.4e-9

// energyCells are a row in the columns of serving runs. Batches are kept full, so that as many
// clients as a batch holds wait for their answers.
func energyCells(get func(string) string) func(string) string {
	whole := func(text string) string {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return text
		}
		return strconv.Itoa(int(max(1, math.Round(v))))
	}
	prompt, ok := taskPrompts[get("task")]
	if !ok {
		prompt = usualPrompt
	}
	cells := map[string]string{
		"isl": cmp.Or(get("isl"), strconv.Itoa(prompt)), "osl": whole(get("osl_mean")), "concurrency": whole(cmp.Or(get("avg_batch"), get("max_batch"))),
		"precision": cmp.Or(get("precision"), "bf16"), "tpot_ms": "",
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
