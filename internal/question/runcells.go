package question

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/names"
	"throughline/internal/protocol"
	"throughline/model"
	"throughline/workload"
)

// rowFiles is what decides which files a row reads.
type rowFiles struct {
	model, system string
	formats       Formats
}

// RowReader reads rows of public serving tables into columns of settings; it keeps what rows share.
type RowReader struct {
	base   Question // what is asked of all rows; its system takes the place of theirs
	loaded map[rowFiles]*Loaded
}

// NewRowReader is one that has read nothing yet.
func NewRowReader(base Question) *RowReader {
	return &RowReader{base: base, loaded: map[rowFiles]*Loaded{}}
}

func (r *RowReader) load(key rowFiles) *Loaded {
	l, ok := r.loaded[key]
	if !ok {
		q := r.base
		q.Model, q.System, q.Formats = key.model, cmp.Or(q.System, key.system), key.formats
		l, _ = q.Read() // what is wrong is said where the row is predicted
		r.loaded[key] = l
	}
	return l
}

// Canonical is a row in the columns of questions, plus its own columns that these do not replace.
// For a measured row, the protocol of its benchmark supplies what it omits.
func (r *RowReader) Canonical(row Row, measured bool) Row {
	cells := r.Cells(row, measured)
	return Row{func(column string) string {
		if text, ok := cells[column]; ok || replaced[column] || settingOf[column] != "" {
			return text
		}
		return row.Cell(column)
	}}
}

