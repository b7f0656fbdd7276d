package web

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Requests of a part of a run are those that came then, the longest TTFT first; one of them has its
// steps, of which those before its first token and its wait are its TTFT.
func TestRequests(t *testing.T) {
	s := patient()
	const path = "/load/requests?isl=512&model=llama_3_8b&num-prompts=60&osl=16&rate=20&system=H200&tp=1&between="
	all := get(s, "GET", path+"0:100&request=7", nil)
	if all.Code != 200 || !strings.Contains(all.Body.String(), ": 60, the longest TTFT first") {
		t.Fatalf("status %d: %.300s", all.Code, all.Body)
	}
	body := all.Body.String()
	row := regexp.MustCompile(`data-request="(\d+)">\d+</a></th><td class="num">[^<]+</td><td class="num">512</td><td class="num">16</td><td class="num">([\d.]+ \S+)</td><td class="num">([\d.]+) ms</td>`)
	last, sum := 1e9, 0
	for _, m := range row.FindAllStringSubmatch(body, -1) {
		ttft, err := strconv.ParseFloat(m[3], 64)
		if err != nil || ttft > last {
			t.Errorf("request %s: TTFT %s ms after one of %v", m[1], m[3], last)
		}
		last = ttft
	}
	if n := len(row.FindAllString(body, -1)); n != mostListed {
		t.Errorf("%d rows", n)
	}
	parts := 0
	for _, part := range []string{"0:30", "30:60", "60:100"} {
		got := get(s, "GET", path+part, nil).Body.String()
		_, n, _ := strings.Cut(got, ": ")
		n, _, _ = strings.Cut(n, ",")
		parts, _ = strconv.Atoi(n)
		sum += parts
	}
	if sum != 60 {
		t.Errorf("the parts have %d requests", sum)
	}
	says := regexp.MustCompile(`Steps that ran while request 7 was there: (\d+); those before its first token took ([\d.]+) ms`).FindStringSubmatch(body)
	if says == nil {
		t.Fatal("request 7 has no steps")
	}
	if n, _ := strconv.Atoi(says[1]); n < 16 {
		t.Errorf("%d steps for 16 tokens", n)
	}
	for _, m := range row.FindAllStringSubmatch(body, -1) {
		if m[1] == "7" {
			before, _ := strconv.ParseFloat(says[2], 64)
			if ttft, _ := strconv.ParseFloat(m[3], 64); before > ttft*1.001 {
				t.Errorf("steps of %v ms before a first token after %v", before, ttft)
			}
		}
	}
	for _, wrong := range []string{"", "5", "60:10", "0:101", "NaN:5", "-1:3"} {
		if got := get(s, "GET", path+wrong, nil); got.Code != 400 {
			t.Errorf("between %q: status %d", wrong, got.Code)
		}
	}
}

// A part of the step as it is drawn: the title says it, and a chart that nobody sees is left out of
// a frame.
func TestFrameParts(t *testing.T) {
	s := patient()
	const path = "/why/frame?batch=8&model=llama_3_8b&system=H200&sys.mem1.GBps=6000"
	for see, want := range map[string][]string{"": {"tpot", "ttft", "timeline", "roofline"}, "roofline": {"roofline"}, "none": nil} {
		body := get(s, "GET", path+"&window=10:20&see="+see, nil).Body.String()
		for _, id := range []string{"tpot", "ttft", "timeline", "roofline"} {
			wanted := strings.Contains(fmt.Sprint(want), id)
			if got := strings.Contains(body, `"`+id+`": "`); got != wanted {
				t.Errorf("of %q %s is drawn: %v", see, id, got)
			}
		}
		if strings.Contains(body, "From ") != (see == "") || !strings.Contains(body, "was") {
			t.Errorf("of %q: %.200s", see, body)
		}
	}
}
