package rows

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/document"
	"throughline/internal/names"
	"throughline/internal/protocol"
	"throughline/internal/question"
	"throughline/workload"
)

// addProtocol adds what the benchmark of a row implies, or says why it cannot be predicted.
func (reader *Reader) addProtocol(r Row, measured bool, out map[string]string) error {
	errs := r.refuse()
	input, _ := strconv.Atoi(out["isl"])
	output, _ := strconv.Atoi(out["osl"])
	clients, _ := strconv.Atoi(out["concurrency"])
	n := workload.Lengths{Input: input, Output: output}
	r.arrive(out, "")
	if prompts := nearestCount(r.prompts()); perClient.FindString(prompts) == "" {
		out["num_prompts"] = prompts
	}
	l := reader.load(rowFiles{out["model"], out["system"], question.Formats{Weights: out["weights"], Cache: out["cache"]}})
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
	each := p.Requests
	if n, err := strconv.ParseFloat(stated["requests-per-client"], 64); err == nil && (r.prompts() == "" || perClient.MatchString(r.prompts())) {
		each = n
	}
	delete(stated, "requests-per-client")
	if each > 0 || r.Cell("lengths") == "" {
		out["requests_per_client"] = digits(each)
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
func (r Row) draft(out map[string]string, engine string, p *protocol.Protocol, stated map[string]string, l *question.Loaded) error {
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

// facts are the cells that the rules of protocols ask for.
func (r Row) facts(l *question.Loaded, n workload.Lengths, clients int) map[string]string {
	count := func(column string) int { v, _ := strconv.Atoi(r.Get(column)); return v }
	name, _ := r.engine()
	name, _, _ = strings.Cut(name, "@")
	drafting, _ := r.Drafts()
	out := map[string]string{
		"model": l.Shape.Name, "system": l.Decode.Name, "weights": l.Precision.Name, "mode": r.Get("mode"), "engine": name, "date": r.Cell("date"),
		"isl": strconv.Itoa(n.Input), "osl": strconv.Itoa(n.Output), "concurrency": strconv.Itoa(clients), "drafts": "no",
		"version": r.Cell("version"), "benchmark": r.Cell("benchmark"),
	}
	if drafting {
		out["drafts"] = "yes"
	}
	for _, pool := range []string{"", "prefill_", "decode_"} {
		tp, dp := max(1, count(pool+"tp")), max(1, count(pool+"dp"))
		out[pool+"workers"], out[pool+"ranks"], out[pool+"attention"] = r.Get(pool+"workers"), strconv.Itoa(tp*dp), "tp"
		if dp > 1 {
			out[pool+"attention"] = "dp"
		}
	}
	if out["mode"] == string(question.Disaggregated) {
		out["ranks"], out["attention"] = out["decode_ranks"], out["decode_attention"]
	}
	return out
}

// acceptance is the share of drafts accepted at each position. A given accept length yields equal
// shares; otherwise the known shares apply, with the last one repeated.
func (r Row) acceptance(known []float64, drafts int, stated string) ([]float64, error) {
	if stated = cmp.Or(r.Cell("accept_length"), stated); stated != "" && drafts > 0 {
		length, err := strconv.ParseFloat(stated, 64)
		if err != nil || !(length >= 1 && length <= float64(drafts+1)) {
			return nil, fmt.Errorf("accept length %s: a step with %d drafts has 1 to %d tokens", stated, drafts, drafts+1)
		}
		return estimate.EqualShares(length, drafts), nil
	}
	known = slices.Clone(known)
	for len(known) > 0 && len(known) < drafts {
		known = append(known, known[len(known)-1])
	}
	return known, nil
}

// refuse says why a row cannot be predicted at all.
func (r Row) refuse() []error {
	var out []error
	if why := names.Forbids(r.Cell("flags"), ""); why != "" && r.Cell("prefix_hit")+r.Cell("prefix") == "" {
		out = append(out, fmt.Errorf("%s", why))
	}
	if _, err := r.Drafts(); err != nil && r.Cell("drafts") == "" {
		out = append(out, err)
	}
	return out
}

func finite(rate string) bool {
	v, err := strconv.ParseFloat(rate, 64)
	return err == nil && v > 0 && v < 1e9
}

// fixedShare is the share of the longest output that the mean of outputs has which do not vary.
const fixedShare = 0.99

// protocol is how a run was made, as far as its row says it, and its lengths; nil where it says
// nothing.
func (r Row) protocol(n workload.Lengths, clients int) (*protocol.Protocol, workload.Lengths) {
	words := r.Cell("length_spread")
	p := protocol.Stated
	if spread := r.Cell("lengths"); spread != "" {
		p.Spread, p.Requests = spread, r.requests(clients)
		return &p, n
	}
	if words == "" {
		return nil, n
	}
	if spread, means, ok := names.Lengths(words); ok {
		p.Spread = spread
		if mean, err := strconv.ParseFloat(r.Cell("measured_output_mean"), 64); err == nil && means == nil && spread == "uniform:0" && mean > fixedShare*float64(n.Output) {
			p.Spread = "fixed" // whatever the words are
		}
		if means != nil {
			n.Input, _ = strconv.Atoi(nearestCount(means[0]))
			n.Output, _ = strconv.Atoi(nearestCount(means[1]))
			if spread == "uniform:0" {
				n.Input, n.Output = 2*n.Input, 2*n.Output
			}
		}
		if named := protocol.Named(r.Cell("benchmark")); named != nil && (named.Spread == "" || named.Spread == p.Spread) {
			spread := p.Spread
			p = *named
			p.Spread = spread
		}
	}
	p.Requests = cmp.Or(r.requests(clients), p.Requests)
	return &p, n
}

// perClient is how tables say that each client sends so many requests.
var perClient = regexp.MustCompile(`^([0-9]+) ?[x×*]`)

// prompts are all that are sent, or how many each client sends: 10 x conc.
func (r Row) prompts() string {
	text := r.Cell("num_prompts")
	switch {
	case names.Empty(text):
		return ""
	case perClient.MatchString(text):
		return text
	}
	return names.Number(text)
}

// requests are those of each client, as far as the row says it; 0: it does not.
func (r Row) requests(clients int) float64 {
	prompts := r.prompts()
	if m := perClient.FindStringSubmatch(prompts); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		return n
	}
	if total, err := strconv.ParseFloat(prompts, 64); err == nil && clients > 0 {
		return max(total, float64(clients)) / float64(clients)
	}
	return 0
}
