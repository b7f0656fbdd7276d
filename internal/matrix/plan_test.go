package matrix

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"throughline/internal/advice"
	"throughline/internal/files"
	"throughline/internal/page"
	"throughline/internal/question"
	"throughline/internal/rawdata"
)

// TestOfPlan: each row of a plan that a script on one node launches becomes a server and its client
// under the load that it was planned for, in a file that is read without a problem; others are left
// out by name.
func TestOfPlan(t *testing.T) {
	of := func(words map[string]string) (*File, []string, *advice.Plans) {
		t.Helper()
		p, _, err := advice.Ask(question.NewQuery(files.Machine, question.Plan, words))
		if err == nil {
			err = p.Search(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		f, leftOut, err := OfPlan(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Servers)+len(leftOut) != len(p.Ranked) || len(f.Clients) != len(f.Servers) {
			t.Errorf("%v: %d rows, %d servers, %d clients, %q", words, len(p.Ranked), len(f.Servers), len(f.Clients), leftOut)
		}
		return f, leftOut, p
	}
	f, _, p := of(map[string]string{"model": "Llama-3.1-8B", "system": "H200", "engine": "vllm", "gpus": "2", "isl": "1000", "osl": "100", "top": "2", "mode": "agg"})
	if len(f.Servers) == 0 {
		t.Fatal("no row of a plan on two GPUs is launched")
	}
	for i := range f.Servers {
		row := slices.IndexFunc(p.Ranked, func(c advice.Candidate) bool {
			return fmt.Sprint(c.Load.Clients) == string(f.Clients[i].Bench["max-concurrency"])
		})
		c := &f.Clients[i]
		if row < 0 || c.Bench["num-prompts"] != wordOf(8*p.Ranked[row].Load.Clients) || c.Bench["random-input-len"] != "1000" || c.Bench["random-output-len"] != "100" || c.Bench["backend"] != "vllm" {
			t.Errorf("%s: %v", c.Name, c.Bench)
		}
		s := &f.Servers[i]
		if !slices.Equal(c.Servers, []string{s.Name}) || s.Ready.URL != s.URL+"/health" || s.Deployment["model"] != "Llama-3.1-8B" || !strings.Contains(strings.Join(s.Command.Words, " "), "vllm serve") {
			t.Errorf("%+v", s)
		}
	}
	var text bytes.Buffer
	if err := Write(&text, f); err != nil {
		t.Fatal(err)
	}
	if _, warnings, err := Read("plan.yaml", text.Bytes()); err != nil || len(warnings) > 0 {
		t.Errorf("%v %v\n%s", warnings, err, &text)
	}
	if _, leftOut, _ := of(map[string]string{"model": "Llama-3.1-405B", "system": "H100_SXM", "engine": "vllm", "gpus": "16", "isl": "1000", "osl": "100", "top": "1", "mode": "agg"}); len(leftOut) != 1 || !strings.HasPrefix(leftOut[0], "row 1 is left out: ") {
		t.Errorf("two nodes: %q", leftOut)
	}
}

// combinations are results that are added up by hand: two that are done, predicted 10% too long and
// 30% too short, one without a prediction, one that failed.
func combinations() []Result {
	result := func(server string, verdict Verdict, throughput, tpot, predicted float64, why string) Result {
		row := rawdata.NewRow()
		if verdict == Done {
			row.Set("Output throughput", throughput)
			row.Set("TPOT", tpot)
		}
		return Result{Outcome: &Outcome{Server: server, Client: "c", Verdict: verdict, ServerCommand: "serve " + server, Began: time.Unix(0, 0)}, Row: row, Predicted: Prediction{TPOT: predicted, Why: why}}
	}
	failed := result("d", Failed, 0, 0, 9, "")
	failed.Problem = "the client ended with 3"
	return []Result{result("a", Done, 900, 10, 11, ""), result("b", Done, 1000, 20, 14, ""), result("c", Done, 800, 30, 30, "no reason"), failed}
}

// TestSentences: how many ran, which is best, how far off predictions are.
func TestSentences(t *testing.T) {
	all := combinations()
	for _, c := range []struct {
		of   []Result
		want string
	}{
		{nil, "0 of 0 combinations are done."},
		{all[3:], "0 of 1 combinations are done."},
		{all[:1], "1 of 1 combinations are done. Most output tokens/s, 900, has a with c: TPOT is 10 ms. The prediction of TPOT is off by 10%."},
		{all, "3 of 4 combinations are done. Most output tokens/s, 1000, has b with c: TPOT is 20 ms. Predictions of TPOT are off by 20% in the median of 2, at most by 30%."},
	} {
		if got := strings.Join(sentences(c.of), " "); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
	if got := Unpredicted(append(all, all[2])); !slices.Equal(got, []string{"no prediction where no reason"}) {
		t.Errorf("%q", got)
	}
}

// TestPage: a report has what went wrong, where something did, and each combination with its
// commands.
func TestPage(t *testing.T) {
	r := &Runner{Dir: "here"}
	all := combinations()
	titles := func(p *page.Page) (out []string) {
		for _, s := range p.Sections {
			out = append(out, s.Title)
		}
		return out
	}
	if got := titles(r.page(all)); !slices.Equal(got, []string{"Combinations", "What went wrong", "The combinations one by one"}) {
		t.Errorf("%q", got)
	}
	well := r.page(all[:2])
	if got := titles(well); !slices.Equal(got, []string{"Combinations", "The combinations one by one"}) {
		t.Errorf("%q", got)
	}
	each := well.Sections[1].Folded
	if len(each) != 2 || each[1].Title != "b, c" || !slices.Equal(each[1].Code, []string{"serve b"}) || each[0].Text[0] != "Began 1970-01-01 00:00:00 UTC." {
		t.Errorf("%+v", each)
	}
}
