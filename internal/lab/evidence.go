package lab

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/question"
	"throughline/internal/validate"
)

// evidence is the tables that widths of bands come from, relative to the project root: serving
// runs, runs with drafts or unstated settings from a second table, as the first has none, and whole
// forward passes on H200s.
var evidence = struct {
	serving, labelled string
	forward           []passes
}{
	serving:  "../shared/measurements/silicon/serving.csv",
	labelled: "../shared/measurements/silicon/labelled.csv",
	forward: []passes{
		{"../shared/measurements/h200/forward.csv", ""},
		{"../shared/measurements/h200/moe/forward.csv", "physical"},
		{"measure/H200/forward.csv", ""},
	},
}

// passes is a table of forward passes, and the assumptions that are those of its passes.
type passes struct{ table, assume string }

// doubt marks runs unfit to judge predictions, because they measured something else than they say.
type doubt struct {
	where map[string]string // by column; a value that ends in * is a beginning
	ttft  bool              // only that
	why   string
	alone bool // but those that are listed once more, under another model of the same shape
}

// doubts come from a study of the table before any prediction by this program. Trouble of single
// rows that shows only in their error is not included.
var doubts = []doubt{
	{where: map[string]string{"model": "DeepSeek-R1", "system": "b200_sxm", "backend": "sglang", "precision": "fp8", "backend_version": "0.5.9"}, why: "drafts in some, which are not recorded; those listed under DeepSeek-V3 as well have none", alone: true},
	{where: map[string]string{"model": "Qwen3.5*", "system": "b300_sxm", "precision": "fp8", "backend_version": "0.5.9*", "tp_size": "4", "moe_ep_size": "1"}, why: "drafts that are not recorded: faster than on twice the GPUs"},
	{where: map[string]string{"model": "Qwen3-32B-NVFP4", "mode": "agg"}, why: "the clients are those of some 32 replicas"},
	{where: map[string]string{"backend": "trtllm", "backend_version": "1.3.0rc1"}, why: "TPOT does not depend on load, or erratically"},
	{where: map[string]string{"model": "DeepSeek-V3.1-NVFP4"}, why: "three times too fast for 8 GPUs"},
	{where: map[string]string{"model": "gpt-oss-120b", "system": "h100_sxm", "backend": "vllm", "concurrency": "512"}, why: "the server took far fewer than 512 at a time"},
	{where: map[string]string{"model": "DeepSeek-V3", "system": "b300_sxm"}, why: "prefill five to ten times slower than on the B200"},
	{where: map[string]string{"model": "Qwen3-235B*", "system": "h200_sxm", "backend": "vllm"}, why: "limited by the host at any load"},
	{where: map[string]string{"model": "Llama-3.1-8B-Instruct-FP8"}, why: "prompts at 95% of the peak rate: cached, or a lighter load"},
	{where: map[string]string{"model": "DeepSeek-*", "system": "b200_sxm", "backend": "sglang", "precision": "fp4", "backend_version": "", "mode": "agg"}, ttft: true, why: "seconds of warm-up, whatever the load"},
	{where: map[string]string{"model": "Llama-3.1-8B-Instruct", "system": "h100_sxm", "backend": "trtllm"}, ttft: true, why: "one client always waits for a whole request"},
}

// matches reports whether a row is one of these.
func (d *doubt) matches(cell func(string) string) bool {
	for column, want := range d.where {
		is := cell(column)
		if start, ok := strings.CutSuffix(want, "*"); ok && strings.HasPrefix(is, start) || is == want {
			continue
		}
		return false
	}
	return true
}

// doubted is what is doubted of a run that is listed so many times.
func doubted(cell func(string) string, listed int) (ttft, tpot bool) {
	for i := range doubts {
		if d := &doubts[i]; d.matches(cell) && !(d.alone && listed > 1) {
			return true, !d.ttft
		}
	}
	return false, false
}

