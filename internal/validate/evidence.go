package validate

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
)

// evidence are the tables that the widths of bands come from, seen from the root of the project: runs of serving engines, of
// those with drafts others, as the first table has none, and whole forward passes on H200s.
var evidence = struct {
	serving, drafts string
	forward         []passes
}{
	serving: "../shared/measurements/silicon/serving.csv",
	drafts:  "../shared/measurements/silicon/labelled.csv",
	forward: []passes{
		{"../shared/measurements/h200/forward.csv", ""},
		{"../shared/measurements/h200/moe/forward.csv", "physical"},
		{"measure/H200/forward.csv", ""},
	},
}

// passes is a table of forward passes, and the assumptions that are those of its passes.
type passes struct{ table, assume string }

// doubt is runs that no prediction should be judged by: something else was measured than what their rows say.
type doubt struct {
	where map[string]string // by column; a value that ends in * is a beginning
	ttft  bool              // only that
	why   string
}

// doubts are those that a study of the table found on its own, before any prediction of this program. Copies of one
// deployment's trouble that show in single rows only, by their error, are not among them.
var doubts = []doubt{
	{map[string]string{"model": "Qwen3.5*", "system": "b300_sxm", "precision": "fp8", "backend_version": "0.5.9*", "tp_size": "4", "moe_ep_size": "1"}, false, "drafts that are not recorded: faster than on twice the GPUs"},
	{map[string]string{"model": "Qwen3-32B-NVFP4", "mode": "agg"}, false, "the clients are those of some 32 replicas"},
	{map[string]string{"backend": "trtllm", "backend_version": "1.3.0rc1"}, false, "TPOT does not depend on load, or erratically"},
	{map[string]string{"model": "DeepSeek-V3.1-NVFP4"}, false, "three times too fast for 8 GPUs"},
	{map[string]string{"model": "gpt-oss-120b", "system": "h100_sxm", "backend": "vllm", "concurrency": "512"}, false, "the server took far fewer than 512 at a time"},
	{map[string]string{"model": "DeepSeek-V3", "system": "b300_sxm"}, false, "prefill five to ten times slower than on the B200"},
	{map[string]string{"model": "Qwen3-235B*", "system": "h200_sxm", "backend": "vllm"}, false, "limited by the host at any load"},
	{map[string]string{"model": "Llama-3.1-8B-Instruct-FP8"}, false, "prompts at 95% of the peak rate: cached, or a lighter load"},
	{map[string]string{"model": "DeepSeek-*", "system": "b200_sxm", "backend": "sglang", "precision": "fp4", "backend_version": "", "mode": "agg"}, true, "seconds of warm-up, whatever the load"},
	{map[string]string{"model": "Llama-3.1-8B-Instruct", "system": "h100_sxm", "backend": "trtllm"}, true, "one client always waits for a whole request"},
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

// sameModel are models of one shape: some runs of the one are listed under the other as well.
var sameModel = map[string]string{"DeepSeek-R1": "DeepSeek-V3"}

// Evidence predicts the tables that the widths of bands come from. The folder is the root of the project.
func Evidence(ctx context.Context, folder string) ([]Sample, error) {
	out, err := servingEvidence(ctx, filepath.Join(folder, evidence.serving))
	if err != nil {
		return nil, err
	}
	drafts, err := draftEvidence(ctx, filepath.Join(folder, evidence.drafts))
	if err != nil {
		return nil, err
	}
	out = append(out, drafts...)
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
		r, err := Forward(ctx, name, f, q)
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

// draftEvidence is TPOT of runs with drafts, by where they are from, model and system.
func draftEvidence(ctx context.Context, name string) ([]Sample, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := servingRuns(ctx, name, f, question.Default(), nothing)
	if err != nil {
		return nil, err
	}
	for i := range r.Rows {
		cell := func(column string) string { return r.Rows[i].Cells[slices.Index(r.Header, column)] }
		r.Rows[i].Group = fmt.Sprintf("%s %s %s", cell("source"), cell("model"), cell("system"))
	}
	return slices.DeleteFunc(r.Samples(), func(s Sample) bool { return !s.Circumstance.Drafts }), nil
}

// servingEvidence is the runs of serving engines, each once, in groups by model, system and engine.
func servingEvidence(ctx context.Context, name string) ([]Sample, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := servingRuns(ctx, name, f, question.Default(), nothing)
	if err != nil {
		return nil, err
	}
	var out []Sample
	listed := map[string]bool{}
	for i := range r.Rows {
		row := &r.Rows[i]
		cell := func(column string) string {
			if column == "model" {
				return path.Base(row.Cells[slices.Index(r.Header, "model_path")])
			}
			return row.Cells[slices.Index(r.Header, column)]
		}
		model := cell("model")
		if same, ok := sameModel[model]; ok {
			model = same
		}
		row.Group = fmt.Sprintf("%s %s %s", cell("backend"), model, cell("system"))
		run := fmt.Sprint(row.Group, cell("mode"), row.Figures[0].Measured, row.Figures[1].Measured)
		if listed[run] {
			continue
		}
		listed[run] = true
		at := slices.IndexFunc(doubts, func(d doubt) bool { return d.matches(cell) })
		one := Report{Rows: r.Rows[i : i+1]}
		for _, s := range one.Samples() {
			s.Doubtful = at >= 0 && (!doubts[at].ttft || s.Quantity != estimate.TPOT)
			out = append(out, s)
		}
	}
	return out, nil
}
