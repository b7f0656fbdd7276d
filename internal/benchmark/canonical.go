package benchmark

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/names"
	"throughline/internal/question"
	"throughline/model"
	"throughline/workload"
)

// files is what decides which files a row reads.
type files struct {
	model, system string
	formats       question.Formats
}

// Reader reads rows of public serving tables into question columns, caching what rows share.
type Reader struct {
	Base   question.Question // what is asked of all rows; its system takes the place of theirs
	loaded map[files]*question.Loaded
}

// NewReader is one that has read nothing yet.
func NewReader(base question.Question) *Reader {
	return &Reader{Base: base, loaded: map[files]*question.Loaded{}}
}

func (r *Reader) load(key files) *question.Loaded {
	l, ok := r.loaded[key]
	if !ok {
		q := r.Base
		q.Model, q.System, q.Formats = key.model, cmp.Or(q.System, key.system), key.formats
		l, _ = q.Read() // what is wrong is said where the row is predicted
		r.loaded[key] = l
	}
	return l
}

// Canonical is a row in the columns of questions, plus its own columns that these do not replace.
// For a measured row, the scripts and recipes of its benchmark supply what it omits.
func (r *Reader) Canonical(row Row, measured bool) Row {
	cells := r.Cells(row, measured)
	return Row{func(column string) string {
		if text, ok := cells[column]; ok {
			return text
		}
		if replaced[column] || cells[canonical[column]] != "" {
			return ""
		}
		return row.Cell(column)
	}}
}

// canonical are the canonical columns by the other names of their settings.
var canonical = func() map[string]string {
	out := map[string]string{}
	for _, s := range question.Settings(question.Estimate | question.Runs) {
		for _, name := range s.RunNames() {
			out[name] = strings.ReplaceAll(s.Name, "-", "_")
		}
	}
	return out
}()

// Replaced reports whether canonical columns stand for a column.
func Replaced(column string) bool { return replaced[column] }

// replaced are the columns that canonical ones stand for, under all their names.
var replaced = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{
		"mode", "disagg", "gpus", "num_prompts", "spec", "spec_tokens", "achieved_concurrency", "request_rate", "rate", "workers", "dp_attention", "arrival", "power_limit", "version",
		"model", "system", "engine", "weights", "cache", "isl", "osl", "concurrency", "seed", "instances", "drafts", "tp", "pp", "dp", "ep", "moe_tp", "batch", "redundant", "overlap",
	} {
		for _, column := range append([]string{name}, names.Others(name)...) {
			for _, pool := range []string{"", "prefill_", "decode_"} {
				out[pool+column] = true
			}
		}
	}
	return out
}()

// Cells is a row by canonical columns. Why it cannot be predicted is one of them.
func (r *Reader) Cells(row Row, measured bool) map[string]string {
	out := map[string]string{"weights": row.Weights()}
	for _, column := range []string{"model", "system", "engine", "cache", "mode", "gpus", "isl", "osl", "concurrency", "seed", "power_limit", "prefix", "prefix_hit"} {
		out[column] = row.Get(column)
	}
	if w := row.system().Watts; w > 0 && out["power_limit"] == "" {
		out["power_limit"] = strconv.Itoa(w)
	}
	notes := row.notes()
	if out["power_limit"] != "" {
		notes = append(notes, "the chip as delivered, not limited to "+strings.TrimRight(out["power_limit"], "wW ")+" W")
	}
	if name, note := r.standIn(out["model"]); note != "" {
		out["model"], notes = name, append(notes, note)
	}
	row.layout(out)
	if err := r.fill(row, measured, out); err != nil {
		out["unpredictable"] = strings.ReplaceAll(document.Join(err).Error(), "\n", "; ")
	}
	if out["mode"] == string(question.Aggregated) && out["tp"]+out["dp"]+out["pp"]+out["ep"]+out["instances"] == "" {
		out["tp"] = out["gpus"] // a server that says its GPUs alone has all of them
	}
	if len(notes) > 0 {
		out["note"], out["unstated"] = strings.Join(notes, "; "), "true"
	}
	for column := range out { // what it says of how it was measured itself
		if text := row.Cell(column); ofRuns[column] && text != "" {
			out[column] = text
		}
	}
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}

