package emulate

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// integer may be written as 2.0: Python's clients do, and pydantic accepts it in vLLM and SGLang.
type integer int

func (n *integer) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if i, err := strconv.Atoi(text); err == nil {
		*n = integer(i)
		return nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		*n = integer(f)
		return nil
	}
	kind, known := map[byte]string{'"': "string", '[': "array", '{': "object", 't': "bool", 'f': "bool", 'n': "null"}[raw[0]]
	if !known {
		kind = "number " + text
	}
	return &json.UnmarshalTypeError{Value: kind, Type: reflect.TypeFor[int]()}
}

// knobs are sampling parameters, which are checked as the engines do but change nothing.
type knobs struct {
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	MinP        *float64 `json:"min_p"`
	Presence    *float64 `json:"presence_penalty"`
	Frequency   *float64 `json:"frequency_penalty"`
	Repetition  *float64 `json:"repetition_penalty"`
	TopK        *integer `json:"top_k"`
}

// check rejects numbers out of bounds (vllm/sampling_params.py at a014e35, _verify_args; SGLang's
// are the same, except that temperatures have no upper bound). path prefixes the keys.
func (k *knobs) check(path string, hottest float64) error {
	var topK *float64
	if k.TopK != nil {
		f := float64(*k.TopK)
		topK = &f
	}
	for _, n := range []struct {
		name      string
		value     *float64
		low, high float64
		above     bool // exclusive lower bound
	}{
		{"temperature", k.Temperature, 0, hottest, false},
		{"top_p", k.TopP, 0, 1, true},
		{"min_p", k.MinP, 0, 1, false},
		{"presence_penalty", k.Presence, -2, 2, false},
		{"frequency_penalty", k.Frequency, -2, 2, false},
		{"repetition_penalty", k.Repetition, 0, math.Inf(1), true},
		{"top_k", topK, -1, math.Inf(1), false},
	} {
		if v := n.value; v != nil && (*v < n.low || *v > n.high || n.above && *v == n.low) {
			from := "from"
			if n.above {
				from = "above"
			}
			return wrongParam(path+n.name, "invalid_value", "'%s%s' must be %s %g to %g, not %g.", path, n.name, from, n.low, n.high, *v)
		}
	}
	return nil
}
