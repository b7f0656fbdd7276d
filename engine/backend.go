package engine

// API is how requests and answers are written.
type API int

const (
	Completions API = iota // OpenAI's
	Chat                   // OpenAI's, of messages
	Generate               // SGLang's own
)

// Path is where requests go.
func (a API) Path() string {
	return map[API]string{Completions: "/v1/completions", Chat: "/v1/chat/completions", Generate: "/generate"}[a]
}

// Backend is a kind of server, as benchmarks call it.
type Backend struct {
	Name  string
	API   API
	Port  int    // where it usually listens
	Flush string // path that empties its prefix cache; empty: there is none
	Info  string // path that tells how it was started; empty: there is none
}

// Backends are those of sglang.bench_serving that generate text over HTTP, and openai for any other server. Source:
// sgl-project/sglang, python/sglang/benchmark/serving.py.
var Backends = []Backend{
	{"sglang", Generate, 30000, "/flush_cache", "/server_info"},
	{"sglang-native", Generate, 30000, "/flush_cache", "/server_info"},
	{"sglang-oai", Completions, 30000, "/flush_cache", "/server_info"},
	{"sglang-oai-chat", Chat, 30000, "/flush_cache", "/server_info"},
	{"vllm", Completions, 8000, "/reset_prefix_cache", ""},
	{"vllm-chat", Chat, 8000, "/reset_prefix_cache", ""},
	{"lmdeploy", Completions, 23333, "/flush_cache", ""},
	{"lmdeploy-chat", Chat, 23333, "/flush_cache", ""},
	{"openai", Completions, 8000, "", ""},
	{"openai-chat", Chat, 8000, "", ""},
}

// BackendNames are what they are called.
func BackendNames() (out []string) {
	for i := range Backends {
		out = append(out, Backends[i].Name)
	}
	return out
}

// FindBackend finds one by its name.
func FindBackend(name string) (*Backend, bool) {
	for i := range Backends {
		if Backends[i].Name == name {
			return &Backends[i], true
		}
	}
	return nil, false
}

// TakesIDs reports whether prompts may be lists of token ids.
func (b *Backend) TakesIDs() bool { return b.API != Chat }

// NeedsModel reports whether requests name their model.
func (b *Backend) NeedsModel() bool { return b.API != Generate }
