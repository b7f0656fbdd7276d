package web

import (
	"bufio"
	"encoding/json"
	"html/template"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"throughline/internal/question"
)

// A form leads to the shortest address that says the same.
func TestAddresses(t *testing.T) {
	s := patient()
	for given, want := range map[string]string{
		"/choose?system=H200&model=llama_3_8b&gpus=1&isl=&mode=both&engine=any": "/choose?gpus=1&model=llama_3_8b&system=H200",
		"/why?model=llama_3_8b&system=H200&set=sys.mem1.GBps%3D6000&tp=1":       "/why?model=llama_3_8b&sys.mem1.GBps=6000&system=H200",
		"/load?request-rate=5&model=llama_3_8b&system=H200":                     "/load?model=llama_3_8b&rate=5&system=H200",
	} {
		if got := get(s, "GET", given, nil); got.Code != 303 || got.Header().Get("Location") != want {
			t.Errorf("%s: status %d to %s, not %s", given, got.Code, got.Header().Get("Location"), want)
		}
	}
}

// All problems are told at once, with near misses, and the form keeps what was typed.
func TestWrongWords(t *testing.T) {
	got := get(patient(), "GET", "/choose?gpuz=3&gpus=-1&model=llama_3_8b&system=H201&tpot=soon", nil)
	body := got.Body.String()
	for _, want := range []string{"unknown setting gpuz; did you mean gpus?", "H201", "tpot", "must be from 1 to", `value="soon"`, `value="-1"`, `value="H201"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
	if got.Code != 400 {
		t.Errorf("status %d", got.Code)
	}
	none := get(patient(), "GET", "/choose?gpus=1&model=DeepSeek-V3&system=L4", nil)
	if none.Code != 200 || !strings.Contains(none.Body.String(), "do not fit into") {
		t.Errorf("no plan: status %d", none.Code)
	}
}

// An answer that tells its progress ends in the same bytes.
func TestEvents(t *testing.T) {
	s := patient()
	const path = "/api/v1/plan?gpus=1&mode=agg&engine=vllm&model=llama_3_8b&system=H200&isl=64&osl=4&top=1"
	want := get(s, "GET", path, nil).Body.String()
	got := get(s, "GET", path, nil, header("Accept", eventStream))
	var answer strings.Builder
	event, told := "", 0
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			event = text
		case event == "progress" && name == "data":
			var p struct {
				Phase       string
				Parts, Done int
			}
			if err := json.Unmarshal([]byte(text), &p); err != nil || p.Phase == "" {
				t.Errorf("progress %q: %v", text, err)
			}
			told++
		case event == "answer" && strings.HasPrefix(lines.Text(), "data:"):
			answer.WriteString(text + "\n")
		}
	}
	if answer.String() != want || told == 0 {
		t.Errorf("%d messages, an answer of %d bytes, not %d", told, answer.Len(), len(want))
	}
}

// A question as an object, several at once, and lists.
func TestPrograms(t *testing.T) {
	s := patient()
	one := get(s, "POST", "/api/v1/estimate", strings.NewReader(`{"model": "llama_3_8b", "system": "H200", "batch": 4, "sp": true, "set": ["sys.mem1.GBps=6000"]}`))
	same := get(s, "GET", "/api/v1/estimate?model=llama_3_8b&system=H200&batch=4&sp=true&sys.mem1.GBps=6000", nil)
	if one.Code != 200 || one.Body.String() != same.Body.String() {
		t.Errorf("an object: status %d, %d and %d bytes", one.Code, one.Body.Len(), same.Body.Len())
	}
	several := get(s, "GET", "/api/v1/scan?command=estimate&model=llama_3_8b&system=H200&batch=1,4,16", nil)
	var points struct{ Points []json.RawMessage }
	if err := json.Unmarshal(several.Body.Bytes(), &points); err != nil || len(points.Points) != 3 {
		t.Errorf("a scan: status %d, %d points, %v", several.Code, len(points.Points), err)
	}
	if many := get(s, "GET", "/api/v1/scan?command=estimate&model=llama_3_8b&system=H200&batch=1:400&isl=1:400", nil); many.Code != 400 || !strings.Contains(many.Body.String(), "100000") {
		t.Errorf("160,000 points: status %d: %.200s", many.Code, many.Body)
	}
	for path, want := range map[string]string{"models": "DeepSeek-V3", "systems": "H200", "engines": "sglang", "diff?a=H100_SXM&b=H200": "mem1.GBps", "compare?measured=tpot%3D10ms&model=llama_3_8b&system=H200": "causes"} {
		if got := get(s, "GET", "/api/v1/"+path, nil); got.Code != 200 || !strings.Contains(got.Body.String(), want) || !json.Valid(got.Body.Bytes()) {
			t.Errorf("%s: status %d: %.200s", path, got.Code, got.Body)
		}
	}
}

// Every word of the page is in the table of its other language.
func TestWordsOfThePage(t *testing.T) {
	said := regexp.MustCompile(`\.T "([^"]+)"`)
	entries, err := sources.ReadDir("views")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		src, err := sources.ReadFile("views/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllStringSubmatch(string(src), -1) {
			n++
			if inChinese[m[1]] == "" {
				t.Errorf("%s: %q has no Chinese word", e.Name(), m[1])
			}
		}
		if regexp.MustCompile(`\sstyle=|\son[a-z]+="|<script>|javascript:`).Match(src) {
			t.Errorf("%s: style or script stands inside, which the policy forbids", e.Name())
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`\.(?:say|tell)\("([^"]+)"`)
	for _, name := range sources {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range told.FindAllStringSubmatch(string(src), -1) {
			if inChinese[m[1]] == "" {
				t.Errorf("%s: %q has no Chinese word", name, m[1])
			}
		}
	}
	for _, e := range examples {
		if inChinese[e.Question] == "" || inChinese[e.About] == "" {
			t.Errorf("%q, %q have no Chinese words", e.Question, e.About)
		}
	}
	for _, v := range views {
		for _, p := range v.pieces {
			if p.before != "" && inChinese[p.before] == "" {
				t.Errorf("%s: %q has no Chinese word", v.path, p.before)
			}
		}
		if inChinese[v.title] == "" {
			t.Errorf("%q has no Chinese word", v.title)
		}
	}
	if n < 80 {
		t.Errorf("only %d words", n)
	}
	if got := get(patient(), "GET", "/", nil, header("Accept-Language", "zh-CN,zh;q=0.9")); !strings.Contains(got.Body.String(), "您想知道什么") {
		t.Error("who prefers Chinese gets English")
	}
}

