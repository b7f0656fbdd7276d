package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"throughline/serving/simulate"
)

type Report struct {
	Seen        simulate.Seen
	Failed      int64
	Failures    map[string]*Failures // by kind
	Unfinished  int64                // when the run was interrupted
	Interrupted bool
	Retries     int64 // of requests without an answer yet
	Resent      int64 // over a new connection, as the server had closed the old one
	Uncounted   int64 // answers without usage, whose chunks count as tokens
	Short       int64 // answers with fewer tokens than requested
	Chunks      int64 // with text
	Cached      int64 // prompt tokens

	Late    simulate.Distribution // of sends, once they were due and a client was free
	Held    simulate.Distribution // of requests, for a free client
	Reading simulate.Distribution // of chunks, after the server wrote them; empty: unknown

	Began      time.Time
	Model, URL string
	ServerInfo json.RawMessage
	Accepted   float64 // tokens per step with drafts; 0: unknown

	bench    *Bench
	trial    bool
	toSend   int  // requests to send
	hopeless bool // a trial ended early as its limits could not hold
	sent     int64
	over     [2]int64 // requests beyond the limits on TTFT and TPOT
	tokens   []int64  // by second
	present  []int64  // change of the concurrency by second
}

type Failures struct {
	Count   int64
	Example string
}

func newReport(b *Bench, rate float64) *Report {
	o := b.o
	r := &Report{bench: b, Failures: map[string]*Failures{}, Began: time.Now(), Model: b.model, URL: o.BaseURL}
	r.Seen = simulate.Seen{Summary: &simulate.Summary{Limits: o.Limits}, Terms: o.Terms, NotRetokenized: true}
	r.Seen.Traffic.Rate = rate
	return r
}

func (r *Report) arrived(at float64, waiting int64) {
	r.sent++
	r.Seen.Arrived(at, waiting)
}

// add records the end of a request, and reports whether the limits can no longer hold.
func (r *Report) add(d *Done) bool {
	r.Retries += int64(d.Retries)
	r.Resent += int64(d.Resent)
	r.Late.Add(max(0, d.Scheduled-d.Arrival-d.held), 1)
	if r.bench.o.Traffic.Clients > 0 {
		r.Held.Add(d.held, 1)
	}
	if d.Failure != nil {
		r.Seen.Left(d.Finish)
		r.Failed++
		f := r.Failures[d.Failure.Kind]
		if f == nil {
			f = &Failures{Example: d.Failure.Message}
			r.Failures[d.Failure.Kind] = f
		}
		f.Count++
		return r.trial
	}
	r.Seen.Ended(&d.Ended)
	if !d.Counted {
		r.Uncounted++
	}
	if d.Output < d.Requested {
		r.Short++
	}
	r.Chunks += int64(d.Chunks)
	r.Cached += int64(d.Cached)
	at := d.First
	r.count(at, 1)
	for _, g := range d.Gaps {
		n := max(1, int(g.Tokens)) // without usage a chunk counts as a token, as in sglang.bench_serving
		r.Seen.Token(float64(g.Seconds)/float64(n), n)
		at += float64(g.Seconds)
		r.count(at, n)
	}
	grown(&r.present, d.Arrival)[int(d.Arrival)]++
	grown(&r.present, d.Finish+1)[int(d.Finish)+1]--
	return r.trial && r.beyond(d)
}

// count records tokens by second.
func (r *Report) count(at float64, n int) { grown(&r.tokens, at)[int(at)] += int64(n) }

// grown extends a list up to a second.
func grown(list *[]int64, at float64) []int64 {
	if missing := int(at) + 1 - len(*list); missing > 0 {
		*list = append(*list, make([]int64, missing)...)
	}
	return *list
}

