package published

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"throughline/engine"
	"throughline/estimate"
	"throughline/internal/question"
	"throughline/model"
	"throughline/plan"
)

// config is a deployment as a row states it, and what is asked of it.
type config struct {
	asks  quantity
	point question.Question // without its layout
	cut   layout
	// redundant copies of experts, where the source has them and they fill the groups evenly.
	redundant int
	simulated bool     // drafts that nobody made: longer batches stood for them
	saturated bool     // as many sequences as find room
	part      string   // of a layer
	unit      string   // of the figure, as the program has it
	counted   counted  // of an exchange, what its bandwidth counts
	library   string   // that exchanges, where it is not the one whose kernels were measured
	run       run      // a benchmark that is simulated; without requests none is
	others    []config // layouts of which the best counts besides
}

// layout is how processors share a model, in the words of the sources.
type layout struct {
	dp, tp, ep, etp int
	attentionDP     bool // of experts: every tensor-parallel rank is a replica of attention
}

func (l layout) procs() int { return l.dp * l.tp }

// choice is a value for the rows that match.
type choice struct {
	where []where
	value string
}

// choose is the value of the first choice that matches.
func choose(row inputs, list []choice) string {
	for i := range list {
		r := rule{where: list[i].where}
		if r.matches(row) {
			return list[i].value
		}
	}
	return ""
}

var systems = []choice{
	{all(in("parallelism", `H800|DeepSeek profile`)), "H800"}, // beside figures of an H100
	{all(in("hardware", `H800`)), "H800"},
	{all(in("hardware", `GB200`)), "GB200_NVL72"},
	{all(in("hardware", `B200`)), "B200"},
	{all(in("hardware", `H200`)), "H200"},
	{all(in("hardware", `H100`)), "H100_SXM"},
	{all(in("hardware", `H20-96G|^H20$`)), "H20_96G"},
	{all(in("hardware", `H20-3e`)), "H20_141G"},
	{all(in("hardware", `MI300X`)), "MI300X"},
	{all(in("hardware", `MI355X`)), "MI355X"},
	{all(in("hardware", `Ascend 910C`)), "Ascend_910C"},
}

// models are names that lead to no file of the catalogue by themselves.
var models = []choice{
	{all(in("model", `^DeepSeek-V3`)), "DeepSeek-V3"}, // R1 has the same shape
	{all(in("model", `^DeepSeek.R1`)), "DeepSeek-R1"},
	{all(in("model", `Llama.*405B`)), "Llama-3.1-405B"},
	{all(in("model", `Llama.*3\.3 70B`)), "Llama-3.1-70B"},
	{all(in("model", `Llama.*Maverick`)), "Llama-4-Maverick-17B-128E"},
}

var engines = []choice{
	{all(in("source", `TensorRT-LLM`)), "trtllm"},
	{all(in("parallelism", `DeepSeek profile|DeepSeek's own`)), engine.Generic.Name},
	{all(in("parallelism", `^TensorRT-LLM`)), "trtllm"}, // side of a note on several engines
	{all(in("parallelism", `^vLLM`), in("notes", `vLLM 0\.[89]\b`)), "vllm@0.9"},
	{all(in("parallelism", `^vLLM`)), "vllm"},
	{all(in("parallelism", `^SGLang`), in("notes", `SGLang 0\.4\.7\b`)), "sglang@0.4.8"},
	{all(in("parallelism", `^SGLang`), in("notes", `SGLang 0\.4\b`)), "sglang@0.4"},
	// Of May 2025, then of May to September 2025.
	{all(in("source", `^SGLang PD|inference notes`), in("hardware", `^H100`)), "sglang@0.4.6"},
	{all(in("source", `SGLang|InferSim|inference notes`)), "sglang@0.4"},
	{nil, engine.Generic.Name},
}

// libraries that have numbers of their own (collective/libraries).
var libraries = []choice{{all(in("source", `UCCL`)), "uccl"}}

