package api

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/test/golden"
)

// The description is valid OpenAPI 3.1, its schemas are valid JSON Schemas, and every setting of
// every question is in it.
func TestOpenAPI(t *testing.T) {
	src, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(src)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableSchemaPatternValidation(), openapi3.EnableSchemaDefaultsValidation(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	if doc.Paths.Len() != len(Endpoints) || len(Endpoints) != 11 {
		t.Errorf("%d paths of %d endpoints", doc.Paths.Len(), len(Endpoints))
	}
	for _, e := range Endpoints {
		path := doc.Paths.Value(Path + e.Name)
		if path == nil || e.Of == 0 {
			continue
		}
		body := path.Post.RequestBody.Value.Content["application/json"].Schema.Value
		for _, s := range question.Settings(e.Of) {
			p := body.Properties[s.Name]
			if s.Name == "points" {
				continue
			}
			if p == nil || p.Value.Description == "" || p.Value.Extensions["x-group"] != s.Group {
				t.Errorf("%s: setting %s is %v", e.Name, s.Name, p)
			}
		}
	}
}

// A mistake in the description is found.
func TestOpenAPIValidated(t *testing.T) {
	src, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	for old, new := range map[string]string{`"description": "the answer"`: `"desription": "the answer"`, `"in": "query"`: `"in": "nowhere"`, `"schemas/Problems"`: `"schemas/Nothing"`, `"type": "boolean"`: `"type": "maybe"`, `components/schemas/PlanQuestion`: `components/schemas/NoQuestion`} {
		wrong := strings.ReplaceAll(string(src), old, new)
		if old == `"schemas/Problems"` {
			wrong = strings.ReplaceAll(string(src), "schemas/Problems", "schemas/Nothing")
		}
		doc, err := openapi3.NewLoader().LoadFromData([]byte(wrong))
		if err == nil {
			err = doc.Validate(t.Context())
		}
		if err == nil {
			t.Errorf("%s: no problem", new)
		}
	}
}

// Values of JSON become the words of the command line.
func TestWords(t *testing.T) {
	var object map[string]any
	if err := json.Unmarshal([]byte(`{"gpus": 32, "tpot": "50ms", "prefix-cache": true, "price": ["H200=3", "B200=5"], "rate": 0.5, "sys.mem1.GBps": 6000, "set": "model.num_blocks=40", "isl": [1000, 2000]}`), &object); err != nil {
		t.Fatal(err)
	}
	got, err := Words(object)
	want := map[string]string{"gpus": "32", "tpot": "50ms", "prefix-cache": "true", "price": "H200=3,B200=5", "rate": "0.5", "set": "model.num_blocks=40,sys.mem1.GBps=6000", "isl": "1000,2000"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = Words(map[string]any{"gpus": nil, "model": map[string]any{}})
	if ps := Problems(err); len(ps) != 2 || ps[0].Setting != "gpus" || ps[1].Setting != "model" {
		t.Errorf("%v", ps)
	}
}

// Problems say where they are.
func TestProblems(t *testing.T) {
	got := Problems(&document.Error{Problems: []document.Problem{{Path: "tp", Message: "is odd"}, {File: "a.json", Line: 3, Path: "mem1", Message: "is missing"}}})
	want := []Problem{{Setting: "tp", Message: "is odd"}, {File: "a.json", Line: 3, Message: "mem1: is missing"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := Problems(errors.New("broken")); len(got) != 1 || got[0].Message != "broken" {
		t.Errorf("%+v", got)
	}
}

// The functions of the Python package have a keyword for each setting of the table.
func TestPython(t *testing.T) {
	golden.File(t, filepath.FromSlash("../../python/throughline/_questions.py"), Python())
}
