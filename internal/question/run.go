package question

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/names"
	"throughline/number"
	"throughline/plan"
	"throughline/workload"
)

// Measurement is what a row of a table of measured runs says besides its deployment and its load.
type Measurement struct {
	// Tabled: the question is a row of a table of runs, so its server is known to run. Experts
	// without sizes are cut like the rest, and those of a dense model are ignored.
	Tabled bool
	// Started: the servers were measured, so that they did hold a request.
	Started   bool
	Unsized   bool // neither sizes nor GPUs are said: the fewest GPUs that hold the weights and a request
	Instances int  // servers of one pool; 0: one

	PromptTokens int     // that servers make of a prompt, where they are not those that clients count; 0: they are
	PerClient    float64 // requests of each client; 0: without end
	Repeated     float64 // share of the first requests of clients that the run before had sent as well
	Acceptance   string  // shares of drafts that are accepted, by position; empty: those of the model
	Unstated     bool    // the launch settings of the servers are not known
	Versioned    bool    // the version of the engine is, besides those named with the engine
	Nominal      bool    // the row does not say how lengths are spread: fits are known by its lengths as they stand
}

// Runs are the rows of tables of measured runs, which are no command.
const Runs = end << 1

// ofRuns are settings that only measured runs have: server options and how the benchmark ran.
var ofRuns = []Setting{
	{Name: "instances", Aliases: []string{"replicas"}, For: Runs, Low: 1, High: mostParts, Optional: true,
		Doc: "servers that share the clients", Ref: func(q *Question) any { return &q.Measurement.Instances }},
	{Name: "prompt-tokens", For: Runs, Low: 1, High: mostTokens, Optional: true,
		Doc: "tokens that servers make of a prompt, where clients count others", Ref: func(q *Question) any { return &q.PromptTokens }},
	{Name: "requests-per-client", For: Runs, Low: 0, High: mostPrompts,
		Doc: "requests of each client", Ref: func(q *Question) any { return &q.PerClient }},
	{Name: "repeated", For: Runs, Low: 0, High: 1,
		Doc: "share of the first requests that the run before had sent as well", Ref: func(q *Question) any { return &q.Repeated }},
	{Name: "acceptance", For: Runs, List: Text, Check: checkShare,
		Doc: "shares of drafts that are accepted, by position", Ref: func(q *Question) any { return &q.Acceptance }},
	{Name: "unstated", For: Runs,
		Doc: "the launch settings of the servers are not known", Ref: func(q *Question) any { return &q.Unstated }},
	{Name: engine.ProductsOption, For: Runs, Choices: engine.ProductNames(),
		Doc: "kernels of products of blocks", Ref: func(q *Question) any { return &q.Traffic.Products }},
	{Name: "moe-a2a-backend", For: Runs, Choices: engine.Exchanges,
		Doc: "how tokens come to their experts", Ref: func(q *Question) any { return &q.Traffic.Exchange }},
	{Name: "prefill-moe-a2a-backend", For: Runs, Choices: engine.Exchanges,
		Doc: "that of servers that prefill alone", Ref: func(q *Question) any { return &q.Traffic.PrefillExchange }},
	{Name: "shared-apart", For: Runs,
		Doc: "shared experts are not run among the routed ones", Ref: func(q *Question) any { return &q.Traffic.SharedApart }},
	{Name: "unprepared", For: Runs,
		Doc: "the host does not prepare a step with drafts while the one before runs", Ref: func(q *Question) any { return &q.Traffic.Unprepared }},
	{Name: "fills-steps", For: Runs,
		Doc: "the last prompt of a step is cut to fill it, as SGLang does of answers of a set length where it keeps no prefixes", Ref: func(q *Question) any { return &q.Traffic.FillsSteps }},
	{Name: "warmed", For: Runs,
		Doc: "servers have had a load of this kind before, and compile nothing", Ref: func(q *Question) any { return &q.Traffic.Warmed }},
	{Name: "copied", For: Runs,
		Doc: "servers have had copies of one prompt, as many as clients at a time", Ref: func(q *Question) any { return &q.Traffic.Copied }},
	{Name: "chat", For: Runs,
		Doc: "requests are messages, of which the server makes prompts", Ref: func(q *Question) any { return &q.Traffic.Chat }},
}

func checkShare(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("must be shares between 0 and 1, not %q", text)
	}
	return nil
}

// notOfRuns are settings of bare steps, and sizes of pools that have columns of their own.
var notOfRuns = []string{"phase", "context"}

// RunNames are the names under which tables of runs have a setting, best first.
func (s *Setting) RunNames() []string {
	var out []string
	for _, name := range slices.Concat([]string{s.Name}, s.Aliases, names.Others(strings.ReplaceAll(s.Name, "-", "_"))) {
		out = append(out, name)
		if low := strings.ReplaceAll(name, "-", "_"); low != name {
			out = append(out, low)
		}
	}
	return out
}

// RunSetting is a setting of rows, and its columns.
type RunSetting struct {
	*Setting
	Columns []string
}

