package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"throughline"
	"throughline/internal/files"
)

// client is connected to a server that holds some files.
func client(t *testing.T, held map[string][]byte) *sdk.ClientSession {
	t.Helper()
	there, here := sdk.NewInMemoryTransports()
	server, err := NewServer(files.Held(held)).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); server.Wait() })
	return c
}

// call asks a tool.
func call(t *testing.T, c *sdk.ClientSession, name string, arguments map[string]any) *sdk.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// text is the parts of an answer.
func text(r *sdk.CallToolResult) (out []string) {
	for _, c := range r.Content {
		out = append(out, c.(*sdk.TextContent).Text)
	}
	return out
}

// Each tool has a valid schema, which its own example satisfies, and answers with sentences and the
// JSON of the library.
func TestTools(t *testing.T) {
	c := client(t, nil)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]map[string]any{
		"plan":     {"model": "Llama-3.1-8B", "system": "H200", "gpus": 1, "tpot": "20ms", "engine": "vllm"},
		"estimate": {"model": "Llama-3.1-8B", "system": "H200", "batch": 8, "sys.mem1.GBps": "x2"},
		"explain":  {"model": "Llama-3.1-8B", "system": "H200", "batch": 8},
		"simulate": {"model": "Llama-3.1-8B", "system": "H200", "rate": 2, "num-prompts": 20, "isl": 128, "osl": 8, "prefix-cache": false},
		"diff":     {"a": "H100_SXM", "b": "H200"},
		"models":   {}, "systems": {},
	}
	if len(list.Tools) != len(examples) {
		t.Errorf("%d tools", len(list.Tools))
	}
	for _, tool := range list.Tools {
		input, ok := examples[tool.Name]
		if !ok {
			t.Errorf("tool %s has no example", tool.Name)
			continue
		}
		checkSchema(t, tool, input)
		r := call(t, c, tool.Name, input)
		said := text(r)
		if r.IsError || len(said) == 0 {
			t.Errorf("%s: %v", tool.Name, said)
			continue
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(said[len(said)-1]), &object); err != nil || !cmp.Equal(object, r.StructuredContent) {
			t.Errorf("%s: the text and the structure differ: %v", tool.Name, err)
		}
		if answer, ok := object["answer"].([]any); ok && !strings.Contains(said[0], answer[0].(string)) {
			t.Errorf("%s says %q, want %q", tool.Name, said[0], answer[0])
		}
	}
}

