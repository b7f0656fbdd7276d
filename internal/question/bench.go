package question

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/secret"
	"throughline/workload"
)

// Measuring is what is asked of a benchmark of a server, besides the traffic.
type Measuring struct {
	Backend, BaseURL, Host string
	Port                   int // 0: where servers of the backend usually listen
	Served                 string
	Dataset, Path          string
	Tokenizer              string // which is refused

	Groups, PerGroup, System, QuestionTokens, Reply int // generated-shared-prefix

	workload.Protocol
	ChatTemplate, Separated, SelfCheck  bool
	Extra, Adapters, Headers, Good, Tag string
}

// Datasets of a benchmark.
const (
	RandomRequests = "random"
	RandomIDs      = "random-ids"
	ShareGPT       = "sharegpt"
	SharedPrefix   = "generated-shared-prefix"
	Mooncake       = "mooncake"
	TraceRequests  = "trace"
)

// Most retries of a request, and its default and shortest timeout in seconds; the default of six
// hours is that of sglang.bench_serving.
const (
	mostRetries  = 1000
	usualTimeout = 6 * 60 * 60
	leastTimeout = 1e-3
)

// measured holds the defaults of a benchmark. They follow sglang.bench_serving, except that lengths
// are fixed as in simulations and requests are random instead of downloaded.
var measured = Measuring{
	Backend: engine.Backends[0].Name, Host: "127.0.0.1", Dataset: RandomRequests, Protocol: workload.Protocol{Warmup: 1, Timeout: usualTimeout},
	Groups: 64, PerGroup: 16, System: 2048, QuestionTokens: 128, Reply: 256,
}

// ofDataset is a setting that only some datasets have.
func ofDataset(names ...string) reason {
	return func(l *Loaded, _ Command) string {
		if name := l.DatasetName(); !slices.Contains(names, name) {
			return fmt.Sprintf("only dataset %s has it, not %s", strings.Join(names, " or "), name)
		}
		return ""
	}
}

// DatasetName is the dataset: that of a trace, where one is given.
func (q *Question) DatasetName() string {
	if q.Traffic.Trace != "" {
		return TraceRequests
	}
	return q.Dataset
}

func drawnArrivals(l *Loaded, _ Command) string {
	if name := l.DatasetName(); name == Mooncake || name == TraceRequests {
		return "requests come as the trace has them"
	}
	return ""
}

func checkObject(text string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return fmt.Errorf("must be an object in JSON, like {\"top_p\": 0.9}: %w", err)
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("must be an address like http://127.0.0.1:8000, not %q", secret.Shown(text))
	case strings.ContainsAny(text, "?#"):
		return errors.New("must be an address without ? and #, as paths are put behind it; keys go into a header")
	}
	return nil
}

func checkHeader(text string) error {
	// It may be a secret, and is not repeated.
	name, value, ok := strings.Cut(text, "=")
	switch {
	case !ok || !headerName.MatchString(name):
		return errors.New("must be like Name=value, with = between them and only letters, digits and - in the name")
	case strings.ContainsFunc(value, unicode.IsControl):
		return errors.New("must be like Name=value, on one line")
	}
	return nil
}

// headerName is the name of a header: a token of HTTP (RFC 9110, 5.6.2).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// goodputs are what single requests may be held to, as vllm bench serve calls it.
var goodputs = []string{"ttft:", "tpot:", "e2el:"}

func checkGoodput(text string) error {
	_, err := GoodputOf(text)
	return err
}

// Goodput is limits on single requests, in seconds; 0: none.
type Goodput struct{ TTFT, TPOT, E2E float64 }

// GoodputOf reads per-request limits such as ttft:2000,tpot:50ms; bare numbers are milliseconds.
func GoodputOf(text string) (l Goodput, err error) {
	for _, word := range Words(text) {
		name, value, _ := strings.Cut(word, ":")
		ref, ok := map[string]*float64{"ttft": &l.TTFT, "tpot": &l.TPOT, "e2el": &l.E2E}[name]
		if !ok {
			return l, errors.New(document.NotOneOf(name, []string{"ttft", "tpot", "e2el"}) + ": give a figure and a time, like ttft:2000 or tpot:50ms")
		}
		ms, err := workload.ParseTime(value, milliseconds)
		if err != nil || !(ms > 0 && ms <= mostMilliseconds) {
			return l, fmt.Errorf("%q must be a time above 0 and at most %d ms, like 2s, 50ms or 2000 for milliseconds", word, mostMilliseconds)
		}
		*ref = ms / 1e3
	}
	return l, nil
}