var RunSettings = func() (out []RunSetting) {
	// Those of runs alone come first: acceptance is known when drafts are read.
	for _, s := range append(Settings(Runs), Settings(Estimate)...) {
		if !s.Apart && !slices.Contains(notOfRuns, s.Name) {
			out = append(out, RunSetting{s, s.RunNames()})
		}
	}
	return out
}()

// OfRun reads a row of measured runs into a question, by the names of settings or their aliases in
// tables. A base with a phase asks for bare steps. The error lists everything wrong with the row.
func OfRun(base Question, cell func(column string) string) (Question, error) {
	q := base
	r := runReader{cell: cell}
	for _, s := range RunSettings {
		column, text := r.first(s.Columns...)
		if text == "" {
			continue
		}
		if s.Kind() == Count {
			if text = r.divided(column, WithoutDecimals(text)); text == "0" && s.Low > 0 {
				continue // as tables write of what there is not
			}
		}
		if f, ok := otherNames[s.Name]; ok {
			text = f(text)
		}
		r.note(renamed(s.Name, column, s.Set(&q, text)))
		r.note(q.Named(column))
	}
	q.Tabled, q.Context = true, 0
	if q.Phase != "" {
		q.Context = r.count("context")
	}
	r.load(&q)
	switch mode := ModeOf(cell); mode {
	case Aggregated:
		r.oneServer(&q)
	case Disaggregated:
		q.TP, q.Batch = 1, r.count("decode_batch", "decode_batch_size")
		q.PrefillPlan, q.DecodePlan = cmp.Or(q.PrefillPlan, r.words("prefill_", 0)), cmp.Or(q.DecodePlan, r.words("decode_", q.Drafts))
	default:
		r.note(fmt.Errorf("mode %q is neither agg nor disagg", mode))
	}
	return q, document.Join(r.problems...)
}

// otherNames are settings whose values tables write in other words.
var otherNames = map[string]func(string) string{
	"weights": FormatName, "cache": FormatName,
	"engine": func(text string) string {
		if found, ok := names.Engine(text); ok && found.Note == "" && !strings.Contains(text, "@") {
			return found.Name
		}
		return text
	},
}

// FormatName is a number format by any of its names; what is none stays as it is. A short word may
// mean another format on another chip, as fp4 does, and stays, too.
func FormatName(text string) string {
	if low := strings.ToLower(text); slices.Contains(number.Words(), low) {
		return low
	}
	if found, ok := names.Format(text); ok {
		return found.Name
	}
	return text
}

// FittedBy are the lengths that identify fits: the means, or the nominal lengths if the row does
// not say how lengths are spread.
func (q *Question) FittedBy(means workload.Lengths) workload.Lengths {
	if q.Nominal {
		return workload.Lengths{Input: q.Input, Output: q.Output}
	}
	return means
}

// accepted is the shares of drafts that are accepted, by position; none: not said.
func (m *Measurement) accepted() (out []float64) {
	for _, word := range Words(m.Acceptance) {
		share, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil // which is reported already
		}
		out = append(out, share)
	}
	return out
}

// ModeOf is how the phases share the servers of a row.
func ModeOf(cell func(column string) string) Mode {
	switch text := cell("mode"); {
	case text != "":
		return Mode(strings.ToLower(text))
	case names.Yes(cell("disagg")), cell("prefill-plan")+cell("decode-plan") != "":
		return Disaggregated
	}
	return Aggregated
}

// runReader reads the cells of a row and collects what is wrong with them.
type runReader struct {
	cell     func(string) string
	problems []error
}

func (r *runReader) note(err error) {
	if err != nil {
		r.problems = append(r.problems, err)
	}
}

func (r *runReader) first(columns ...string) (column, text string) {
	for _, c := range columns {
		if text := r.cell(c); text != "" {
			return c, text
		}
	}
	return columns[0], ""
}

// WithoutDecimals is a number as it is written without decimals: some tables have them.
func WithoutDecimals(text string) string {
	if v, err := strconv.ParseFloat(text, 64); err == nil && v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return text
}

// divided is a setting per data-parallel rank and stage. Some engine options count for the whole
// server: max-running-requests is SGLang's, which divides it among its batches under way,
// max_running_requests the setting of each rank.
func (r *runReader) divided(column, text string) string {
	n, err := strconv.Atoi(text)
	if err != nil || !engine.SharedByRanks(column) {
		return text
	}
	parts := 1
	for _, columns := range [][]string{{"dp", "attention_dp_size", "decode_dp", "decode_attention_dp_size"}, {"pp", "pp_size", "decode_pp", "decode_pp_size"}} {
		_, size := r.first(columns...)
		if ranks, err := strconv.Atoi(WithoutDecimals(size)); err == nil {
			parts *= max(1, ranks)
		}
	}
	return strconv.Itoa(max(1, n/parts))
}