// settingOf are the settings by their columns.
var settingOf = func() map[string]string {
	out := map[string]string{}
	for _, s := range runSettings {
		for _, name := range s.columns {
			out[name] = s.Name
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
		"mode", "disagg", "gpus", "num_prompts", "spec", "spec_tokens", "achieved_concurrency", "request_rate", "rate", "workers", "dp_attention", "layout", "isl_osl", "arrival", "power_limit", "version",
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

// Cells is a row by the columns of settings. Why it cannot be predicted is one of them.
func (r *RowReader) Cells(row Row, measured bool) map[string]string {
	out := row.own()
	out["weights"] = row.Weights()
	for _, column := range []string{"model", "system", "engine", "cache", "mode", "gpus", "isl", "osl", "concurrency", "seed", "power_limit"} {
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
	if out["mode"] == string(Aggregated) && out["tp"]+out["dp"]+out["pp"]+out["ep"]+out["instances"] == "" {
		out["tp"] = out["gpus"] // a server that says its GPUs alone has all of them
	}
	if len(notes) > 0 {
		out["note"], out["unstated"] = strings.Join(notes, "; "), "true"
	}
	for _, column := range measurementColumns {
		out[column] = cmp.Or(row.Cell(column), out[column])
	}
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}

// own are the cells of a row that settings have as they are.
func (r Row) own() map[string]string {
	out := map[string]string{}
	for _, s := range runSettings {
		for _, column := range s.columns {
			if text := r.Cell(column); text != "" && !replaced[column] {
				out[column] = text
				break
			}
		}
	}
	return out
}

// measurementColumns say how a row was measured, wherever they stand.
var measurementColumns = []string{"note", "lengths", "prompt_tokens", "requests_per_client", "repeated", "acceptance", "unstated"}

// standIn is a model of the catalogue for one that is neither there nor on disk, and a note of it.
func (r *RowReader) standIn(name string) (string, string) {
	if name == "" {
		return name, ""
	}
	if _, err := Find("model", name, model.Catalogue, r.base.Places()); err == nil {
		return name, ""
	}
	near, ok := model.Similar(name)
	if !ok {
		return name, ""
	}
	return near, fmt.Sprintf("%s is not in the catalogue; %s stands in, by family and size", name, near)
}

// layout is the sizes of the servers of a row.
func (r Row) layout(out map[string]string) {
	pools := []string{"prefill_", "decode_"}
	if out["mode"] == string(Aggregated) {
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

// fill adds what the row's words and its protocol imply. An error says why the row cannot be
// predicted.
func (reader *RowReader) fill(r Row, measured bool, out map[string]string) error {
	errs := r.refuse()
	input, _ := strconv.Atoi(out["isl"])
	output, _ := strconv.Atoi(out["osl"])
	clients, _ := strconv.Atoi(out["concurrency"])
	n := workload.Lengths{Input: input, Output: output}
	r.arrive(out, "")
	if prompts := nearestCount(r.prompts()); perClient.FindString(prompts) == "" {
		out["num_prompts"] = prompts
	}
	l := reader.load(rowFiles{out["model"], out["system"], Formats{Weights: out["weights"], Cache: out["cache"]}})
	if l == nil || n.Input < 1 || n.Output < 1 {
		return document.Join(errs...)
	}
	p, drawn := r.protocol(n, clients)
	if p != nil && !p.Recipes {
		out["unstated"] = "true" // its words say what was sent, not what its server was stated
	}
	if p == nil {
		p = &protocol.Stated
		if measured {
			p = protocol.OfLengths(n)
		}
	}
	facts := r.facts(l, n, clients)
	stated := p.Cells(facts)
	if e := stated["engine"]; facts["engine"] == "" && e != "" {
		facts["engine"] = e
		stated = p.Cells(facts)
	}
	out["isl"], out["osl"], out["lengths"] = strconv.Itoa(drawn.Input), strconv.Itoa(drawn.Output), cmp.Or(stated["lengths"], p.Spread)
	if p.Requests > 0 || r.Cell("lengths") == "" {
		out["requests_per_client"] = digits(p.Requests)
	}
	if again := p.Repeated(p.Requests*float64(clients), float64(clients)); again > 0 {
		out["repeated"] = digits(again)
	}
	errs = append(errs, r.draft(out, facts["engine"], p, stated, l))
	delete(stated, "drafts")
	delete(stated, "acceptance")
	r.version(out, facts, stated)
	r.arrive(out, stated["arrival"])
	delete(stated, "arrival")
	correct(stated, out)
	add(stated, out)
	if r.burst() && out["concurrency"] == "" {
		out["concurrency"], out["full"] = full(out), "true"
	}
	return document.Join(errs...)
}

// arrive sets how requests at a rate come: as the row says, else as its benchmark sends them.
func (r Row) arrive(out map[string]string, sent string) {
	rate := r.rate()
	if !finite(rate) {
		return
	}
	out["rate"], out["arrival"] = rate, cmp.Or(sent, "poisson")
	if words := r.Cell("arrival"); words != "" {
		if _, err := workload.ParseArrival(words); err == nil {
			out["arrival"] = words
		}
	}
}

// correct replaces the attention ranks of a row where the recipe of its run has others.
func correct(stated, out map[string]string) {
	var changed []string
	for _, column := range []string{"prefill_tp", "prefill_dp", "decode_tp", "decode_dp"} {
		if text := stated[column]; text != "" && text != out[column] {
			out[column] = text
			changed = append(changed, column+" "+text)
		}
	}
	if len(changed) > 0 {
		out["note"] = "as the recipe of the run has it: " + strings.Join(changed, ", ")
	}
}

// add adds what servers were told to a row where it does not say it.
func add(stated, out map[string]string) {
	said := map[string]bool{}
	for column, text := range out {
		said[settingOf[column]] = said[settingOf[column]] || text != ""
	}
	for column, text := range stated {
		if name := settingOf[column]; name != "" && !said[name] {
			out[column] = text
		}
	}
}

// draft adds the drafts of a step, and how many of them are accepted.
func (r Row) draft(out map[string]string, engine string, p *protocol.Protocol, stated map[string]string, l *Loaded) error {
	drafts, err := r.drafts(engine, stated["drafts"])
	if err != nil {
		return err
	}
	if r.Cell("spec")+r.Cell("drafts") != "" && r.Cell("spec") != "unknown" || drafts > 0 {
		out["drafts"] = strconv.Itoa(drafts)
	}
	if drafts == 0 {
		return nil
	}
	known := p.Accepted(stated)
	if known == nil {
		known = workload.Acceptance(l.Shape.DraftLengths)
	}
	known, err = r.acceptance(known, drafts, stated["accept_length"])
	var words []string
	for _, share := range known {
		words = append(words, digits(share))
	}
	out["acceptance"] = strings.Join(words, ",")
	return err
}

// version adds the known earlier version of an engine that holds for the one that ran.
func (r Row) version(out, facts, stated map[string]string) {
	out["engine"] = cmp.Or(out["engine"], stated["engine"])
	e, err := engine.Find(out["engine"])
	if err != nil || strings.Contains(out["engine"], "@") {
		return // what is wrong is said where the row is predicted
	}
	_, ran := r.engine()
	v := cmp.Or(stated["version"], protocol.Document(facts)["version"])
	if v == "" && ran != "" {
		v = e.Nearest(ran)
	}
	if v != "" {
		out["engine"] = e.Name + "@" + v
	}
}

// full is the clients that keep all servers of a row full; empty: what they run is not known.
func full(out map[string]string) string {
	number := func(setting string) int {
		for column, text := range out {
			if settingOf[column] == setting {
				n, _ := strconv.Atoi(text)
				return n
			}
		}
		return 0
	}
	size := max(1, number("tp")) * max(1, number("pp")) * max(1, number("dp"))
	gpus, _ := strconv.Atoi(out["gpus"])
	if clients := number("max-running-requests") * max(1, gpus/size); clients > 0 {
		return strconv.Itoa(clients)
	}
	return ""
}

// digits are all those of a number.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
