package question

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

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
