package web

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Every row of a plan can be pinned and explained, those of two pools and of fewer GPUs than were
// asked for, too: it has an answer in all views, and the figure of the plan beside it. A pin
// without an answer says so and leaves the others.
func TestRowsArePinned(t *testing.T) {
	s := patient()
	const plan = "/choose?gpus=5&isl=1024&model=llama_3_8b&osl=64&system=H200&tpot=30ms"
	body := get(s, "GET", plan, nil).Body.String()
	row := regexp.MustCompile(`data-pin="([^"]+)".*?<td class="num key">([\d.]+)<`)
	rows := row.FindAllStringSubmatch(body, -1)
	if len(rows) < 4 || !strings.Contains(body, "disaggregated") {
		t.Fatalf("%d rows", len(rows))
	}
	for _, m := range rows {
		to := html.UnescapeString(m[1])
		at, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		pinned := get(s, "GET", to, nil)
		if pinned.Code != 200 || strings.Contains(pinned.Body.String(), "has no answer") || !strings.Contains(pinned.Body.String(), `<span class="num">`+m[2]+"</span>") {
			t.Errorf("%s has no answer of %s tokens/s/GPU: status %d", at.Query().Get("pin"), m[2], pinned.Code)
		}
		if why := led(s, "/why?"+at.Query().Get("pin")); why.Code != 200 {
			t.Errorf("%s is not explained: status %d: %.200s", at.Query().Get("pin"), why.Code, why.Body)
		}
	}
	got := led(s, plan+"&pin=model%3Dllama_3_8b%26system%3DH200%26tp%3D7&pin="+url.QueryEscape("batch=4&isl=1024&model=llama_3_8b&osl=64&system=H200"))
	if got.Code != 200 || strings.Count(got.Body.String(), "has no answer") != 1 || strings.Count(got.Body.String(), `class="pin p`) != 2 {
		t.Errorf("a pin without an answer: status %d", got.Code)
	}
}