// sameModel are models of one shape: some runs of the one are listed under the other as well.
var sameModel = map[string]string{"DeepSeek-R1": "DeepSeek-V3"}

// Evidence predicts the tables that widths of bands come from; folder is the project root.
func Evidence(ctx context.Context, folder string) ([]validate.Sample, error) {
	out, err := servingEvidence(ctx, filepath.Join(folder, evidence.serving))
	if err != nil {
		return nil, err
	}
	labelled, err := labelledEvidence(ctx, filepath.Join(folder, evidence.labelled))
	if err != nil {
		return nil, err
	}
	out = append(out, labelled...)
	for _, p := range evidence.forward {
		q := question.Default()
		q.System = "H200"
		if p.assume != "" {
			q.Assume = p.assume
		}
		name := filepath.Join(folder, p.table)
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		r, err := validate.Forward(ctx, name, f, q)
		f.Close()
		if err != nil {
			return nil, err
		}
		model := slices.Index(r.Header, "model")
		for i := range r.Rows {
			r.Rows[i].Group = p.table + " " + r.Rows[i].Cells[model]
		}
		out = append(out, r.Samples()...)
	}
	return out, nil
}

// labelledEvidence is what the first table lacks, by source, model and system: TPOT of runs with
// drafts, and runs whose server settings are not stated.
func labelledEvidence(ctx context.Context, name string) ([]validate.Sample, error) {
	t, r, err := predicted(ctx, name)
	if err != nil {
		return nil, err
	}
	for i := range r.Rows {
		cell := t.rows[i].Cell
		r.Rows[i].Group = fmt.Sprintf("%s %s %s", cell("source"), cell("model"), cell("system"))
	}
	return slices.DeleteFunc(r.Samples(), func(s validate.Sample) bool { return !s.Circumstance.Drafts && s.Quantity < estimate.UntoldTTFT }), nil
}

// predicted is a public table, predicted in closed form.
func predicted(ctx context.Context, name string) (*Table, *validate.Report, error) {
	t, err := Import(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	r, err := t.predict(ctx, question.Default(), validate.Trial{Simulated: validate.Nothing})
	return t, r, err
}

// servingEvidence is the runs of serving engines, each once, in groups by model, system and engine.
func servingEvidence(ctx context.Context, name string) ([]validate.Sample, error) {
	t, r, err := predicted(ctx, name)
	if err != nil {
		return nil, err
	}
	var out []validate.Sample
	copies := t.countRuns(r)
	for i := range r.Rows {
		row := &r.Rows[i]
		of := t.rows[i]
		row.Group = of.group()
		name := of.name(row)
		listed := copies[name]
		if copies[name] = 0; listed == 0 {
			continue
		}
		first, later := doubted(of.named, listed)
		one := validate.Report{Rows: r.Rows[i : i+1]}
		for _, s := range one.Samples() {
			s.Doubtful = first
			if s.Quantity == estimate.TPOT {
				s.Doubtful = later
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// group is the runs that share their errors: those of an engine, a model and a system.
func (r run) group() string {
	model := r.named("model")
	if same, ok := sameModel[model]; ok {
		model = same
	}
	return fmt.Sprintf("%s %s %s", r.Get("backend"), model, r.Get("system"))
}

// named is a cell by the name that doubts have for it.
func (r run) named(column string) string {
	if column == "model" {
		return path.Base(r.Get("model_path"))
	}
	return r.Get(column)
}

// name tells a run from others; copies of it in a table have the same.
func (r run) name(row *validate.Row) string {
	return fmt.Sprint(r.group(), r.Get("mode"), row.Figures[0].Measured, row.Figures[1].Measured, r.median())
}

// countRuns is how often runs are listed.
func (t *Table) countRuns(r *validate.Report) map[string]int {
	out := map[string]int{}
	for i := range r.Rows {
		out[t.rows[i].name(&r.Rows[i])]++
	}
	return out
}