// checkSchema holds a schema and an example against JSON Schema.
func checkSchema(t *testing.T, tool *sdk.Tool, example map[string]any) {
	t.Helper()
	src, err := json.Marshal(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(src, &schema); err != nil {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	if err := resolved.Validate(example); err != nil {
		t.Errorf("%s: %v", tool.Name, err)
	}
	if err := resolved.Validate(map[string]any{"model": 3, "a": 1, "b": 2}); err == nil && len(example) > 0 {
		t.Errorf("%s: a number passes for a name", tool.Name)
	}
}

// The answer is that of the library, to the last digit.
func TestSameAsLibrary(t *testing.T) {
	q := throughline.Question{"model": "Llama-3.1-8B", "system": "H200", "batch": "8"}
	want, err := throughline.Estimate(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	src, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var object any
	if err := json.Unmarshal(src, &object); err != nil {
		t.Fatal(err)
	}
	got := call(t, client(t, nil), "estimate", map[string]any{"model": "Llama-3.1-8B", "system": "H200", "batch": 8})
	if diff := cmp.Diff(object, got.StructuredContent); diff != "" {
		t.Error(diff)
	}
}

// Mistakes are answers of the tool, all at once and with near misses; the server goes on.
func TestWrongQuestions(t *testing.T) {
	c := client(t, nil)
	for name, cases := range map[string][]struct {
		input map[string]any
		want  []string
	}{
		"plan": {
			{map[string]any{"model": "Llama-3.1-8B", "system": "H20O", "gpus": -1, "tpot": "fast", "modle": "x"},
				[]string{`did you mean "H200"?`, "gpus: must be from 1", "tpot: must be a time", "did you mean model?"}},
			{map[string]any{}, []string{"model: is missing"}},
			{map[string]any{"model": nil, "system": []any{map[string]any{}}}, []string{"model: must be a text", "system: must be a text"}},
			{map[string]any{"model": "Llama-3.1-8B", "system": "H200", "gpus": "1,2"}, []string{"one by one"}},
			{map[string]any{"model": "Llama-3.1-8B", "system": "H200", "vary": "gpus=1,2"}, []string{"one by one"}},
			{map[string]any{"model": "/etc/passwd", "system": "../../../etc/passwd", "gpus": 1, "popularity": "counts:/etc/passwd", "trace": "/etc/passwd"},
				[]string{`"/etc/passwd" is no built-in model, and files are not opened here`, `"../../../etc/passwd" is no built-in system, and files are not opened here`}},
		},
		"diff":   {{map[string]any{"a": "H200", "c": "x"}, []string{"b: is missing", "c: is no setting of diff"}}, {map[string]any{"a": "H200", "b": "/etc/passwd"}, []string{"files are not opened here"}}},
		"models": {{map[string]any{"model": "x"}, []string{"no settings"}}},
	} {
		for _, k := range cases {
			r := call(t, c, name, k.input)
			said := strings.Join(text(r), "\n")
			for _, want := range k.want {
				if !r.IsError || !strings.Contains(said, want) {
					t.Errorf("%s %v: %q, want %q", name, k.input, said, want)
				}
			}
			if strings.Contains(said, "root:") {
				t.Errorf("%s answers a file: %s", name, said)
			}
		}
	}
	if r := call(t, c, "systems", nil); r.IsError {
		t.Errorf("afterwards: %v", text(r))
	}
}

// A file that was added is known by its name.
func TestAddedFiles(t *testing.T) {
	src, err := os.ReadFile(filepath.FromSlash("../../hardware/catalogue/H200.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, map[string][]byte{"mine.json": src})
	input := map[string]any{"model": "Llama-3.1-8B", "system": "mine.json", "phase": "decode"}
	if r := call(t, c, "estimate", input); r.IsError {
		t.Errorf("%v", text(r))
	}
	input["system"] = "yours.json"
	if r := call(t, c, "estimate", input); !r.IsError || !slices.ContainsFunc(text(r), func(s string) bool { return strings.Contains(s, "files are not opened here") }) {
		t.Errorf("%v", text(r))
	}
}

// Who asks for it hears how far a search is, ever further; who cancels a question ends it.
func TestProgress(t *testing.T) {
	there, here := sdk.NewInMemoryTransports()
	server, err := NewServer(files.Held(nil)).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan sdk.ProgressNotificationParams, 1000)
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { told <- *r.Params },
	}).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); server.Wait() })
	asked := &sdk.CallToolParams{Name: "plan", Arguments: map[string]any{"model": "Llama-3.1-70B", "system": "H200", "gpus": 16, "rate": 4, "tpot": "p99:30ms", "ttft": "p99:2s"}}
	asked.SetProgressToken("mine")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, asked)
		ended <- err
	}()
	last := 0.0
	for range 2 {
		p := <-told
		if p.Progress <= last || p.Message == "" || p.ProgressToken != "mine" {
			t.Errorf("after %v: %+v", last, p)
		}
		last = p.Progress
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a question that is cancelled ends with %v", err)
	}
	if r := call(t, c, "diff", map[string]any{"a": "model=Llama-3.1-8B&system=H200&batch=8", "b": "model=Llama-3.1-8B&system=H200&batch=8&tp=2"}); r.IsError || !strings.Contains(text(r)[0], "tokens/s/GPU") {
		t.Errorf("two deployments: %v", text(r))
	}
}
