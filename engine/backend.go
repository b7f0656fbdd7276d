package engine

// API is the format of requests and answers.
type API int

const (
	Completions API = iota // OpenAI's
	Chat                   // OpenAI's, of messages
	Generate               // SGLang's own
)

// Path of requests.
func (a API) Path() string {
	return map[API]string{Completions: "/v1/completions", Chat: "/v1/chat/completions", Generate: "/generate"}[a]
}

// Backend is a kind of server, as benchmarks call it.
type Backend struct {
	Name  string
	API   API
	Port  int    // default
	Flush string // path that empties its prefix cache, if any
	Info  string // path of its launch settings, if any
}

// Backends of sglang.bench_serving that generate text over HTTP, and openai for any other server.
// Source: sgl-project/sglang, python/sglang/benchmark/serving.py.
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

func BackendNames() (out []string) {
	for i := range Backends {
		out = append(out, Backends[i].Name)
	}
	return out
}

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
