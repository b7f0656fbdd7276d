package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
)

// difference is one changed value of an answer.
type difference struct {
	key, command  string // of the answer
	path          string // of the value in the answer
	before, after string
	change        float64 // relative, of a number; NaN: of something else
}

// differences are those between all answers of two programs.
type differences struct {
	answers, numbers int // compared
	tolerance        float64
	list             []difference
	perCommand       map[string]int // answers
}

func (d *differences) moved() bool { return len(d.list) > 0 }

func compare(before, after Answers, tolerance float64) *differences {
	d := &differences{tolerance: tolerance, perCommand: map[string]int{}}
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range sortedKeys(keys) {
		d.answer(key, before[key], after[key])
	}
	return d
}

func (d *differences) answer(key string, a, b *Answer) {
	d.answers++
	_, command, _ := strings.Cut(key, separator)
	d.perCommand[command]++
	found := difference{key: key, command: command, change: math.NaN()}
	switch {
	case a == nil:
		found.path, found.before, found.after = "answer", missing, b.Asked
	case b == nil:
		found.path, found.before, found.after = "answer", a.Asked, missing
	case a.Asked != b.Asked:
		found.path, found.before, found.after = "question", a.Asked, b.Asked
	default:
		d.values(found, a, b)
		return
	}
	d.list = append(d.list, found)
}

// missing stands for an absent value.
const missing = "(none)"

// values compares two answers to the same question, value by value.
func (d *differences) values(found difference, a, b *Answer) {
	x, y := flatten(a), flatten(b)
	paths := maps.Clone(x)
	maps.Copy(paths, y)
	for _, path := range sortedKeys(paths) {
		was, before := x[path]
		is, after := y[path]
		found.path, found.before, found.after, found.change = path, cmp.Or(was, missing), cmp.Or(is, missing), math.NaN()
		p, q := json.Number(was), json.Number(is)
		v, err := p.Float64()
		w, err2 := q.Float64()
		switch {
		case before && after && err == nil && err2 == nil:
			d.numbers++
			if math.Abs(v-w) <= d.tolerance*max(math.Abs(v), math.Abs(w)) {
				continue
			}
			found.change = (w - v) / math.Abs(v) // infinite from 0
		case before && after && was == is:
			continue
		}
		d.list = append(d.list, found)
	}
}

// flatten returns every value of an answer by its path; texts are quoted.
func flatten(a *Answer) map[string]string {
	out := map[string]string{"exit code": fmt.Sprint(a.Code)}
	for i, line := range a.Said {
		out[fmt.Sprintf("said[%d]", i)] = string(marshal(line))
	}
	if len(a.Answer) == 0 {
		return out
	}
	decoder := json.NewDecoder(bytes.NewReader(a.Answer))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		out["answer"] = string(marshal(err.Error()))
		return out
	}
	into(out, "", value)
	return out
}

func into(out map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, part := range v {
			into(out, strings.TrimPrefix(path+"."+name, "."), part)
		}
	case []any:
		seen := map[string]int{}
		for i, part := range v {
			label := labelOf(i, part)
			if seen[label]++; seen[label] > 1 {
				label = fmt.Sprintf("%s #%d", label, seen[label])
			}
			into(out, path+"["+label+"]", part)
		}
	default:
		out[path] = string(marshal(v))
	}
}

// labelOf names an element of a list by its content, so that an insertion does not move all others.
func labelOf(i int, part any) string {
	fields, _ := part.(map[string]any)
	var words []string
	for _, name := range []string{"phase", "field", "name", "cause", "figure"} {
		if text, ok := fields[name].(string); ok {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		return fmt.Sprint(i)
	}
	return strings.Join(words, " ")
}
