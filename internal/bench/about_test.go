package bench

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
)

// TestServerInfo: a server of an engine that tells about itself is asked, how many of its drafts it
// accepts, too; others are asked nothing.
func TestServerInfo(t *testing.T) {
	for backend, want := range map[string]float64{"sglang": 2.5, "vllm": 0} {
		server, asked := &toy{}, atomic.Int32{}
		r := measured(t, options(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Path != "/v1/models" {
				asked.Add(1)
				if r.URL.Path == "/server_info" {
					io.WriteString(w, `{"internal_states":[{"avg_spec_accept_length":2.5}]}`)
					return
				}
			}
			server.ServeHTTP(w, r)
		}), backend))
		if r.Accepted != want || (r.ServerInfo != nil) != (want > 0) || (asked.Load() > 0) != (want > 0) {
			t.Errorf("%s: asked %d times, %s, %v tokens of a step, want %v", backend, asked.Load(), r.ServerInfo, r.Accepted, want)
		}
	}
}