// The line below a page asks the same.
func TestCommandLines(t *testing.T) {
	words := map[string]string{"model": "a b", "prefill-plan": "2x dp8 ep8", "sp": "true", "set": "sys.networks[0].bandwidth=x2"}
	got := explaining.command(words)
	for _, want := range []string{"throughline explain", " --model 'a b'", " --prefill-plan '2x dp8 ep8'", " --sp", " --set 'sys.networks[0].bandwidth=x2'"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s has no %s", got, want)
		}
	}
	if back := question.FromParameters(encoded(words)); back["prefill-plan"] != words["prefill-plan"] || back["set"] != words["set"] {
		t.Errorf("a pin says %v", back)
	}
}

// FuzzAddress: no address ends the server, and the shortest one stays as it is.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"gpus=8&model=x", "sys.mem1.GBps=1&pin=a%3Db&pin=&row=f9", "set=a=b,,&vary=;;&=&%zz", "tpot=%00&lang=zh", "pin=x&pin=x&pin=x&pin=x&pin=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, v := range views {
			r := httptest.NewRequest("GET", "/"+v.path, nil)
			r.URL.RawQuery = query
			st := v.read(r)
			to, err := url.Parse(st.address())
			if err != nil {
				t.Fatalf("%q becomes %q: %v", query, st.address(), err)
			}
			again := httptest.NewRequest("GET", "/"+v.path, nil)
			again.URL = to
			if st.wrong == nil && v.of != question.Command(0) {
				if twice := v.read(again).address(); twice != st.address() {
					t.Fatalf("%q becomes %q and then %q", query, st.address(), twice)
				}
			}
		}
	})
}

// TestFormsKeepTheQuestion: a form sends all words of its question again, once: those that it asks
// for, and those that pages have other ways for.
func TestFormsKeepTheQuestion(t *testing.T) {
	s := patient()
	for _, asked := range []string{
		"/chips?batch=16&model=Llama-3.1-8B&system=H200&vary=sys.mem1.GBps%3Dx0.5:x2:3&where=tpot%3C50ms",
		"/map?gpus=8&isl=512,1024&link=isl,osl&model=Llama-3.1-8B&osl=100,200&system=H200",
		"/choose?gpus=8&model=Llama-3.1-8B&system=H200&top=3",
	} {
		of, err := url.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		body := get(s, "GET", asked, nil).Body.String()
		for name, values := range of.Query() {
			if n := strings.Count(body, ` name="`+name+`"`); n != 1 {
				t.Errorf("%s: %d fields are called %s", asked, n, name)
			}
			if !strings.Contains(body, `value="`+template.HTMLEscapeString(values[0])+`"`) {
				t.Errorf("%s: no field has %s", asked, values[0])
			}
		}
	}
}
