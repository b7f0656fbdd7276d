package benchmark

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/number"
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

// replaced are the columns that canonical ones stand for, under all their names.
var replaced = func() map[string]bool {
	out := map[string]bool{"mode": true, "disagg": true, "gpus": true, "num_gpus": true, "num_prompts": true, "quantization": true, "achieved_concurrency": true, "request_rate": true}
	for _, name := range []string{
		"model", "system", "engine", "weights", "cache", "isl", "osl", "concurrency", "seed", "instances", "rate", "arrival", "drafts", "tp", "pp", "dp", "ep", "moe-tp", "batch", "redundant", "overlap",
	} {
		s, ok := question.Column(question.Estimate|question.Runs, name)
		if !ok {
			panic(name + " is no setting of runs")
		}
		for _, column := range s.RunNames() {
			for _, pool := range []string{"", "prefill_", "decode_"} {
				out[pool+column] = true
			}
		}
	}
	for _, pool := range []string{"prefill_", "decode_"} {
		out[pool+"workers"], out[pool+"num_workers"] = true, true
	}
	return out
}()

// Cells is a row by canonical columns. Why it cannot be predicted is one of them.
func (r *Reader) Cells(row Row, measured bool) map[string]string {
	out := map[string]string{
		"model": row.Get("model_path"), "system": row.Get("system"), "engine": row.backend(), "weights": row.Weights(), "cache": document.Spelled(row.Get("kv_cache"), number.Words()),
		"mode": row.Get("mode"), "gpus": row.Get("num_gpus"), "isl": row.Get("isl"), "osl": row.Get("osl"), "concurrency": row.Get("concurrency"), "seed": row.Get("seed"),
	}
	row.layout(out)
	if err := r.fill(row, measured, out); err != nil {
		out["unpredictable"] = strings.ReplaceAll(document.Join(err).Error(), "\n", "; ")
	}
	for column := range out { // what it says of how it was measured itself
		if text := row.Cell(column); ofRuns[column] && text != "" {
			out[column] = text
		}
	}
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}

// ofRuns are canonical columns that mean the same wherever they stand.
var ofRuns = map[string]bool{"lengths": true, "prompt_tokens": true, "requests_per_client": true, "repeated": true, "acceptance": true, "unstated": true}

// Deployed are the columns that runs of one deployment and load share, except clients and drafts.
var Deployed = []string{
	"model_path", "system", "backend", "precision", "kv_cache", "mode", "isl", "osl", "length_spread", "num_gpus",
	"tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size",
	"prefill_num_workers", "prefill_tp_size", "prefill_pp_size", "prefill_attention_dp_size", "prefill_moe_tp_size", "prefill_moe_ep_size",
	"decode_num_workers", "decode_tp_size", "decode_pp_size", "decode_attention_dp_size", "decode_moe_tp_size", "decode_moe_ep_size",
}

// layout is the sizes of the servers of a row.
func (r Row) layout(out map[string]string) {
	prefixes := []string{"prefill_", "decode_"}
	if out["mode"] == string(question.Aggregated) {
		prefixes = []string{""}
		if n := r.Get("replicas"); n != "1" {
			out["instances"] = n
		}
	}
	for _, prefix := range prefixes {
		for short, long := range map[string]string{
			"tp": "tp_size", "pp": "pp_size", "dp": "attention_dp_size", "ep": "moe_ep_size", "moe_tp": "moe_tp_size", "batch": "batch_size",
			"workers": "num_workers", "redundant_experts": "redundant_experts", "overlap": "overlap",
		} {
			if text := r.Get(prefix + long); text != "0" && (prefix != "" || short != "workers") {
				out[prefix+short] = text
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
	rate, arrival, err := r.open()
	if errs = append(errs, err); rate > 0 {
		out["rate"], out["arrival"] = text(rate), arrivalWords(arrival)
	}
	if _, err := strconv.Atoi(r.Get("num_prompts")); err == nil {
		out["num_prompts"] = r.Get("num_prompts")
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
	if r.offline() {
		out["concurrency"] = cmp.Or(out["concurrency"], full(out))
	}
	return document.Join(errs...)
}

// draft adds the drafts of a step, and how many of them are accepted.
func (r Row) draft(out map[string]string, f *facts, bench *benchmark, options map[string]string, l *question.Loaded) error {
	drafts, err := f.drafts(r, options)
	if err != nil {
		return err
	}
	if r.plain("spec")+r.plain("drafts") != "" && r.plain("spec") != "unknown" || drafts > 0 {
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
	if v := bench.version(f); v != "" {
		if _, err := e.At(v); err == nil {
			out["engine"] = e.Name + "@" + v
		}
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

// arrivalWords are how requests come, as the setting has it.
func arrivalWords(a workload.Arrival) string {
	if a.By > 0 {
		return a.Kind + ":" + text(a.By)
	}
	return a.Kind
}

// text is a number with all its digits; empty: none.
func text(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