// ofBenchmarks are the settings of a benchmark, named as in sglang.bench_serving where it has them.
var ofBenchmarks = []Setting{
	{Name: "backend", For: Bench, Choices: engine.BackendNames(),
		Doc: "API and usual port of the server: " + strings.Join(engine.BackendNames(), ", "),
		Ref: func(q *Question) any { return &q.Backend }},
	{Name: "base-url", For: Bench, Check: checkURL,
		Doc: "address of the server, like http://host:8000, in place of host and port",
		Ref: func(q *Question) any { return &q.BaseURL }},
	{Name: "host", For: Bench,
		Doc: "host of the server",
		Ref: func(q *Question) any { return &q.Host }, Idle: unless(func(l *Loaded) bool { return l.BaseURL == "" }, "base-url says it")},
	{Name: "port", For: Bench, Low: 1, High: 65535, Optional: true,
		Doc: "port of the server (default: that of the backend)",
		Ref: func(q *Question) any { return &q.Port }, Idle: unless(func(l *Loaded) bool { return l.BaseURL == "" }, "base-url says it")},
	{Name: "model", For: Bench,
		Doc: "name of the model in requests (default: the first that the server lists)",
		Ref: func(q *Question) any { return &q.Served }},
	{Name: "tokenizer", For: Bench, Check: func(string) error {
		return errors.New("is not read: there is no tokenizer here, tokens are counted by the usage that the server sends; leave it out")
	},
		Doc: "refused: tokens are counted by the server's usage",
		Ref: func(q *Question) any { return &q.Tokenizer }},
	{Name: "dataset-name", For: Bench, Choices: []string{RandomRequests, RandomIDs, ShareGPT, SharedPrefix, Mooncake, TraceRequests},
		Doc: "requests: random, random-ids, sharegpt (a JSON file), generated-shared-prefix, mooncake or trace (a file with arrivals)",
		Ref: func(q *Question) any { return &q.Dataset }},
	{Name: "dataset-path", Opens: true, For: Bench,
		Doc: "file of the dataset sharegpt, mooncake or trace; plain or .gz",
		Ref: func(q *Question) any { return &q.Path }, Idle: ofDataset(ShareGPT, Mooncake, TraceRequests)},
	{Name: "trace", Opens: true, For: Bench,
		Doc: "file of requests with their arrivals: Mooncake (JSON lines), Azure or Vidur (CSV); the same as dataset-name trace and dataset-path",
		Ref: func(q *Question) any { return &q.Traffic.Trace }},
	{Name: "num-prompts", For: Bench, Low: 1, High: mostPrompts,
		Doc: "requests; conversations where these have several turns (of a trace: all, unless given)",
		Ref: func(q *Question) any { return &q.Traffic.Requests }, Idle: unless(func(l *Loaded) bool { return l.DatasetName() != SharedPrefix }, "groups and prompts of a group say it")},
	{Name: "request-rate", Aliases: []string{"rate"}, For: Bench, Low: leastRate, High: mostRate, Infinite: true, Unit: "requests/s",
		Doc: "requests per second, or inf for all at once; of a trace, the mean rate it is played at; of max-rate, the first to try",
		Ref: func(q *Question) any { return &q.Traffic.Rate }},
	{Name: "max-concurrency", Aliases: []string{"concurrency"}, For: Bench, Low: 1, High: mostTokens, Optional: true,
		Doc: "requests under way at most; at an infinite rate, clients that each wait for an answer before the next request (default: any number)",
		Ref: func(q *Question) any { return &q.Concurrency }},
	{Name: "arrival", For: Bench, Choices: []string{"poisson", "gamma:", "constant", "bursts:"}, Open: true,
		Check: func(text string) error { _, err := workload.ParseArrival(text); return err },
		Doc:   "how requests come: poisson, gamma:CV, constant or bursts:N",
		Ref:   func(q *Question) any { return &q.Traffic.Arrival },
		Idle:  either(drawnArrivals, unless(finiteRate, "at an infinite rate all requests come at once"))},
	{Name: "random-input-len", Aliases: []string{"isl"}, For: Bench, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "input tokens of a request (default 1024)",
		Ref: func(q *Question) any { return &q.Input }, Idle: ofDataset(RandomRequests, RandomIDs)},
	{Name: "random-output-len", Aliases: []string{"osl"}, For: Bench, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "output tokens of a request (default 1024)",
		Ref: func(q *Question) any { return &q.Output }, Idle: ofDataset(RandomRequests, RandomIDs)},
	{Name: "random-range-ratio", For: Bench, Low: 0, High: 1,
		Doc: "lengths are spread evenly from this share of the input and output tokens to all of them; 1: fixed",
		Ref: func(q *Question) any { return &q.Traffic.Ratio }, Idle: ofDataset(RandomRequests, RandomIDs, SharedPrefix)},
	{Name: "sharegpt-output-len", For: Bench, Low: 4, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "output tokens of a request, in place of those of the file",
		Ref: func(q *Question) any { return &q.FixedOutput }, Idle: ofDataset(ShareGPT)},
	{Name: "sharegpt-context-len", For: Bench, Low: 1, High: mostTokens, Optional: true, Unit: "tokens",
		Doc: "conversations of the file with more tokens than this are left out",
		Ref: func(q *Question) any { return &q.Longest }, Idle: ofDataset(ShareGPT)},
	{Name: "gsp-num-groups", For: Bench, Low: 1, High: mostPrompts,
		Doc: "groups of requests that share a prefix",
		Ref: func(q *Question) any { return &q.Groups }, Idle: ofDataset(SharedPrefix)},
	{Name: "gsp-prompts-per-group", For: Bench, Low: 1, High: mostPrompts,
		Doc: "requests of a group, on average",
		Ref: func(q *Question) any { return &q.PerGroup }, Idle: ofDataset(SharedPrefix)},
	{Name: "gsp-system-prompt-len", For: Bench, Low: 1, High: mostTokens, Unit: "tokens",
		Doc: "tokens of the prefix that a group shares",
		Ref: func(q *Question) any { return &q.Measuring.System }, Idle: ofDataset(SharedPrefix)},
	{Name: "gsp-question-len", For: Bench, Low: 1, High: mostTokens, Unit: "tokens",
		Doc: "tokens behind that prefix",
		Ref: func(q *Question) any { return &q.QuestionTokens }, Idle: ofDataset(SharedPrefix)},
	{Name: "gsp-output-len", For: Bench, Low: 1, High: mostTokens, Unit: "tokens",
		Doc: "output tokens of these requests",
		Ref: func(q *Question) any { return &q.Reply }, Idle: ofDataset(SharedPrefix)},
	{Name: "turns", For: Bench, Low: 1, High: mostSteps,
		Doc: "turns of a conversation, each prompt being all that was said before and the input tokens more",
		Ref: func(q *Question) any { return &q.Traffic.Turns }, Idle: ofDataset(RandomRequests, RandomIDs)},
	{Name: "think-time", For: Bench, Low: 0, High: mostSeconds, Unit: seconds,
		Doc: "time from an answer to the next turn, like 2s; a bare number is seconds",
		Ref: func(q *Question) any { return &q.Traffic.Think }, Idle: unless(turns, "a conversation has one turn")},
	{Name: "disable-stream", For: Bench,
		Doc: "ask for whole answers: the first token comes with the last",
		Ref: func(q *Question) any { return &q.DisableStream }},
	{Name: "disable-ignore-eos", For: Bench,
		Doc: "let answers end where the model ends them",
		Ref: func(q *Question) any { return &q.DisableIgnoreEOS }},
	{Name: "return-logprob", For: Bench,
		Doc: "ask for the probabilities of tokens, too",
		Ref: func(q *Question) any { return &q.ReturnLogprob }},
	{Name: "extra-request-body", For: Bench, Check: checkObject,
		Doc: "object in JSON whose members go into every request, in place of the usual ones",
		Ref: func(q *Question) any { return &q.Extra }},
	{Name: "header", For: Bench, List: Text, Check: checkHeader,
		Doc: "headers of every request, like Name=value; OPENAI_API_KEY or API_KEY of the environment is sent as Authorization",
		Ref: func(q *Question) any { return &q.Headers }},
	{Name: "lora-name", For: Bench, List: Text,
		Doc: "LoRA adapters, one of which every request names, at random",
		Ref: func(q *Question) any { return &q.Adapters }},
	{Name: "prompt-suffix", For: Bench,
		Doc: "text behind every prompt that is text",
		Ref: func(q *Question) any { return &q.Suffix }},
	{Name: "tokenize-prompt", For: Bench,
		Doc: "prompts must be token ids; a server that takes none is an error (usual: words for such a server)",
		Ref: func(q *Question) any { return &q.OnlyIDs }, Idle: ofDataset(RandomRequests, RandomIDs, SharedPrefix, Mooncake, TraceRequests)},
	{Name: "apply-chat-template", For: Bench,
		Doc: "refused: a backend whose name ends in -chat has the server apply it",
		Ref: func(q *Question) any { return &q.ChatTemplate }},
	{Name: "pd-separated", For: Bench,
		Doc: "the server has pools of prefill and decode, which its answers to bench do not depend on",
		Ref: func(q *Question) any { return &q.Separated }, Idle: func(*Loaded, Command) string { return "a server is measured alike, whatever its pools" }},
	{Name: "profile", For: Bench,
		Doc: "start SGLang's profiler before the run, and stop it afterwards",
		Ref: func(q *Question) any { return &q.Measuring.Profile }},
	{Name: "flush-cache", For: Bench,
		Doc: "empty the prefix cache of the server after the warm-up",
		Ref: func(q *Question) any { return &q.Flush }},
	{Name: "warmup-requests", For: Bench, Low: 0, High: mostPrompts,
		Doc: "requests before those that are measured; 0: none is sent, also none that tells how many tokens a word has",
		Ref: func(q *Question) any { return &q.Warmup }},
	{Name: "retries", For: Bench, Low: 0, High: mostRetries,
		Doc: "further tries of a request that was refused (429, 502, 503, 504) or whose connection failed before an answer",
		Ref: func(q *Question) any { return &q.Retries }},
	{Name: "timeout", For: Bench, Low: leastTimeout, High: mostSeconds, Unit: seconds,
		Doc: "the longest that a request may take, like 30s; a bare number is seconds",
		Ref: func(q *Question) any { return &q.Timeout }},
	{Name: "ttft", For: Bench, Check: checkLimit,
		Doc: "limit on the time to the first token, like p99:2s; a bare number is milliseconds, of p99",
		Ref: func(q *Question) any { return &q.Traffic.TTFT }},
	{Name: "tpot", For: Bench, Check: checkLimit,
		Doc: "limit on the time per output token, like p95:50ms",
		Ref: func(q *Question) any { return &q.Traffic.TPOT }},
	{Name: "goodput", For: Bench, List: Text, Choices: goodputs, Open: true, Check: checkGoodput,
		Doc: "limits on single requests, like ttft:2000,tpot:50ms: how many requests keep them is shown; e2el is the whole request",
		Ref: func(q *Question) any { return &q.Good }},
	{Name: "max-rate", For: Bench,
		Doc: "find the highest rate at which the limits hold and the queue does not grow",
		Ref: func(q *Question) any { return &q.Traffic.MaxRate }},
	{Name: "self-check", For: Bench,
		Doc: "measure this program itself: it sends max-concurrency requests (default 1000) to a server of its own, which writes a token every 100 ms to each, and tells how late it reads them",
		Ref: func(q *Question) any { return &q.SelfCheck }},
	{Name: "seed", For: Bench, Low: 0, High: mostSeed,
		Doc: "of the random numbers: prompts, lengths, arrivals",
		Ref: func(q *Question) any { return &q.Traffic.Seed }},
	{Name: "tag", For: Bench,
		Doc: "a word for the result",
		Ref: func(q *Question) any { return &q.Tag }},
}