// TensorRT-LLM's figures on Hopper keep these two models' cache in 16 bits (its own notes); gpt-oss
// has four-bit weights everywhere.
var (
	weights = []choice{
		{all(in("model", `gpt-oss`)), "fp4"}, {all(in("precision", `W4A8`)), "w4a8"}, {all(in("precision", `FP4`)), "fp4"}, {all(in("precision", `FP8`)), "fp8"},
		{all(in("precision", `BF16`)), "bf16"},
	}
	caches = []choice{
		{all(in("precision", `FP8 (attn/)?KV`)), "fp8"},
		{all(in("parallelism", `FP8 MLA|fa3-fp8|all opts|InferX`)), "fp8"},
		{all(in("precision", `BF16 (attn|attention|MLA|KV)|FP16 KV`)), "bf16"},
		{all(in("parallelism", `BF16 MLA`)), "bf16"},
		{all(in("model", `gpt-oss|DeepSeek.R1`), in("hardware", `^H[12]00`)), "bf16"},
	}
	// "NVFP4 quantization is fused into it alongside the original FP8, halving the required network
	// traffic."
	dispatches = []choice{{all(in("source", `^SGLang GB200 NVL72 part 2`), in("precision", `NVFP4`)), "nvfp4"}}
	attentions = []choice{
		{all(in("precision", `FP8 attn`)), "fp8"},
		{all(in("parallelism", `FP8 MLA|fa3-fp8|all opts|InferX`)), "fp8"},
	}
)

// overlaps of exchanges with computation, by row; DeepSeek's own profile has two micro-batches
// (github.com/deepseek-ai/profile-data).
var overlaps = []choice{
	{all(in("parallelism", `no TBO|TBO off`)), ""},
	{all(in("parallelism", `\bTBO|DeepSeek profile`)), plan.TwoBatch.String()},
	// Whole layers in its breakdowns are of runs with overlap: 1.49 ms · 61 layers for 256 tokens
	// is 22.5k per node.
	{all(in("source", `^SGLang PD`), in("metric", `time_per_layer`)), plan.TwoBatch.String()},
	// What SGLang's page on GB200 compares with is that of its runs on 72 H100, with overlap.
	{all(in("source", `^SGLang GB200`), in("hardware", `^H100`)), plan.TwoBatch.String()},
	// By the launch commands of these two sources.
	{all(in("source", `^SGLang GB200 NVL72 part 2`), in("metric", `^decode`)), plan.SingleBatch.String()},
	{all(in("source", `^SGLang Kimi-K2`)), plan.TwoBatch.String()},
	{all(in("parallelism", `\bSBO|all opts|InferX`)), plan.SingleBatch.String()},
}

// popularities: SGLang's H100 runs, compared with DeepSeek's profile in the notes, routed real
// texts with EPLB's copies unless even routing was simulated. Those on GB200 "follow our previous
// blogs to let data be in-distribution"; Kimi-K2's has "the same benchmark setup". Others sent
// random or balanced tokens.
var popularities = []choice{
	{all(in("parallelism", `perfect EPLB|profile`)), ""},
	{all(in("source", `^SGLang PD`)), "served"},
	{all(in("source", `^SGLang (GB200|Kimi-K2)`)), "served"},
	{all(in("source", `inference notes`), in("url", `large-scale-ep`), in("parallelism", `\bEP\d`), notIn("parallelism", `simulated`)), "served"},
}

// scattered: ranks that share a prompt each compute the latent vectors of their tokens
// (github.com/sgl-project/sglang/pull/10568).
var scattered = []choice{{all(in("parallelism", `\+QKV`)), "yes"}}

// backends of attention that differ from the version's default here: SGLang's MLA in 2024 and
// January 2025 ("MLA optimization is turned on. Use triton backend.",
// python/sglang/srt/model_executor/model_runner.py of 0.3.5 to 0.4.1).
var backends = []choice{{all(in("parallelism", `attention in Triton`)), "triton"}}

