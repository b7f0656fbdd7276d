package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const stagedPath = "gpus=4&isl=512&mode=agg&model=llama_3_8b&osl=32&system=H100_SXM"

// A page comes in stages: the best so far first, in the end what a page has that is answered at
// once. Figures are those of simulations in all of them.
func TestStages(t *testing.T) {
	s := patient()
	body := get(s, "GET", "/choose?"+stagedPath, nil).Body.String()
	again := get(s, "GET", "/choose?"+stagedPath, nil).Body.String()
	const begin = `<div class="stage">`
	if n := strings.Count(body, begin); n < 2 || strings.Count(again, begin) != 1 {
		t.Fatalf("%d stages, then %d", n, strings.Count(again, begin))
	}
	if body[strings.LastIndex(body, begin):] != again[strings.Index(again, begin):] {
		t.Error("the last stage is not the answer")
	}
	if !strings.HasSuffix(body, "</html>\n") || strings.Count(body, "<footer") != 1 || strings.Count(body, `class="end"`) != strings.Count(body, begin) {
		t.Error("the page is not whole")
	}
	first := strings.Split(body, begin)[1]
	if !strings.Contains(first, "data-phase") || !strings.Contains(first, "data-stop") || strings.Contains(again, "data-phase") {
		t.Error("a stage does not say that more follows, or the answer does")
	}
	for _, stage := range strings.Split(body, begin)[1:] { // the question alone comes before, on a busy machine
		if strings.Contains(stage, `class="rank"`) {
			first = stage
			break
		}
	}
	best := regexp.MustCompile(`class="num key">([\d.]+)`)
	so, in := best.FindStringSubmatch(first), best.FindStringSubmatch(again)
	a, wrongA := strconv.ParseFloat(so[1], 64)
	if b, wrongB := strconv.ParseFloat(in[1], 64); wrongA != nil || wrongB != nil || a > b {
		t.Errorf("the best so far is %v, in the end %v", so, in)
	}
}

// An event stream has the best so far as an object of the same form.
func TestSofarEvents(t *testing.T) {
	got := get(patient(), "GET", "/api/v1/plan?"+stagedPath, nil, header("Accept", eventStream)).Body.String()
	_, sofar, ok := strings.Cut(got, "event: sofar\n")
	if !ok {
		t.Fatal("nothing is told before the answer")
	}
	sofar, _, _ = strings.Cut(sofar, "\n\n")
	var plan struct {
		Partial bool
		Ranked  []struct{ TPOT float64 }
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(sofar, "data: ", "")), &plan); err != nil || !plan.Partial || len(plan.Ranked) == 0 {
		t.Errorf("so far: %v, partial %v, %d ranked", err, plan.Partial, len(plan.Ranked))
	}
}

// Who reads slowly takes no place at work, newer messages take the place of old ones, and a mistake
// in a computation is one failed request.
func TestAside(t *testing.T) {
	s := patient()
	o := newOutbox()
	reading, read := make(chan bool), make(chan bool)
	var got []string
	ended := make(chan error)
	go func() {
		ended <- s.aside(context.Background(), time.Minute, o, func(m message) {
			if got = append(got, string(m.data)); len(got) == 1 {
				close(reading)
				<-read
			}
		}, func() {}, func(context.Context) error {
			o.put(message{name: "a", data: []byte("1")})
			<-reading
			o.put(message{name: "a", data: []byte("2")})
			o.put(message{name: "a", data: []byte("3")})
			return nil
		})
	}()
	<-reading
	for end := time.Now().Add(time.Minute); len(s.work.running) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the reader keeps a place at work")
		}
	}
	close(read)
	if err := <-ended; err != nil || strings.Contains(strings.Join(got, " "), "2") {
		t.Errorf("%v, messages %v", err, got)
	}
	w := httptest.NewRecorder()
	s.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.aside(r.Context(), time.Minute, newOutbox(), func(message) {}, func() {}, func(context.Context) error { panic(errors.New("oops")) })
	})).ServeHTTP(w, func() *http.Request {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		header("Authorization", "Bearer "+testKey)(r)
		return r
	}())
	if w.Code != http.StatusInternalServerError || len(s.work.running) > 0 {
		t.Errorf("status %d, %d at work", w.Code, len(s.work.running))
	}
}