// ofBench are settings of a benchmark that cannot be given together.
var ofBench = []conflict{
	{Bench, "apply-chat-template", func(q *Question) bool { return q.ChatTemplate },
		"needs a tokenizer, and there is none here; a backend whose name ends in -chat has the server apply its template"},
	{Bench, "dataset-path", func(q *Question) bool { return q.Path != "" && q.Traffic.Trace != "" },
		"says the same as trace; give one of them"},
	{Bench, "dataset-path", func(q *Question) bool {
		return q.Path == "" && q.Traffic.Trace == "" && slices.Contains([]string{ShareGPT, Mooncake, TraceRequests}, q.Dataset)
	},
		missing + "the file of the dataset; nothing is downloaded"},
	{Bench, "goodput", func(q *Question) bool { return q.Good != "" && (q.Traffic.TTFT != "" || q.Traffic.TPOT != "") },
		"and the limits ttft and tpot both say which requests are good; give one of them"},
	{Bench, "max-rate", func(q *Question) bool { return q.Traffic.MaxRate && q.Concurrency > 0 },
		"asks for a rate, which max-concurrency bounds; give one of them"},
	{Bench, "max-rate", func(q *Question) bool { return q.Traffic.MaxRate && q.Traffic.TTFT == "" && q.Traffic.TPOT == "" },
		"needs a limit that the rate must hold: ttft, tpot"},
	{Bench, "tokenize-prompt", func(q *Question) bool { return q.OnlyIDs && strings.HasSuffix(q.Backend, "-chat") },
		"does not go with a chat API, which takes text"},
	{Bench, "tokenize-prompt", func(q *Question) bool { return q.OnlyIDs && q.Traffic.Turns > 1 },
		"does not go with turns: what was answered is text"},
	{Bench, "flush-cache", func(q *Question) bool { return q.Flush && strings.HasPrefix(q.Backend, "openai") },
		"needs a backend whose way to do that is known: sglang, vllm or lmdeploy"},
}
