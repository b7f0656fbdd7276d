package engine

import (
	"fmt"
	"strconv"
	"strings"

	"throughline/deploy"
)

// Round robin, since prices assume roundRobin loaded servers.
const roundRobin = "round_robin"

// sglangRouter is SGLang's own.
func sglangRouter(f *Fleet) *Router {
	r := &Router{Command: []string{"python3", "-m", "sglang_router.launch_router"}}
	if prefills := f.of(deploy.Prefill); prefills != nil {
		r.add("--pd-disaggregation")
		for _, s := range prefills {
			r.add("--prefill", "http://"+s.address(), strconv.Itoa(s.Bootstrap))
		}
		for _, s := range f.of(deploy.Decode) {
			r.add("--decode", "http://"+s.address())
		}
	} else {
		r.workers(f)
	}
	r.add("--policy", roundRobin, "--host", "0.0.0.0", "--port", strconv.Itoa(f.Port))
	return r
}

// vllmRouter is that of the vLLM project.
func vllmRouter(f *Fleet) *Router {
	r := &Router{Command: []string{"vllm-router"}}
	if prefills := f.of(deploy.Prefill); prefills != nil {
		r.add("--vllm-pd-disaggregation", "--kv-connector", "nixl")
		for _, s := range prefills {
			r.add("--prefill", "http://"+s.address())
		}
		for _, s := range f.of(deploy.Decode) {
			r.add("--decode", "http://"+s.address())
		}
	} else {
		r.workers(f)
	}
	r.add("--policy", roundRobin, "--host", "0.0.0.0", "--port", strconv.Itoa(f.Port))
	return r
}

// trtllmRequestSeconds is the timeout of a request; the default is 180.
const trtllmRequestSeconds = 3600

// trtllmRouter is the orchestrator of TensorRT-LLM, for servers of one phase.
func trtllmRouter(f *Fleet) *Router {
	if f.of(deploy.Prefill) == nil {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "hostname: 0.0.0.0\nport: %d\nbackend: pytorch\n", f.Port)
	for _, list := range []struct {
		key  string
		role deploy.Role
	}{{"context_servers", deploy.Prefill}, {"generation_servers", deploy.Decode}} {
		servers := f.of(list.role)
		fmt.Fprintf(&b, "%s:\n  num_instances: %d\n  router:\n    type: %s\n  urls:\n", list.key, len(servers), roundRobin)
		for _, s := range servers {
			fmt.Fprintf(&b, "    - \"%s\"\n", s.address())
		}
	}
	return &Router{Command: []string{"trtllm-serve", "disaggregated", "-c", "$CONFIG", "-r", strconv.Itoa(trtllmRequestSeconds)}, Config: b.String()}
}

func (r *Router) add(words ...string) { r.Command = append(r.Command, words...) }

// workers are the addresses of servers of both phases.
func (r *Router) workers(f *Fleet) {
	r.add("--worker-urls")
	for _, s := range f.Servers {
		r.add("http://" + s.address())
	}
}