// count is a whole number of at least 1; 0: not said.
func (r *runReader) count(columns ...string) int {
	column, text := r.first(columns...)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(WithoutDecimals(text))
	if err != nil || n < 0 || n > mostTokens {
		r.note(fmt.Errorf("%s: %q is not a whole number", column, text))
	}
	return n
}

// oneServer reads the servers of one pool. Their tensor-parallel size is 0 where no one says it.
func (r *runReader) oneServer(q *Question) {
	gpus := r.count("gpus", "num_gpus")
	if q.TP == 0 {
		q.TP, q.Unsized = 1, gpus == 0
		if !q.Unsized {
			r.note(fmt.Errorf("tp is missing: num_gpus says %d GPUs", gpus))
		}
	}
	if per := names.Devices(q.System); per > 1 && gpus > 0 && q.TP*q.PP*q.DP*q.CP == per*gpus && q.TP%per == 0 {
		q.TP /= per // ranks are counted in devices, of which a chip is several
		if q.EP > 1 && q.EP%per == 0 {
			q.EP /= per
		}
	}
	if procs := q.TP * q.PP * q.DP * q.CP; procs > 0 {
		q.Instances = max(1, q.Instances, gpus/procs)
	}
}

// words are the plan of the columns that start with a prefix.
func (r *runReader) words(prefix string, drafts int) string {
	size := func(names ...string) int {
		for i := range names {
			names[i] = prefix + names[i]
		}
		return r.count(names...)
	}
	count, tp := size("num_workers", "workers"), size("tp_size", "tp")
	if len(r.problems) == 0 && count < 1 {
		r.note(fmt.Errorf("%snum_workers must be at least 1, not %d", prefix, count))
	}
	if len(r.problems) == 0 && tp < 1 {
		r.note(fmt.Errorf("%stp_size must be at least 1, not %d", prefix, tp))
	}
	parts := []string{fmt.Sprintf("%dx tp%d", max(1, count), max(1, tp))}
	for _, p := range []struct {
		word string
		n    int
	}{
		{"dp", size("attention_dp_size", "dp")}, {"pp", size("pp_size", "pp")}, {"ep", size("moe_ep_size", "ep")}, {"etp", size("moe_tp_size", "moe_tp")},
		{"+", size("redundant", "redundant_experts")}, {"mtp", drafts},
	} {
		if p.n > 0 {
			parts = append(parts, p.word+strconv.Itoa(p.n))
		}
	}
	if name := r.cell(prefix + "overlap"); name != "" {
		overlap, ok := plan.FindOverlap(document.Spelled(name, plan.OverlapNames()))
		if !ok {
			r.note(fmt.Errorf("%soverlap: %s", prefix, document.NotOneOf(name, plan.OverlapNames())))
		} else if overlap != plan.NoOverlap {
			parts = append(parts, overlap.Word())
		}
	}
	return strings.Join(parts, " ")
}

// load reads how many requests there are, and when they come.
func (r *runReader) load(q *Question) {
	for _, length := range []struct {
		column string
		tokens int
	}{{"isl", q.Input}, {"osl", q.Output}} {
		switch text := r.cell(length.column); {
		case length.tokens > 0 || q.Context > 0:
		case text == "":
			r.note(fmt.Errorf("%s is missing: the row does not say how many tokens requests have", length.column))
		default:
			r.note(fmt.Errorf("%s %q must be positive", length.column, text))
		}
	}
	if q.Concurrency == 0 {
		if v, err := strconv.ParseFloat(r.cell("achieved_concurrency"), 64); err == nil && v > 0 && r.cell("request_rate") == "" {
			q.Concurrency = max(1, int(math.Round(v))) // those under way on average
		}
	}
	total := r.count("num_prompts")
	if q.Traffic.Requests = total; total > 0 && q.PerClient == 0 && q.Concurrency > 0 {
		q.PerClient = float64(max(total, q.Concurrency)) / float64(q.Concurrency)
	}
}

// RunCells adds the settings of a question that are not the usual ones, by their columns.
func RunCells(q *Question, into map[string]string) {
	usual := Default()
	for _, s := range RunSettings {
		if text := s.Get(q); text != s.Get(&usual) {
			into[strings.ReplaceAll(s.Name, "-", "_")] = text
		}
	}
}

// IsRunColumn reports whether a column of a table of runs is read as a setting.
func IsRunColumn(name string) bool {
	for _, prefix := range []string{"prefill_", "decode_"} {
		if short, ok := strings.CutPrefix(name, prefix); ok {
			return poolColumns[short] || IsRunColumn(short)
		}
	}
	return otherColumns[name] || slices.ContainsFunc(RunSettings, func(s RunSetting) bool { return slices.Contains(s.Columns, name) })
}

// Columns that are read besides those of settings: of rows, and of a pool.
var (
	otherColumns = map[string]bool{"mode": true, "gpus": true, "num_gpus": true, "num_prompts": true, "achieved_concurrency": true, "unpredictable": true, "note": true}
	poolColumns  = map[string]bool{"num_workers": true, "workers": true}
)
