package bench

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"throughline/serving/simulate"
	"throughline/workload"
)

// few are four requests, whose figures are added up by hand in the tests. The first was due at 0
// and sent 0.5 s later, 0.4 s of it for want of a client.
func few() []*Done {
	return []*Done{
		{Ended: simulate.Ended{ID: 0, Arrival: 0, Scheduled: 0.5, First: 1, Finish: 2.5, Input: 10, Output: 4}, Requested: 4, Counted: true,
			Chunks: 3, Cached: 5, Retries: 1, Gaps: []Gap{{0.5, 2}, {1, 1}}, held: 0.4, Text: "a b c d"},
		{Ended: simulate.Ended{ID: 2, Arrival: 1, Scheduled: 1, First: 1.25, Finish: 2.25, Input: 10, Output: 2}, Requested: 3, Chunks: 2, Resent: 2, Gaps: []Gap{{1, 0}}},
		{Ended: simulate.Ended{ID: 1, Arrival: 1.5, Scheduled: 1.75, Finish: 2, Input: 7}, Failure: &Failure{Kind: "HTTP 500", Message: "no"}},
		{Ended: simulate.Ended{ID: 3, Arrival: 2, Scheduled: 2, First: 4, Finish: 4, Input: 20, Output: 1}, Requested: 1, Counted: true, Chunks: 1},
	}
}

func reported(o *Options, list []*Done) *Report {
	r := newReport(&Bench{o: o}, 2)
	for _, d := range list {
		r.arrived(d.Arrival, 0)
		r.add(d)
	}
	return r
}

// TestReport: the figures of a run are those of its requests.
func TestReport(t *testing.T) {
	o := &Options{BaseURL: "http://here"}
	o.Traffic.Clients = 3
	r := reported(o, few())
	got := map[string]any{}
	for _, f := range r.Fields() {
		if got[f.Name] = f.Value; f.Value != nil && reflect.TypeOf(f.Value).Kind() == reflect.Int64 {
			got[f.Name] = float64(f.Value.(int64))
		}
	}
	for name, want := range map[string]any{
		// In the second from 1 on come the first token and two more of the first request, one of the second.
		"max_output_tokens_per_s": 4.0,
		// The first until 2.5, the second until 2.25, the last from 2: the second in which one ends counts.
		"max_concurrent_requests": 3.0,
		"requests":                4.0, "failed": 1.0, "failures": map[string]int64{"HTTP 500": 1}, "retries": 1.0, "resent": 2.0, "unfinished": 0.0, "interrupted": false,
		"answers_without_usage": 1.0, "short_answers": 1.0, "chunks": 6.0, "cached_tokens": 5.0, "limits_hold": false, "base_url": "http://here",
		"max_send_delay_ms": 250.0, "max_held_ms": 400.0, "max_read_delay_ms": nil,
	} {
		if !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s is %v, not %v", name, got[name], want)
		}
	}
	if got["server_info"] != nil {
		t.Error("there is information of a server that gave none")
	}
	if late := r.Late.Mean(); late < 0.087 || late > 0.088 { // (0.1 + 0 + 0.25 + 0) / 4
		t.Errorf("sends are %g s late", late)
	}
	notes := strings.Join(r.Notes(), "\n")
	for _, want := range []string{
		"failed: 1 of 4 requests: HTTP 500: no", "retries: 1;", "over a new connection, as the server had closed the old one: 2", "tokens: 1 answers had no usage",
		"1 answers have fewer tokens", "prefix cache: 12.5% of the prompt tokens", "held back as all clients were busy, which the times include: p50", "at most 400.00 ms", "at most 250.00 ms",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
	if !r.TooManyFailed() {
		t.Error("one of four failed")
	}
	r.sent = 100 // of which 1 is not beyond 1%
	if r.TooManyFailed() {
		t.Error("one of a hundred failed")
	}
}

// TestKinds: the most frequent failure comes first, then by name.
func TestKinds(t *testing.T) {
	r := &Report{Failures: map[string]*Failures{"b": {Count: 1}, "c": {Count: 3}, "a": {Count: 1}, "d": {Count: 2}}}
	if got := strings.Join(r.Kinds(), ""); got != "cdab" {
		t.Error(got)
	}
}

