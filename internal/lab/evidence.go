package lab

import (
	"cmp"
	"context"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"throughline/estimate"
	"throughline/internal/question"
	"throughline/internal/validate"
)

// evidence is the tables that widths of bands come from, relative to the project root: serving runs
// that were in view while serving was modelled, runs that were not, and whole forward passes on
// H200s.
var evidence = struct {
	serving, labelled, fresh string
	forward                  []passes
}{
	serving:  "../shared/measurements/silicon/serving.csv",
	labelled: "../shared/measurements/silicon/labelled.csv",
	fresh:    "../shared/measurements/fresh/serving.csv",
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
	{where: map[string]string{"benchmark": "GPUStack*", "model": "Qwen3-30B-A3B", "engine": "mindie", "length_spread": "fixed*"}, why: "the figures of Qwen3-8B in W8A8, digit by digit"},
	{where: map[string]string{"benchmark": "GPUStack*", "model": "Qwen3-8B-W8A8", "engine": "mindie", "length_spread": "fixed*"}, why: "the figures of Qwen3-30B-A3B, digit by digit"},
	{where: map[string]string{"benchmark": "GPUStack*", "model": "GLM-4.5-Air", "system": "h100", "length_spread": "fixed*"}, why: "the figures of the A100, digit by digit; the page's own summary has others"},
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

// flaws are flags of rows that do not agree with themselves, or say too few digits.
var flaws = []string{"broken", "littles_law", "rounded"}

// doubted is what is doubted of a run that is listed so many times.
func doubted(r run, listed int) (ttft, tpot bool) {
	for _, flaw := range flaws {
		if strings.Contains(r.Cell("flags"), flaw) {
			return true, true
		}
	}
	for i := range doubts {
		if d := &doubts[i]; d.matches(r.named) && !(d.alone && listed > 1) {
			return true, !d.ttft
		}
	}
	return false, false
}

// sameModel are models of one shape: some runs of the one are listed under the other as well.
var (
	sameModel  = map[string]string{"DeepSeek-R1": "DeepSeek-V3"}
	alsoCalled = map[string][]string{"DeepSeek-V3": {"DeepSeek-R1"}}
)

// Found is what bands come from: runs judged without their pair, all predictions beside
// measurements, and the systems whose runs serving was modelled by, by engine and model.
type Found struct {
	Held    *Held
	Samples []validate.Sample
	Seen    map[string]map[string][]string
}

// Evidence is the samples that widths of bands come from: each pair of model and engine predicted
// with what was chosen without it. Folder is the project root.
func Evidence(ctx context.Context, folder string) (*Found, error) {
	var tables []*Table
	for _, name := range []string{evidence.serving, evidence.labelled, evidence.fresh} {
		t, err := Import(ctx, filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	h, err := HeldOut(ctx, &Partings[0], tables...)
	if err != nil {
		return nil, err
	}
	out := &Found{h, h.samples(), h.seen()}
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
		out.Samples = append(out.Samples, r.Samples()...)
	}
	return out, nil
}

// samples are the figures of runs beside what was predicted without their part. Seen are groups
// with runs in the first table, which serving was modelled by.
func (h *Held) samples() (out []validate.Sample) {
	seen := h.seen()
	for _, j := range h.runs {
		for f, trusted := range j.trusted {
			e := math.Log(j.measured[f] / j.held[f])
			if trusted == nil || !trusted.HasBand() || math.IsNaN(e) || math.IsInf(e, 0) {
				continue
			}
			s := validate.Sample{Confidence: *trusted, Group: j.pair(), Series: j.series, Error: e, Doubtful: j.doubtful[f]}
			s.Causes[estimate.Unseen] = j.told && !slices.Contains(seen[j.engine][j.model], j.system)
			out = append(out, s)
		}
	}
	return out
}

// seen are the systems of the first table, by engine and model.
func (h *Held) seen() map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for _, j := range h.runs {
		if j.table > 0 {
			continue
		}
		if out[j.engine] == nil {
			out[j.engine] = map[string][]string{}
		}
		for _, name := range append(alsoCalled[j.model], j.model) {
			if list := out[j.engine][name]; !slices.Contains(list, j.system) {
				out[j.engine][name] = slices.Sorted(slices.Values(append(list, j.system)))
			}
		}
	}
	return out
}

// named is a cell as doubts have it: as the table writes it, but for the maker of a model.
func (r run) named(column string) string {
	if column == "model" {
		return path.Base(r.Get("model"))
	}
	return cmp.Or(r.Cell(column), r.Get(column))
}