// rates are what the tokens per second of a figure are of.
var rates = []choice{
	{all(in("metric", `per_user`)), allGPUs},
	{all(in("metric", `latency_ms$`)), "ms"},
	{all(in("metric", `per_gpu`)), perGPU},
	// Two layouts are compared per GPU.
	{all(in("unit", `/GPU|/rank|/NPU|^x$|^%$`)), perGPU},
	{all(in("unit", `/node`)), perNodeOf8},
	{nil, allGPUs},
}

// Units of rates.
const allGPUs, perGPU, perNodeOf8 = "tok/s", "tok/s/GPU", "tok/s/node"

// drafts are the tokens drafted per step; some sources also count the token already there.
var drafts = []struct {
	pattern *regexp.Regexp
	less    int // than the number it finds
	number  int // where it finds none
}{
	{folded(`no MTP`), 0, 0},
	{folded(`draft=?(\d)`), 1, 0},
	{folded(`(\d)-token topk`), 1, 0},
	{folded(`MTP=(\d)`), 0, 0},
	{folded(`simulated MTP|only with MTP|all opts`), 0, 1},
	{folded(`decode: DeepSeek profile`), 0, 1}, // as the notes on its throughput say
}

// accepted is the tokens of a step with so many drafts that a source states, where its rows do not.
var accepted = []struct {
	source  *regexp.Regexp
	lengths map[int]float64
}{
	{folded(`^SGLang PD|inference notes`), map[int]float64{1: 1.7}},  // "70% acceptance assumed"
	{folded(`Ant Group`), map[int]float64{1: 1.85, 2: 2.55, 3: 3.1}}, // the middle of its ranges
}

// layouts are tried one after another.
var layouts = []struct {
	pattern *regexp.Regexp
	of      func(n []int, gpus int, phase string) layout
}{
	{folded(`\bDP(\d+) TP(\d+) EP(\d+)`), func(n []int, _ int, _ string) layout { return layout{n[0], n[1], n[2], n[0] * n[1] / n[2], false} }},
	{folded(`\bDEP(\d+)`), func(n []int, _ int, _ string) layout { return wide(n[0]) }},
	{folded(`\bTP(\d+) EP(\d+)`), func(n []int, _ int, _ string) layout { return layout{1, n[0], n[1], n[0] / n[1], false} }},
	{folded(`\bEP(\d+)`), func(n []int, _ int, _ string) layout { return wide(n[0]) }},
	{folded(`(\d+)P:(\d+)D`), func(n []int, _ int, phase string) layout {
		if phase == "prefill" {
			return wide(8 * n[0])
		}
		return wide(8 * n[1])
	}},
	{folded(`\bTP(\d+) \+ DP attention`), func(n []int, _ int, _ string) layout { return layout{n[0], 1, 1, n[0], false} }},
	{folded(`\bTP(\d+)`), func(n []int, _ int, _ string) layout { return layout{1, n[0], 1, n[0], true} }},
	{folded(`\d+ nodes|DP attn`), func(_ []int, gpus int, _ string) layout { return wide(gpus) }},
	{folded(`single GPU|1 GPU`), func([]int, int, string) layout { return wide(1) }},
}

// wide is attention replicas around experts that are spread over all of them.
func wide(n int) layout { return layout{n, 1, n, 1, false} }

var (
	tokensOf   = folded(`(?:(\d+)x)?(\d+) tok`)
	sequences  = folded(`(?:(\d+)x)?(\d+) req`)
	clientsOf  = folded(`(?:concurrency|batch) (\d+)`)
	runningOf  = folded(`\((\d+)/rank\)`)
	stepsOf    = folded(`max_num_tokens (\d+)`)
	requestsIn = folded(`concurrency \d+, (\d+) requests`)
	atOnce     = folded(`(\d+) requests at once, weights and cache in (0\.\d+) of the memory`)
	contextOf  = folded(`\bKV(\d+)`)
	redundants = folded(`(\d+) redundant`)
	acceptedOf = folded(`accept len ([\d.]+)(?:-([\d.]+))?`)
	prefillOf  = folded(`(?:^|;\s*)P:?\s+([^;]*)`)
	decodeOf   = folded(`(?:^|;\s*)D:?\s+([^;]*)`)
	partOf     = regexp.MustCompile(`time_per_layer_(\w+?)(?:_core)?$`)
)