// standIn is a model of the catalogue for one that is neither there nor on disk, and a note of it.
func (r *Reader) standIn(name string) (string, string) {
	if name == "" {
		return name, ""
	}
	if _, err := question.Find("model", name, model.Catalogue, r.Base.Places()); err == nil {
		return name, ""
	}
	near, ok := model.Similar(name)
	if !ok {
		return name, ""
	}
	return near, fmt.Sprintf("%s is not in the catalogue; %s stands in, by family and size", name, near)
}

// ofRuns are canonical columns that mean the same wherever they stand.
var ofRuns = map[string]bool{"note": true, "lengths": true, "prompt_tokens": true, "requests_per_client": true, "repeated": true, "acceptance": true, "unstated": true}

// Deployed are the columns that runs of one deployment and load share, except clients and drafts.
var Deployed = []string{
	"model", "system", "engine", "weights", "cache", "mode", "isl", "osl", "length_spread", "gpus", "tp", "pp", "dp", "moe_tp", "ep",
	"prefill_workers", "prefill_tp", "prefill_pp", "prefill_dp", "prefill_moe_tp", "prefill_ep",
	"decode_workers", "decode_tp", "decode_pp", "decode_dp", "decode_moe_tp", "decode_ep",
}

// layout is the sizes of the servers of a row.
func (r Row) layout(out map[string]string) {
	pools := []string{"prefill_", "decode_"}
	if out["mode"] == string(question.Aggregated) {
		pools = []string{""}
		if n := r.Get("instances"); n != "1" {
			out["instances"] = n
		}
	}
	for _, pool := range pools {
		for _, size := range []string{"tp", "pp", "dp", "ep", "moe_tp", "batch", "workers", "redundant", "overlap"} {
			if text := r.Get(pool + size); text != "0" && (pool != "" || size != "workers") {
				out[pool+size] = text
			}
		}
	}
}

// fill adds what the row's words and its benchmark's scripts imply. An error says why the row
// cannot be predicted.
func (reader *Reader) fill(r Row, measured bool, out map[string]string) error {
	errs := r.refuse()
	input, _ := strconv.Atoi(out["isl"])
	output, _ := strconv.Atoi(out["osl"])
	clients, _ := strconv.Atoi(out["concurrency"])
	n := workload.Lengths{Input: input, Output: output}
	if rate := r.Cell("request_rate"); finite(rate) {
		out["rate"], out["arrival"] = rate, "poisson"
		if words := r.Cell("arrival"); words != "" {
			if _, err := workload.ParseArrival(words); err == nil {
				out["arrival"] = words
			}
		}
	}
	if prompts := wholeMean(r.Cell("num_prompts")); perClient.FindString(prompts) == "" {
		out["num_prompts"] = prompts
	}
	key := files{out["model"], out["system"], question.Formats{Weights: out["weights"], Cache: out["cache"]}}
	l := reader.load(key)
	if l == nil || n.Input < 1 || n.Output < 1 {
		return document.Join(errs...)
	}
	bench, drawn := r.benchmark(n, clients)
	if bench == nil && measured {
		bench = benchmarkOf(n)
	} else if bench == nil {
		bench = &stated
	}
	f := r.facts(l, n, clients)
	options := bench.options(&f)
	out["isl"], out["osl"], out["lengths"] = strconv.Itoa(drawn.Input), strconv.Itoa(drawn.Output), bench.Spread
	if options[ratioOption] == "1" {
		out["lengths"] = stated.Spread
	}
	if made, err := f.sum(options[tokensOption]); err == nil {
		out["prompt_tokens"] = strconv.Itoa(made)
	}
	if bench.Requests > 0 || r.Cell("lengths") == "" {
		out["requests_per_client"] = text(bench.Requests)
	}
	if again := bench.repeated(bench.Requests*float64(clients), float64(clients)); again > 0 {
		out["repeated"] = text(again)
	}
	if bench.worded && !bench.Recipes {
		out["unstated"] = "true"
	}
	out["cache"] = cmp.Or(out["cache"], options["kv-cache-dtype"], options["dtype"])
	out["engine"] = cmp.Or(out["engine"], options["engine"])
	sizeServer(out, options)
	errs = append(errs, r.draft(out, &f, bench, options, l))
	errs = append(errs, r.serverOptions(out, &f, bench))
	if r.burst() && out["concurrency"] == "" {
		out["concurrency"], out["full"] = full(out), "true"
	}
	return document.Join(errs...)
}

