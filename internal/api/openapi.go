package api

import (
	"bytes"
	"encoding/json"
	"strings"

	"throughline/internal/question"
	"throughline/internal/version"
)

// Path is before the endpoints of a server.
const Path = "/api/v1/"

// Endpoint is what a server answers.
type Endpoint struct {
	Name, Summary string
	Of            question.Command // whose settings it takes; 0: none
	parameters    []Object         // of its own
	body          Object           // of a POST, in place of settings; nil: those
	answer        Object
	streams       bool // its progress, where asked
}

func object(description string) Object { return Object{"type": "object", "description": description} }

func rows(description string) Object {
	return Object{"type": "array", "description": description, "items": Object{"type": "object"}}
}

func parameter(name, description string) Object {
	return Object{"name": name, "in": "query", "required": true, "description": description, "schema": Object{"type": "string"}}
}

var Endpoints = []Endpoint{
	{Name: "plan", Of: question.Plan, Summary: "What to launch: ranked deployments, and the frontier", streams: true,
		answer: object("the keys of throughline plan as JSON")},
	{Name: "estimate", Of: question.Estimate, Summary: "How fast one deployment is, and whether it fits", streams: true,
		answer: object("the keys of throughline estimate as JSON")},
	{Name: "explain", Of: question.Explain, Summary: "Where the time of a deployment goes, and what would change it", streams: true,
		answer: object("the keys of throughline explain as JSON")},
	{Name: "simulate", Of: question.Simulate, Summary: "What clients see when requests are sent through a deployment", streams: true,
		answer: object("the keys of throughline simulate as JSON")},
	{Name: "compare", Of: question.Compare, Summary: "What would explain a measurement", streams: true,
		answer: object("the keys of throughline compare as JSON")},
	{Name: "scan", Of: question.Plan | question.Estimate | question.Simulate, Summary: "Several questions at once: settings with lists or ranges, or vary", streams: true,
		parameters: []Object{{"name": "command", "in": "query", "description": "what is asked at each point", "schema": Object{"type": "string", "enum": []string{"plan", "estimate", "simulate"}, "default": "plan"}}},
		answer:     object("the axes, the points and their figures")},
	{Name: "diff", Summary: "Two systems or two deployments side by side, and why one is better",
		parameters: []Object{
			parameter("a", "a system, or the settings of a deployment as parameters of explain, encoded"),
			parameter("b", "the other")},
		answer: object("the keys of throughline diff as JSON")},
	{Name: "models", Summary: "The built-in models", answer: rows("the rows of throughline models as JSON")},
	{Name: "systems", Summary: "The built-in systems", answer: rows("the rows of throughline systems as JSON")},
	{Name: "engines", Summary: "The serving engines", answer: rows("name, title, version and source of each")},
	{Name: "check", Summary: "What is wrong with a file of a system, a model or a scan", body: object("the file"),
		answer: object("what it is, and warnings")},
}

func OpenAPI() ([]byte, error) {
	paths, schemas := Object{}, Object{
		"Problems": Object{"type": "object", "required": []string{"problems"}, "properties": Object{"problems": Object{"type": "array", "items": Object{
			"type": "object", "required": []string{"message"}, "description": "all that is wrong, as the command line says it",
			"properties": Object{
				"setting": Object{"type": "string"}, "file": Object{"type": "string"}, "line": Object{"type": "integer"}, "message": Object{"type": "string"},
			}}}}},
	}
	for i := range Endpoints {
		e := &Endpoints[i]
		if e.Of != 0 {
			schemas[e.question()] = Schema(e.Of)
		}
		paths[Path+e.Name] = e.methods()
	}
	doc := Object{
		"openapi": "3.1.0",
		"info": Object{"title": "Throughline", "version": version.Number,
			"description": "Predicts how large language models run on hardware, plans deployments, explains them. Settings are the flags of the commands of the same names, in their units: 50ms, 2s. Answers are those of the commands as JSON. No request opens a file."},
		"servers":  []Object{{"url": "/"}},
		"security": []Object{{"bearer": []string{}}},
		"paths":    paths,
		"components": Object{
			"schemas":         schemas,
			"responses":       failures(),
			"securitySchemes": Object{"bearer": Object{"type": "http", "scheme": "bearer", "description": "the key that the server prints, or THROUGHLINE_KEY"}},
		},
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(doc)
	return b.Bytes(), err
}

// question is the name of the schema of its settings.
func (e *Endpoint) question() string { return strings.ToUpper(e.Name[:1]) + e.Name[1:] + "Question" }

// failed are the answers that are none, by status.
var failed = []struct{ status, name, description string }{
	{"400", "Wrong", "a setting is wrong, or there is no answer: all problems at once"},
	{"403", "Forbidden", "the key is missing or wrong, or the host is not one of this server"},
	{"413", "TooLarge", "the body is longer than 1 MiB"},
	{"503", "Busy", "too many questions wait; try again"},
	{"504", "TooLong", "the answer took longer than the server waits"},
}

func failures() Object {
	out := Object{}
	for _, f := range failed {
		out[f.name] = Object{"description": f.description, "content": Object{"application/json": Object{"schema": ref("schemas/Problems")}}}
	}
	return out
}

func ref(to string) Object { return Object{"$ref": "#/components/" + to} }

func (e *Endpoint) methods() Object {
	content := Object{"application/json": Object{"schema": e.answer}}
	if e.streams {
		content["text/event-stream"] = Object{"schema": Object{"type": "string",
			"description": "events progress (phase, parts, done) and, of a plan, sofar (the best so far, an answer whose partial is true), then one of answer or problems, each an object in JSON"}}
	}
	responses := Object{"200": Object{"description": "the answer", "content": content}}
	for _, f := range failed {
		responses[f.status] = ref("responses/" + f.name)
	}
	operation := func(id string) Object {
		out := Object{"operationId": id + strings.ToUpper(e.Name[:1]) + e.Name[1:], "summary": e.Summary, "responses": responses}
		if e.parameters != nil {
			out["parameters"] = e.parameters
		}
		return out
	}
	if e.body != nil {
		post := operation("post")
		post["requestBody"] = Object{"required": true, "content": Object{"application/json": Object{"schema": e.body}}}
		return Object{"post": post}
	}
	get := operation("get")
	if e.Of == 0 {
		return Object{"get": get}
	}
	question := ref("schemas/" + e.question())
	get["parameters"] = append([]Object{{
		"name": "settings", "in": "query", "style": "form", "explode": true, "description": "each setting is a parameter", "schema": question,
	}}, e.parameters...)
	post := operation("post")
	post["requestBody"] = Object{"content": Object{"application/json": Object{"schema": question}}}
	return Object{"get": get, "post": post}
}
