package published

import (
	"fmt"
	"regexp"
)

// Class is what is done with a figure.
type Class string

const (
	Target      Class = "target"       // predicted and compared
	Relation    Class = "relation"     // a ratio of two figures: both are predicted
	Order       Class = "order"        // which of two is faster: both are predicted
	Breakdown   Class = "breakdown"    // a part of a layer, side by side
	NotCompared Class = "not compared" // with the reason
)

var Classes = []Class{Target, Relation, Order, Breakdown, NotCompared}

// quantity is what a figure is of.
type quantity uint8

const (
	nothing     quantity = iota // that is predicted here
	prefillRate                 // tokens per second of bare prefill steps
	decodeRate                  // and of bare decode steps
	outputRate                  // output tokens per second that clients get
	userRate                    // of one of them
	requestTime                 // of a request, as clients see it
	dispatchTime
	combineTime
	dispatchRate // bytes per second, as the library counts them
	combineRate
	layerPart // time of a part of an expert layer
)

var quantities = [...]string{
	"not predicted", "prefill", "decode", "output", "output of a client", "latency", "dispatch", "combine", "dispatch", "combine", "parts of a layer",
}

func (q quantity) String() string { return quantities[q] }

// metrics are the quantities that the program predicts by themselves.
var metrics = map[quantity]string{
	prefillRate: "prefill_throughput", decodeRate: "decode_throughput", outputRate: "output_throughput",
	userRate: "per_user_output_throughput", requestTime: "request_latency",
}

// rule says what is done with the rows whose columns match all of its patterns.
type rule struct {
	where  []where
	class  Class
	asks   quantity
	reason string // why not
}

// where is a column and a pattern that must or must not occur in it, in letters of either case.
type where struct {
	column  string
	pattern *regexp.Regexp
	absent  bool
}

func in(column, pattern string) where { return where{column, folded(pattern), false} }

func notIn(column, pattern string) where { return where{column, folded(pattern), true} }

// folded is a pattern in letters of either case.
func folded(pattern string) *regexp.Regexp { return regexp.MustCompile("(?i)" + pattern) }

// all is patterns that must hold together.
func all(list ...where) []where { return list }

// skip is a rule for rows that are not compared.
func skip(reason string, list ...where) rule { return rule{list, NotCompared, nothing, reason} }

const (
	notStated  = "configuration not stated"
	production = "a daily average of production: neither the load nor the lengths are those of a run"
	otherTool  = "a statement about another program"
	follows    = "follows from the time beside it"
	noSkew     = "how unevenly a model routes real tokens is not predicted"
	noNIC      = "no system with this NIC"
)

// rules are tried in order until one matches; they see a row's description, not its figure.
var rules = []rule{
	// What is no measurement of a deployment.
	skip(otherTool, in("metric", `claimed_|third_party|derived_from|stated_target|user_report|MAPE|TTFT error|runtime$`)),
	skip("another program's prediction", in("metric", `infersim$|predicted`)),
	skip("a headline: the same source has the figures with their configurations", in("metric", `headline`)),
	skip("the figure of DeepSeek's profile, which stands in SGLang's table", in("source", `^InferSim`), in("model", `DeepSeek`)),
	skip("a coarser reading of charts whose figures stand in SGLang's table", in("notes", `^about`)),
	skip(production, in("source", `production`)),
	skip(production, in("parallelism", `production|fleet`)),
	skip("a setting, not a measurement", in("metric", `^profile_config`)),
	skip("a price", in("metric", `^cost|revenue|margin`)),
	skip("how many drafted tokens are accepted is put in, not predicted", in("metric", `accept`)),
	skip(noSkew, in("metric", `balancedness`)),
	skip("versions of software, not configurations", in("metric", `^software`)),

	// Where a row does not say what was measured, or of what.
	skip("requests come at a rate and not from clients that wait: no open loop is predicted", in("concurrency_or_batch", `req/s`)),
	skip(notStated+": the lengths of requests are not given", in("isl", `ShareGPT|prompt`)),
	skip(notStated+": the layout is another program's choice", in("parallelism", `top2 config`)),
	skip(notStated+": neither the processors nor their network are named", in("hardware", `^$|not stated`)),
	skip("an architecture or a family of processors, not a system", in("hardware", `^SM\d|model not in`)),
	skip(notStated+": no unit test says over how many processors it ran", in("parallelism", `unit test`)),
	skip("no system of this processor", in("hardware", `Xeon 6980P`)),
	skip("no system with this network", in("model", `KV transfer`)),
	skip(noNIC, in("hardware", `EFA|Pollara|Thor2`), notIn("parallelism", `intranode`)),
	skip("an earlier stage of tuning, with kernels that the same source replaced", in("parallelism", `base BF16\+fa3|\+MHA$`)),

	// Exchanges.
	skip(follows, in("metric", `rdma_bandwidth`)),
	skip(follows, in("metric", `bottleneck_bandwidth`), in("source", `^UCCL`), in("hardware", `H200|B200`)),
	{all(in("metric", `^dispatch_latency`)), Target, dispatchTime, ""},
	{all(in("metric", `^combine_latency`)), Target, combineTime, ""},
	{all(in("metric", `^dispatch_bottleneck_bandwidth`)), Target, dispatchRate, ""},
	{all(in("metric", `^combine_bottleneck_bandwidth`)), Target, combineRate, ""},

	// Parts of a layer.
	{all(in("metric", `time_per_layer_.*bubble`)), Breakdown, nothing, "a gap between overlapping parts, no part by itself"},
	{all(in("metric", `time_per_layer_.*barrier`)), Breakdown, nothing, "waiting for the slowest rank, which is not predicted by itself"},
	{all(in("metric", `time_per_layer_launch`)), Breakdown, nothing, "launches are in the times of the kernels"},
	{all(in("metric", `time_per_layer_`)), Breakdown, layerPart, ""},

	// Which of two is faster.
	{all(in("metric", `^order_output`)), Order, outputRate, ""},

	// Ratios.
	{all(in("metric", `^eplb_speedup`)), Relation, nothing, noSkew},
	{all(in("metric", `^(prefill.*)(speedup|gain|ratio)`)), Relation, prefillRate, ""},
	{all(in("metric", `^output.*(speedup|gain|ratio)`)), Relation, outputRate, ""},
	{all(in("metric", `speedup|gain|ratio`)), Relation, decodeRate, ""},

	// Throughputs and latencies.
	{all(in("metric", `^prefill_(throughput|tgs_actual)`)), Target, prefillRate, ""},
	{all(in("metric", `^decode_(throughput|tgs_actual)`)), Target, decodeRate, ""},
	{all(in("metric", `^output_throughput`)), Target, outputRate, ""},
	{all(in("metric", `^per_user_output_throughput`)), Target, userRate, ""},
	{all(in("metric", `^avg_request_latency`)), Target, requestTime, ""},
}

// classify decides how a row is treated, what is predicted of it, or why nothing is. A row that
// states too little is not compared, whatever it is of.
func classify(row inputs) (class Class, asks quantity, reason string) {
	for i := range rules {
		r := &rules[i]
		if !r.matches(row) {
			continue
		}
		if r.asks != nothing {
			if _, err := sides(row, r.asks); err != nil {
				return NotCompared, nothing, notStated + ": " + err.Error()
			}
		}
		return r.class, r.asks, r.reason
	}
	return NotCompared, nothing, fmt.Sprintf("nothing here predicts %q", row.get("metric"))
}

func (r *rule) matches(row inputs) bool {
	for _, w := range r.where {
		if w.pattern.MatchString(row.get(w.column)) == w.absent {
			return false
		}
	}
	return true
}