// beyond reports whether the limits cannot hold any more, whatever the remaining requests do.
func (r *Report) beyond(d *Done) bool {
	t := &r.Seen.Terms
	if t.TTFT.Seconds > 0 && d.First-d.Arrival > t.TTFT.Seconds {
		r.over[0]++
	}
	if t.TPOT.Seconds > 0 && d.TPOT() > t.TPOT.Seconds {
		r.over[1]++
	}
	all := float64(r.toSend)
	return t.TTFT.Share > 0 && float64(r.over[0]) > (1-t.TTFT.Share)*all+1 || t.TPOT.Share > 0 && float64(r.over[1]) > (1-t.TPOT.Share)*all+1
}

// Holds reports whether the limits hold, all requests were answered, and the queue does not grow.
func (r *Report) Holds() bool {
	return !r.hopeless && !r.Interrupted && r.Failed == 0 && r.Seen.Requests > 0 && r.Seen.Holds()
}

// about queries the server about itself.
func (r *Report) about(ctx context.Context) {
	if r.bench.backend.Info == "" {
		return
	}
	var raw json.RawMessage
	if r.bench.client.ask(ctx, http.MethodGet, r.bench.backend.Info, &raw) != nil {
		return
	}
	r.ServerInfo = raw
	type states struct {
		Internal []struct {
			Accepted float64 `json:"avg_spec_accept_length"`
		} `json:"internal_states"`
	}
	var info struct {
		states
		Decode []states `json:"decode"`
	}
	if json.Unmarshal(raw, &info) != nil {
		return
	}
	if len(info.Decode) > 0 {
		info.states = info.Decode[0]
	}
	if len(info.Internal) > 0 {
		r.Accepted = info.Internal[0].Accepted
	}
}

// peaks are the most tokens of a second, and the highest concurrency in one.
func (r *Report) peaks() (tokens, requests int64) {
	for _, n := range r.tokens {
		tokens = max(tokens, n)
	}
	var now int64
	for _, n := range r.present {
		now += n
		requests = max(requests, now)
	}
	return tokens, requests
}

// Block formats the result as sglang.bench_serving does.
func (r *Report) Block() string { return r.Seen.Block() }