// sides are the deployments of a row: one, or the two of a ratio separated by " vs ".
func sides(row inputs, asks quantity) ([]config, error) {
	if !strings.Contains(row.get("parallelism"), " vs ") {
		c, err := readAny(row, asks)
		return []config{c}, err
	}
	var out []config
	var errs []error
	for side := range 2 {
		one := row
		for _, column := range []string{"hardware", "num_gpus", "parallelism", "precision", "isl", "osl", "concurrency_or_batch"} {
			first, second, two := strings.Cut(row.get(column), " vs ")
			switch {
			case side == 0 || !two:
				one = one.with(column, first)
			case second == "none": // the last thing named, left out
				one = one.with(column, first[:max(0, strings.LastIndex(first, ";"))]).with("notes", "")
			default:
				one = one.with(column, second)
			}
		}
		c, err := readAny(one, asks)
		out, errs = append(out, c), append(errs, err)
	}
	return out, errors.Join(errs...)
}

// read takes a row apart. The error is what it does not say.
func read(row inputs, asks quantity) (config, error) {
	c := config{asks: asks, point: question.Default(), unit: choose(row, rates)}
	phase := phaseOf(row, asks)
	row = row.with("parallelism", of(phase, row.get("parallelism"))).with("concurrency_or_batch", of(phase, row.get("concurrency_or_batch")))
	var missing []string
	note := func(what string) { missing = append(missing, what) }

	p := &c.point
	p.Phase, p.Engine = question.Phase(phase), choose(row, engines)
	if p.Model = choose(row, models); p.Model == "" {
		name, ok := model.Catalogue.Name(row.get("model"))
		if !ok {
			note(fmt.Sprintf("no model %q in the catalogue", row.get("model")))
		}
		p.Model = name
	}
	if p.System = choose(row, systems); p.System == "" {
		note(fmt.Sprintf("no system for %q", row.get("hardware")))
	}
	if p.System == "GB200_NVL72" {
		p.GPUsPerNode = 4
	}
	p.Formats = question.Formats{Weights: choose(row, weights), Cache: choose(row, caches), Attention: choose(row, attentions), Dispatch: choose(row, dispatches)}
	p.Overlap, p.Popularity = choose(row, overlaps), choose(row, popularities)
	p.SequenceParallel = choose(row, scattered) != ""
	p.Traffic.Attention = choose(row, backends)
	var found bool
	if c.cut, found = layoutOf(row, phase); !found || c.cut.procs() < 1 {
		note("no layout")
	}
	c.redundant = cmp.Or(firstNumber(redundants, row.get("parallelism")+" "+row.get("notes")), parseCount(choose(row, copies)))
	c.drafting(row)
	if err := c.work(row); err != nil {
		note(err.Error())
	}
	if len(missing) > 0 {
		return c, errors.New(strings.Join(missing, ", "))
	}
	return c, nil
}

// copies are the redundant experts that a source's launch commands ask for, if rows do not say.
var copies = []choice{
	// The notes name none where they compare engines.
	{all(in("source", `inference notes`), notIn("url", `large-scale-ep`)), "0"},
	{all(in("source", `^SGLang PD|inference notes|^DeepSeek`)), "32"},
	{all(in("source", `^SGLang GB200`), in("metric", `^prefill`), in("precision", `NVFP4`)), "0"},
	{all(in("source", `^SGLang GB200`)), "32"},
	// As many as ranks; in decode 96, as its row says.
	{all(in("source", `^SGLang Kimi-K2`), in("metric", `^prefill`)), "32"},
}

