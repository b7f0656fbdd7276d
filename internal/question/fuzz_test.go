package question

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"throughline/internal/files"
	"throughline/internal/secret"
	"throughline/internal/test/damage"
)

// FuzzURL: an address that is accepted can be asked below its path, and shows no password.
func FuzzURL(f *testing.F) {
	damage.Add(f, "http://127.0.0.1:8000", "https://user:s3cret@host:1/v1", "http://[::1%25eth0]:80/", "HTTP://a.b/c%2Fd")
	f.Fuzz(func(t *testing.T, src []byte) {
		text := string(src)
		if checkURL(text) != nil {
			return
		}
		r, err := http.NewRequest("GET", strings.TrimSuffix(text, "/")+"/v1/models", nil)
		if err != nil || r.URL.RawQuery != "" || r.URL.Fragment != "" || !strings.HasSuffix(r.URL.Path, "/v1/models") {
			t.Errorf("%q: %+v %v", text, r, err)
		}
		u, _ := url.Parse(text)
		if word, ok := u.User.Password(); ok && len(word) > 3 && !strings.Contains(u.Host+u.Path, word) && strings.Contains(secret.Shown(text), word) {
			t.Errorf("%q shows the password: %q", text, secret.Shown(text))
		}
	})
}

// FuzzFrom: a row of a file that plan might have written becomes words of settings, or is refused.
func FuzzFrom(f *testing.F) {
	damage.Add(f, `{"question": {"model": "Llama-3.1-8B", "system": "H200", "tpot": "p99:50ms"}, "ranked": [{"mode": "agg", "engine": "vllm", "gpus": 2, "concurrency": 8, "decode": {"plan": "dp1·pp1·tp2", "instances": 1, "batch": 8, "tp": 2}}], "frontier": [{}]}`,
		`{"question": {"pool": "H200:1,L40S:2"}, "ranked": [{"mode": "disagg", "prefill": {"system": "H200"}, "decode": {"system": "L40S"}}]}`)
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, row := range []string{"", "#1", "#f1", "#0", "#-1"} {
			q := Question{In: files.Held(map[string][]byte{"plan.json": src})}
			if err := q.TakeRow("plan.json"+row, func(string) bool { return false }); err == nil && (row == "#0" || row == "#-1") {
				t.Errorf("there is a row %s", row)
			}
		}
	})
}