// TestHopeless: a trial is given up with the request after which the limits cannot hold, and not one
// earlier: of four, half may be beyond a median, and one more for the quantile's own place.
func TestHopeless(t *testing.T) {
	median := workload.Limit{Share: 0.5, Seconds: 1}
	for name, set := range map[string]struct {
		terms workload.Terms
		d     simulate.Ended
	}{
		"TTFT": {workload.Terms{TTFT: median}, simulate.Ended{Arrival: 1, First: 2.5, Finish: 3, Output: 3}},
		"TPOT": {workload.Terms{TPOT: median}, simulate.Ended{Arrival: 1, First: 1.5, Finish: 4, Output: 3}},
	} {
		o := &Options{}
		o.Terms = set.terms
		r := newReport(&Bench{o: o}, 1)
		r.trial, r.toSend = true, 4
		within := simulate.Ended{Arrival: 1, First: 2, Finish: 4, Output: 3} // 1 s each
		var ended []bool
		for _, e := range []simulate.Ended{set.d, within, set.d, set.d, set.d} {
			ended = append(ended, r.add(&Done{Ended: e, Counted: true, Requested: 3}))
		}
		if !slices.Equal(ended, []bool{false, false, false, false, true}) {
			t.Errorf("%s: %v", name, ended)
		}
		if r.trial = false; r.add(&Done{Ended: set.d}) {
			t.Errorf("%s: a run that is no trial ends", name)
		}
	}
	failed := &Done{Failure: &Failure{Kind: "HTTP 500"}}
	if r := newReport(&Bench{o: &Options{}}, 1); r.add(failed) {
		t.Error("a failure ends a run that is no trial")
	}
	r := newReport(&Bench{o: &Options{}}, 1)
	if r.trial = true; !r.add(failed) {
		t.Error("a failure does not end a trial")
	}
}

// TestBeyond: an answer is cut at bounds that no model reaches, and not before.
func TestBeyond(t *testing.T) {
	full := func(change func(*answer, *chunk)) (failed bool) {
		a, k := &answer{most: 2, chunks: 2, keep: true, all: strings.Repeat("a", 300)}, &chunk{prompt: mostPrompt, cached: mostPrompt, answer: 2}
		a.text.WriteString(strings.Repeat("b", 200))
		k.text, k.second = make([]byte, 10), make([]byte, 2) // 512 bytes in all: 256 a token
		change(a, k)
		return a.beyond(k) != nil
	}
	for name, change := range map[string]func(*answer, *chunk){
		"prompt": func(_ *answer, k *chunk) { k.prompt++ },
		"cached": func(_ *answer, k *chunk) { k.cached++ },
		"tokens": func(_ *answer, k *chunk) { k.answer++ },
		"chunks": func(a *answer, _ *chunk) { a.chunks++ },
		"text":   func(a *answer, _ *chunk) { a.text.WriteByte('b') },
		"all":    func(a *answer, _ *chunk) { a.all += "a" },
		"first":  func(_ *answer, k *chunk) { k.text = append(k.text, 'c') },
		"second": func(_ *answer, k *chunk) { k.second = append(k.second, 'c') },
	} {
		if !full(change) {
			t.Errorf("%s: one more is taken", name)
		}
	}
	if full(func(*answer, *chunk) {}) {
		t.Error("an answer at its bounds is refused")
	}
	if full(func(a *answer, k *chunk) { a.keep = false; k.text = make([]byte, 1000) }) {
		t.Error("text that is not kept is bounded")
	}
	if full(func(a *answer, k *chunk) { a.most, a.chunks, k.answer = 0, 1000, 1000; k.text = make([]byte, 1000) }) {
		t.Error("an answer of any length is bounded by tokens")
	}
	for most, want := range map[int]int{0: mostAnswer, 3: 3 * longestToken, mostAnswer: mostAnswer} {
		if got := (&answer{most: most}).mostText(); got != want {
			t.Errorf("%d tokens may have %d bytes, not %d", most, got, want)
		}
	}
}

// TestDetails: files of single requests have each where its number says, with times of tokens.
func TestDetails(t *testing.T) {
	var details Details
	var lines bytes.Buffer
	rows := RowsTo("r.jsonl", &lines)
	for _, d := range few() {
		details.Add(d)
		rows.Add(d)
	}
	if err := rows.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, f := range details.Fields() {
		want := map[string]any{
			"input_lens": []int{10, 7, 10, 20}, "output_lens": []int{4, 0, 2, 1}, "ttfts": []float64{1, 0, 0.25, 2},
			"itls": [][]float64{{0.25, 0.25, 1}, {}, {1}, {}}, "generated_texts": []string{"a b c d", "", "", ""}, "errors": []string{"", "HTTP 500: no", "", ""},
		}[f.Name]
		if !reflect.DeepEqual(f.Value, want) {
			t.Errorf("%s: %v, not %v", f.Name, f.Value, want)
		}
	}
	text := strings.Split(lines.String(), "\n")
	for i, want := range []string{
		`"usage":true,"cached":5,"retries":1,"error":null,"chunks":[[1,1],[1.5,2],[2.5,1]],"text":"a b c d"}`, // 4 less 2 and 1 in the first chunk
		`"chunks":[[1.25,0],[2.25,0]]}`, // tokens of chunks are not known
		`"usage":false,"cached":0,"retries":0,"error":"HTTP 500: no","chunks":null}`,
		`"chunks":[[4,1]]}`,
	} {
		if !strings.HasSuffix(text[i], want) {
			t.Errorf("line %d is %s, not … %s", i, text[i], want)
		}
	}
}
