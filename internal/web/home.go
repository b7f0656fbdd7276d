package web

import (
	"context"
	"net/http"
)

// example is a question of the first page.
type example struct{ Question, About, To string }

// examples are what users ask, one click from an answer.
var examples = []example{
	{"What do I launch on 32 GPUs to stay under 50 ms per token?", "DeepSeek-V3 on H200 and B200, 4000 → 1000 tokens", "/choose?gpus=32&isl=4000&model=DeepSeek-V3&osl=1000&system=H200,B200&tpot=50ms"},
	{"Why is it as fast as it is, and what would a faster memory do?", "Llama-3.1-70B on four H200", "/why?batch=64&model=Llama-3.1-70B&system=H200&tp=4"},
	{"Which request rate keeps p99 TTFT under half a second?", "Llama-3.1-8B on one H200", "/load?isl=512&model=Llama-3.1-8B&osl=128&rate=30&system=H200&ttft=p99:500ms"},
	{"How do the lengths of prompts and answers change that?", "Qwen3-32B on two H100", "/map?gpus=2&isl=512,2048,8192&model=Qwen3-32B&mode=agg&osl=128,512,2048&system=H100_SXM"},
	{"What of a chip matters: memory or network?", "DeepSeek-V3 on 16 H200, as a map", "/chips?batch=64&dp=16&model=DeepSeek-V3&system=H200&sys.mem1.GBps=x1&vary=sys.mem1.GBps%3Dx0.5:x2:9,sys.networks[1].bandwidth%3Dx0.5:x2:9"},
	{"My server measures 31 ms per token. Where is the difference?", "Llama-3.1-70B on eight H100 behind vLLM", "/compare?concurrency=64&engine=vllm&explain=tpot&measured=tpot%3D31ms,ttft%3D400ms&model=Llama-3.1-70B&system=H100_SXM&tp=8"},
}

// homing is the first page.
var homing = &view{path: "", title: "Throughline", template: "home", show: func(*Server, context.Context, *state) (content, error) {
	return content{data: examples}, nil
}}

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	st := &state{view: homing, words: map[string]string{}, shown: map[string]string{}}
	st.prefer(r)
	s.answer(w, r, st, homing.show)
}
