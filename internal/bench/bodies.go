package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"throughline/engine"
)

// bodies writes the bodies of requests: common members by LoRA adapter, and extra ones.
type bodies struct {
	*engine.Backend
	stream, ignoreEOS, logprobs bool
	model                       string
	extra                       map[string]json.RawMessage
	rest                        map[string][]byte // what follows the prompt and its length, by adapter
	sampling                    []byte            // of SGLang's: what follows the length
}

// newBodies prepares them; extra overrides the defaults.
func newBodies(o *Options, b *engine.Backend, model string) *bodies {
	w := &bodies{Backend: b, stream: !o.DisableStream, ignoreEOS: !o.DisableIgnoreEOS, logprobs: o.ReturnLogprob, model: model, extra: o.Extra, rest: map[string][]byte{}}
	if b.API == engine.Generate {
		sampling := map[string]any{"temperature": 0, "ignore_eos": w.ignoreEOS}
		var given map[string]json.RawMessage
		if json.Unmarshal(o.Extra["sampling_params"], &given) == nil {
			for key, v := range given {
				sampling[key] = v
			}
		}
		w.sampling = members(sampling)
	}
	for _, name := range append([]string{""}, o.LoRA...) {
		w.rest[name] = w.common(name)
	}
	return w
}

func (w *bodies) lengthKey() string {
	return map[engine.API]string{engine.Completions: "max_tokens", engine.Chat: "max_completion_tokens", engine.Generate: "max_new_tokens"}[w.API]
}

// common is the members that all requests of an adapter have.
func (w *bodies) common(lora string) []byte {
	all := map[string]any{"stream": w.stream}
	if w.API == engine.Generate {
		if w.logprobs {
			all["return_logprob"] = true
		}
	} else {
		all["model"], all["temperature"], all["ignore_eos"] = w.model, 0, w.ignoreEOS
		if w.stream {
			all["stream_options"] = map[string]any{"include_usage": true}
		}
		switch {
		case w.logprobs && w.API == engine.Chat:
			all["logprobs"] = true
		case w.logprobs:
			all["logprobs"] = 1
		}
	}
	for key, v := range w.extra {
		if w.API != engine.Generate || key != "sampling_params" {
			all[key] = v
		}
	}
	if lora != "" {
		all["lora_path"] = lora
		if w.API != engine.Generate {
			all["model"] = lora
		}
	}
	return members(all)
}

// mostTokens of an answer, since servers count its end, and drafts behind it, in their own ways.
func (w *bodies) mostTokens(requested int) int {
	given := w.extra
	if w.API == engine.Generate {
		given = nil
		_ = json.Unmarshal(w.extra["sampling_params"], &given) // bodies use nothing else of it
	}
	if length, ok := given[w.lengthKey()]; ok {
		var n *int
		if requested = unknownLength; json.Unmarshal(length, &n) == nil && n != nil {
			requested = *n
		}
	} else if w.extra["max_tokens"] != nil || w.extra["max_completion_tokens"] != nil {
		requested = unknownLength // by the name of another API
	}
	return 2*min(requested, unknownLength) + 1024
}

// unknownLength is the most tokens of an answer of any length, as the longest contexts.
const unknownLength = 1 << 24

// members of an object, sorted by name, without braces.
func members(of map[string]any) []byte {
	text, err := json.Marshal(of)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", of, err)) // what was read from JSON can be written
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(text, []byte{'{'}), []byte{'}'})
}

// write is the JSON body of a request.
func (w *bodies) write(prompt []byte, ids bool, output int, lora string) []byte {
	out := make([]byte, 0, len(prompt)+len(w.rest[lora])+len(w.sampling)+128)
	out = append(out, '{')
	key := map[engine.API]string{engine.Completions: "prompt", engine.Chat: "messages", engine.Generate: "text"}[w.API]
	if w.API == engine.Generate && ids {
		key = "input_ids"
	}
	member := func(name string, value []byte) {
		if _, given := w.extra[name]; !given {
			out = strconv.AppendQuote(out, name)
			out = append(out, ':')
			out = append(out, value...)
			out = append(out, ',')
		}
	}
	member(key, prompt)
	length := strconv.AppendInt(nil, int64(output), 10)
	if w.API == engine.Generate {
		if !bytes.Contains(w.sampling, []byte(`"max_new_tokens":`)) {
			length = append(append([]byte(`{"max_new_tokens":`), length...), ',')
		} else {
			length = []byte{'{'}
		}
		out = append(append(append(append(out, `"sampling_params":`...), length...), w.sampling...), '}', ',')
	} else {
		member(w.lengthKey(), length)
	}
	out = append(out, w.rest[lora]...)
	return append(out, '}')
}