// stepTokens are the tokens a rank prefills at a time, if rows do not say: chunked-prefill-size of
// the launch commands over their data-parallel size. SGLang on GB200: 65536 over 4 and 131072 over
// 8, at most 16384 (github.com/sgl-project/sglang/issues/10903); Kimi-K2: 524288 over 32
// (github.com/sgl-project/ome, kimi-k2-pd-rt.yaml); Ant Group: 16384
// (github.com/antgroup/sglang/pull/4).
var stepTokens = []choice{{all(in("source", `^SGLang GB200 NVL72 part 2|^SGLang Kimi-K2|Ant Group`)), "16384"}}

// graphSequences are a rank's decoding sequences, if rows do not say: cuda-graph-bs at launch.
var graphSequences = []choice{
	{all(in("source", `^SGLang GB200 NVL72 part 2`), in("precision", `BF16 attn`), in("isl", `^2000$`)), "768"},
}

// phaseOf is the phase that bare steps are of; none where clients are asked.
func phaseOf(row inputs, asks quantity) string {
	switch asks {
	case prefillRate:
		return "prefill"
	case decodeRate:
		return "decode"
	case layerPart:
		if strings.HasPrefix(row.get("metric"), "prefill") {
			return "prefill"
		}
		return "decode"
	case dispatchTime, combineTime, dispatchRate, combineRate:
		// Kernels for low latency are those of decode.
		if strings.Contains(row.get("source"), "low-latency") {
			return "decode"
		}
		return "prefill"
	}
	return ""
}

// of is what a text says of a phase, where it tells them apart.
func of(phase, text string) string {
	pattern := prefillOf
	if phase == "decode" {
		pattern = decodeOf
	}
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

func layoutOf(row inputs, phase string) (layout, bool) {
	text := row.get("parallelism")
	for i := range layouts {
		m := layouts[i].pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		var n []int
		for _, digits := range m[1:] {
			v, _ := strconv.Atoi(digits)
			n = append(n, v)
		}
		gpus := firstNumber(folded(`(\d+)`), row.get("num_gpus"))
		l := layouts[i].of(n, gpus, phase)
		// Tensor-parallel ranks that are replicas of attention, in expert models.
		l.attentionDP = l.attentionDP && strings.Contains(row.get("notes"), "MoE: enable_attention_dp")
		return l, true
	}
	return layout{}, false
}

func (c *config) drafting(row inputs) {
	text := row.get("parallelism") + "; " + row.get("notes")
	for _, d := range drafts {
		m := d.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		c.point.Drafts = d.number
		if len(m) > 1 {
			n, _ := strconv.Atoi(m[1])
			c.point.Drafts = max(0, n-d.less)
		}
		break
	}
	if c.point.Phase == "prefill" {
		c.point.Drafts = 0
	}
	if c.point.Drafts == 0 {
		return
	}
	c.simulated = strings.Contains(text, "simulated MTP")
	if m := acceptedOf.FindStringSubmatch(text); m != nil {
		low, _ := strconv.ParseFloat(m[1], 64)
		high, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			high = low
		}
		c.accept((low + high) / 2)
		return
	}
	for _, a := range accepted {
		if a.source.MatchString(row.get("source")) {
			c.accept(a.lengths[c.point.Drafts])
			return
		}
	}
}

// accept takes the tokens of a step with drafts as a source states them; 0: it does not.
func (c *config) accept(length float64) {
	if length == 0 || c.point.Phase == "" {
		return
	}
	var shares []string
	for _, share := range estimate.EqualShares(length, c.point.Drafts) {
		shares = append(shares, strconv.FormatFloat(share, 'g', -1, 64))
	}
	c.point.Acceptance = strings.Join(shares, ",")
}