// Kinds of failures, the most frequent first.
func (r *Report) Kinds() []string {
	var out []string
	for kind := range r.Failures {
		out = append(out, kind)
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := r.Failures[b].Count - r.Failures[a].Count; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	return out
}

// Wrong lists requests without an answer.
func (r *Report) Wrong() []string {
	var out []string
	if r.Interrupted {
		out = append(out, fmt.Sprintf("interrupted: %d requests were under way, and are in no figure", r.Unfinished))
	}
	for _, kind := range r.Kinds() {
		f := r.Failures[kind]
		out = append(out, fmt.Sprintf("failed: %d of %d requests: %s", f.Count, r.sent, (&Failure{Kind: kind, Message: f.Example}).Error()))
	}
	if r.Retries > 0 {
		out = append(out, fmt.Sprintf("retries: %d; times count from when a request was first due", r.Retries))
	}
	if r.Resent > 0 {
		out = append(out, fmt.Sprintf("sent again over a new connection, as the server had closed the old one: %d", r.Resent))
	}
	return out
}

// Notes on how far to trust the result.
func (r *Report) Notes() []string {
	out := append(r.Wrong(), r.bench.notes...)
	note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	out = append(out, r.Seen.Growth()...)
	if r.Uncounted > 0 {
		note("tokens: %d answers had no usage; their tokens are the chunks with text", r.Uncounted)
	}
	if per := float64(r.Seen.Output) / float64(max(1, r.Chunks)); r.Seen.Requests > 0 && per > 1.02 && r.ungrouped() {
		note("chunks hold %.2f tokens on average: ITL is the time between chunks, TPOT that between tokens", per)
	}
	if r.together() {
		note("most chunks came together with the one before: something between here and the server holds them back (nginx: proxy_buffering off), and TTFT and ITL are its own")
	}
	if r.Short > 0 {
		note("%d answers have fewer tokens than were asked for", r.Short)
	}
	if r.Cached > 0 {
		note("prefix cache: %.1f%% of the prompt tokens were cached, the server says", 100*float64(r.Cached)/float64(r.Seen.Input))
	}
	out = append(out, r.Seen.Goodput()...)
	if r.Seen.Requests > 0 {
		out = append(out, r.Seen.Trust()...)
	}
	return append(out, r.Own()...)
}

// ungrouped reports whether the server does not say how many tokens its chunks hold.
func (r *Report) ungrouped() bool { return r.Seen.ITL.Weight < r.Seen.Output-r.Seen.Requests }

// together reports whether most chunks came with the one before: the median ITL is meaningless.
func (r *Report) together() bool {
	itl := &r.Seen.ITL
	return itl.Weight >= fewestGaps && itl.Quantile(0.5) <= togetherBelow*itl.Mean()
}

const (
	fewestGaps    = 20  // to judge how chunks come
	togetherBelow = 0.1 // of the mean time between tokens
)

// mostFailed is the share of failed requests beyond which the 99th percentile of all is unknown.
const mostFailed = 0.01

// TooManyFailed reports whether the measurement covers too few of the requests.
func (r *Report) TooManyFailed() bool { return float64(r.Failed) > mostFailed*float64(r.sent) }

func (r *Report) Sent() int64 { return r.sent }

// Own says how late this program itself was.
func (r *Report) Own() []string {
	var out []string
	add := func(what string, d *simulate.Distribution) {
		if d.Weight > 0 {
			out = append(out, fmt.Sprintf("%s: p50 %.2f ms, p99 %.2f ms, at most %.2f ms", what, 1e3*d.Quantile(0.5), 1e3*d.Quantile(0.99), 1e3*d.Max))
		}
	}
	add("own delay of sends, which the times include", &r.Late)
	if r.Held.Max > 0 {
		add("held back as all clients were busy, which the times include", &r.Held)
	}
	add("own delay of reading chunks, by the server's clock", &r.Reading)
	return out
}

// Fields are those of sglang's result file, and some of our own.
func (r *Report) Fields() simulate.Fields {
	out := r.Seen.Fields()
	tokens, requests := r.peaks()
	out.Set("max_output_tokens_per_s", tokens)
	out.Set("max_concurrent_requests", requests)
	if r.ServerInfo != nil {
		out.Set("server_info", r.ServerInfo)
	}
	if r.Accepted > 0 {
		out.Set("accept_length", r.Accepted)
	}
	if n := r.bench.o.FixedOutput; n > 0 {
		out.Set("sharegpt_output_len", n)
	}
	out.Set("limits_hold", r.Holds())
	failures := map[string]int64{}
	for kind, f := range r.Failures {
		failures[kind] = f.Count
	}
	add := func(name string, v any) { out = append(out, simulate.Field{Name: name, Value: v}) }
	add("requests", r.sent)
	add("failed", r.Failed)
	add("failures", failures)
	add("retries", r.Retries)
	add("resent", r.Resent)
	add("unfinished", r.Unfinished)
	add("interrupted", r.Interrupted)
	add("answers_without_usage", r.Uncounted)
	add("short_answers", r.Short)
	add("chunks", r.Chunks)
	add("cached_tokens", r.Cached)
	for _, d := range []struct {
		name string
		of   *simulate.Distribution
	}{{"send_delay", &r.Late}, {"held", &r.Held}, {"read_delay", &r.Reading}} {
		for _, q := range []struct {
			name  string
			share float64
		}{{"median", 0.5}, {"p99", 0.99}, {"max", 1}} {
			var value any
			if d.of.Weight > 0 {
				value = 1e3 * d.of.Quantile(q.share)
			}
			add(q.name+"_"+d.name+"_ms", value)
		}
	}
	add("model", r.Model)
	add("base_url", r.URL)
	add("began", r.Began.UTC().Format(time.RFC3339))
	add("seed", r.Seen.Traffic.Seed)
	return out
}