// draft adds the drafts of a step, and how many of them are accepted.
func (r Row) draft(out map[string]string, f *facts, bench *benchmark, options map[string]string, l *question.Loaded) error {
	drafts, err := f.drafts(r, options)
	if err != nil {
		return err
	}
	if r.Cell("spec")+r.Cell("drafts") != "" && r.Cell("spec") != "unknown" || drafts > 0 {
		out["drafts"] = strconv.Itoa(drafts)
	}
	if drafts == 0 {
		return nil
	}
	known := bench.acceptance(f)
	if known == nil {
		known = workload.Acceptance(l.Shape.DraftLengths)
	}
	known, err = r.acceptance(known, drafts, options[acceptOption])
	var words []string
	for _, share := range known {
		words = append(words, text(share))
	}
	out["acceptance"] = strings.Join(words, ",")
	return err
}

// serverOptions adds the engine version and the options of servers, first those of the row.
func (r Row) serverOptions(out map[string]string, f *facts, bench *benchmark) error {
	e, err := engine.Find(out["engine"])
	if err != nil {
		return nil // said where the row is predicted
	}
	f.engine = e.Name
	if v := r.ran(e, f, bench); v != "" && !strings.Contains(out["engine"], "@") {
		out["engine"] = e.Name + "@" + v
	}
	prefix := ""
	if f.mode == string(question.Disaggregated) {
		prefix = "decode_"
	}
	dp, _ := strconv.Atoi(out[prefix+"dp"])
	var t deploy.ServerOptions
	for _, options := range []map[string]string{bench.options(f), r.options()} {
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if engine.SetAttention(&t, name, options[name]) {
				continue
			}
			if n, err := f.sum(options[name]); err == nil {
				engine.SetOption(&t, name, n, max(1, dp)) // formats and drafts, which are no such options, are known already
			}
		}
		t.Products = cmp.Or(options[engine.ProductsOption], t.Products)
		t.Exchange = cmp.Or(options[exchangeOptions[0]], t.Exchange)
		t.PrefillExchange = cmp.Or(options[exchangeOptions[1]], t.PrefillExchange)
		t.SharedApart = t.SharedApart || options[sharedOption] == "1"
		t.Unprepared = options[preparedOption] == "0" || t.Unprepared && options[preparedOption] == ""
		t.Chat = t.Chat || options[chatOption] == "1"
		for _, name := range memoryOptions {
			if share, err := strconv.ParseFloat(options[name], 64); err == nil && share > 0 && share <= 1 {
				t.MemoryShare = share
			}
		}
	}
	q := question.Default()
	q.Traffic.ServerOptions = t
	question.RunCells(&q, out)
	return r.checkOptions(f, dp)
}

// ran is the known earlier version that holds for the one that ran; empty: the current one.
func (r Row) ran(e *engine.Engine, f *facts, bench *benchmark) string {
	if v := cmp.Or(bench.version(f), r.documented()); v != "" || f.version == "" {
		return v
	}
	return e.Nearest(f.version)
}

// text is a number with all its digits; empty: none.
func text(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