// work reads the lengths and how much is under way at a time.
func (c *config) work(row inputs) error {
	p := &c.point
	load := row.get("concurrency_or_batch")
	isl, osl := parseCount(row.get("isl")), parseCount(row.get("osl"))
	switch c.asks {
	case dispatchTime, combineTime, dispatchRate, combineRate:
		return c.exchange(row)
	case outputRate, userRate, requestTime:
		if isl == 0 || osl == 0 {
			return errors.New("no lengths of requests")
		}
		p.Input, p.Output = isl, osl
		return c.clients(load)
	}
	if c.asks == layerPart {
		c.part = partOf.FindStringSubmatch(row.get("metric"))[1]
	}
	if p.Phase == "prefill" {
		if isl == 0 {
			return errors.New("no length of prompts")
		}
		p.Input, p.Output = isl, 1
		tokens := cmp.Or(product(tokensOf, load), parseCount(choose(row, stepTokens)))
		if tokens == 0 {
			e, err := engine.Find(p.Engine)
			if err != nil {
				return err
			}
			tokens = e.Scheduling.StepTokens // what a server of the engine computes at a time
		}
		p.Batch = max(1, tokens/isl)
		return nil
	}
	switch kv := firstNumber(contextOf, row.get("parallelism")); {
	case isl > 0 && osl > 0:
		p.Input, p.Output = isl, osl
	case cmp.Or(isl, kv) > 0:
		p.Context = cmp.Or(isl, kv)
	case strings.Contains(row.get("parallelism"), "DeepSeek profile"):
		p.Context = 4096 // github.com/deepseek-ai/profile-data: "prompt length 4K"
	default:
		return errors.New("no context")
	}
	p.Batch = cmp.Or(product(sequences, load), product(sequences, row.get("parallelism")), parseCount(choose(row, graphSequences)))
	if p.Batch == 0 {
		// The sources that leave it out ran their decode servers full.
		p.Batch, c.saturated = 1, true
		if p.Output == 0 {
			return errors.New("no batch")
		}
	}
	return nil
}

// clients reads how many wait for answers, or the requests of a benchmark.
func (c *config) clients(load string) error {
	p := &c.point
	if n := firstNumber(clientsOf, load); n > 0 {
		p.Concurrency = n
		p.Traffic.StepTokens, p.Traffic.Sequences = firstNumber(stepsOf, load), firstNumber(runningOf, load)
		if requests := firstNumber(requestsIn, load); requests > 0 {
			c.run = run{requests: requests, clients: n}
		}
		return nil
	}
	if m := atOnce.FindStringSubmatch(load); m != nil {
		c.run.requests = parseCount(m[1])
		c.run.static, _ = strconv.ParseFloat(m[2], 64)
		return nil
	}
	if !strings.Contains(load, "max load") {
		return errors.New("no number of clients")
	}
	c.run.requests = cmp.Or(requestsOf[[2]int{p.Input, p.Output}], usualRequests)
	return nil
}

// exchange reads the tokens a rank sends: a prompt of that length, or that many decoding sequences.
func (c *config) exchange(row inputs) error {
	p := &c.point
	tokens := product(tokensOf, row.get("concurrency_or_batch"))
	if tokens == 0 {
		return errors.New("no tokens of a rank")
	}
	if p.Phase == "prefill" {
		p.Input, p.Output, p.Batch = tokens, 1, 1
	} else {
		p.Context, p.Batch = 2, tokens
	}
	// Results come back in 16 bits; tokens go out as the row says.
	p.Formats.Dispatch, p.Formats.Combine = "bf16", "bf16"
	if strings.Contains(row.get("precision"), "FP8") {
		p.Formats.Dispatch = "fp8"
	}
	narrow := p.Formats.Dispatch == "fp8" && (c.asks == dispatchTime || c.asks == dispatchRate)
	c.library = choose(row, libraries)
	p.Formats.Weights = cmp.Or(p.Formats.Weights, "fp8")
	c.counted = counted{tokens: float64(tokens), ranks: c.cut.ep, narrow: narrow, limited: strings.Contains(row.get("notes"), "top-4 groups")}
	return nil
}

// parseCount is a positive whole number, else 0.
func parseCount(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// firstNumber is the number that a pattern finds, 0 where it finds none.
func firstNumber(pattern *regexp.Regexp, text string) int {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	return parseCount(m[1])
}

// product is the number that a pattern finds, times the one before it: 2x64.
func product(pattern *regexp.Regexp, text string) int {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	return max(1, parseCount(m[1])) * parseCount(m[2])
}
