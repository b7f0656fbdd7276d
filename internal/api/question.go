// Package api describes the questions to a server for programs: JSON Schemas of the settings, words
// from JSON, problems as JSON, and the OpenAPI description, all from the table of settings.
package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"throughline/internal/document"
	"throughline/internal/question"
)

type Object = map[string]any

// mostExamples of values are shown; catalogues have more.
const mostExamples = 16

// Schema is the JSON Schema of the settings of a command as an object. What is wrong with values is
// said by the command, which also takes lists, ranges and units: numbers may be texts.
func Schema(of question.Command) Object {
	properties, required := Object{}, []string{}
	usual := question.DefaultOf(of)
	for _, s := range Ranked(of) {
		p := property(s, of)
		if text := s.Get(&usual); text != "" && text != "false" {
			p["default"] = valueOf(s, text)
		}
		properties[s.Name] = p
		if strings.HasSuffix(s.Help(of), "(required)") && s.Name == "model" {
			required = append(required, s.Name)
		}
	}
	return Object{
		"type": "object", "properties": properties, "required": required,
		"patternProperties": Object{`^(sys|model|engine)\.`: Object{
			"type":        []string{"number", "string"},
			"description": "a number of the file of the system, the model or the engine: sys.mem1.GBps is 6000, or x2 for twice what the file has",
		}},
	}
}

// Ranked are the settings of a command in the order of a form. A table of questions is none of one.
func Ranked(of question.Command) []*question.Setting {
	list := slices.DeleteFunc(question.Settings(of), func(s *question.Setting) bool { return s.Name == "points" })
	slices.SortStableFunc(list, func(a, b *question.Setting) int { return a.Rank - b.Rank })
	return list
}

func property(s *question.Setting, of question.Command) Object {
	p := Object{"description": s.Help(of), "x-group": s.Group}
	if s.Unit != "" {
		p["x-unit"] = s.Unit
	}
	switch s.Kind() {
	case question.Switch:
		p["type"] = "boolean"
		return p
	case question.Text:
		p["type"] = "string"
		if s.List != "" {
			p["type"] = []string{"string", "array"}
			p["items"] = Object{"type": []string{"string", "number"}}
		}
		if 0 < len(s.Choices) && len(s.Choices) <= mostExamples {
			p["examples"] = s.Choices
		}
		return p
	case question.Count:
		p["type"] = []string{"integer", "string"}
	default: // times may have units
		p["type"] = []string{"number", "string"}
	}
	low, high := "minimum", "maximum"
	if s.Above {
		low = "exclusiveMinimum"
	}
	if s.Below {
		high = "exclusiveMaximum"
	}
	if p[high] = s.High; !s.Optional || s.Low <= 0 { // 0 is not given
		p[low] = s.Low
	} else {
		p["minimum"] = 0
	}
	return p
}

// valueOf is a default as JSON.
func valueOf(s *question.Setting, text string) any {
	if s.Kind() == question.Text {
		return text
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil { // inf
		return text
	}
	return v
}

// Words are the settings of an object in JSON. Numbers of files become words of `set`.
func Words(object map[string]any) (map[string]string, error) {
	out := map[string]string{}
	var errs []error
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		text, err := wordOf(object[name])
		switch {
		case err != nil:
			errs = append(errs, question.OfSetting(name, err))
		case question.IsPath(name):
			changed = append(changed, name+"="+text)
		default:
			out[name] = text
		}
	}
	if set := out["set"]; set != "" {
		changed = append([]string{set}, changed...)
	}
	if len(changed) > 0 {
		out["set"] = strings.Join(changed, ",")
	}
	return out, document.Join(errs...)
}

func wordOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool, float64:
		text, err := json.Marshal(v)
		return string(text), err
	case []any:
		var list []string
		for _, one := range v {
			text, err := wordOf(one)
			if err != nil {
				return "", err
			}
			list = append(list, text)
		}
		return strings.Join(list, ","), nil
	}
	return "", fmt.Errorf("must be a text, a number, true, false or a list of them")
}

type Problem struct {
	Setting string `json:"setting,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func Problems(err error) []Problem {
	var all *document.Error
	if !errors.As(err, &all) {
		return []Problem{{Message: err.Error()}}
	}
	var out []Problem
	for _, p := range all.Problems {
		one := Problem{File: p.File, Line: p.Line, Message: p.Message}
		if p.File == "" {
			one.Setting = p.Path
		} else if p.Path != "" {
			one.Message = p.Path + ": " + p.Message
		}
		out = append(out, one)
	}
	return out
}
