// Package mcp answers the questions of assistants, as tools of the Model Context Protocol.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"throughline"
	"throughline/internal/api"
	"throughline/internal/difference"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/sentence"
	"throughline/internal/version"
)

// instructions tell an assistant how to ask.
const instructions = `Throughline predicts how large language models run on GPUs and other AI chips, without running them.
Ask plan what to launch on a number of GPUs, estimate how fast one deployment is, explain why, and simulate what clients see under load.
Names of models and systems are those of the tools models and systems. Settings have the units of their descriptions; times may be written 50ms or 2s.
Say how sure a prediction is: the sentences of an answer give its error, such as ±9%.`

// answer is one for people and one for programs.
type answer struct {
	sentences []string
	remarks   []question.Remark
	value     any
}

// tool is a question that an assistant may ask.
type tool struct {
	name, about string
	input       api.Object
	of          question.Command // whose settings it takes; 0: none
	give        func(ctx context.Context, words map[string]string, in *files.Door) (*answer, error)
}

// telling is where a search tells how far it is, as a value of a context.
type telling struct{}

// progressPause is the least time between two messages on progress.
const progressPause = 200 * time.Millisecond

// withProgress lets a search tell a client that has asked for it how far it is.
func withProgress(ctx context.Context, r *sdk.CallToolRequest) context.Context {
	token := r.Params.GetProgressToken()
	if token == nil {
		return ctx
	}
	var last time.Time
	told := 0.0 // grows, as the protocol asks, while parts of phases do not
	return context.WithValue(ctx, telling{}, func(phase string, parts, done int) {
		if time.Since(last) < progressPause {
			return
		}
		last = time.Now()
		told++
		message := fmt.Sprintf("%s: %d of %d", phase, done, parts)
		r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: told, Message: message}) // who has gone hears nothing
	})
}

// held lets a question of the library through a door.
func held(in *files.Door) throughline.Option { return func(a *question.Query) { a.In = in } }

func tools() []tool {
	return []tool{
		{"plan", "Find the best ways to deploy a model on a number of GPUs: parallel sizes, batches, one pool or separate prefill and decode pools, engine. Ranked rows and the frontier of speed and throughput.", nil, question.Plan, plan},
		{"estimate", "Predict one deployment: time to first token, time per output token, throughput, memory, power.", nil, question.Estimate, estimate},
		{"explain", "Explain where the time of one deployment goes, which limit binds, and which change of the hardware would help most.", nil, question.Explain, explain},
		{"simulate", "Send requests through one deployment event by event: percentiles of what clients see at a request rate, or the highest rate that holds limits.", nil, question.Simulate, simulate},
		{"diff", "Put two deployments or two systems side by side, number by number, and say why one is faster.", api.Object{
			"type": "object", "required": []string{"a", "b"},
			"properties": api.Object{"a": api.Object{"type": "string", "description": "a system, or a deployment: settings of explain as parameters, model=Llama-3.1-8B&system=H200&tp=2"}, "b": api.Object{"type": "string", "description": "the other"}},
		}, 0, diff},
		{"models", "List the built-in models.", api.Object{"type": "object"}, 0, listed(report.Models)},
		{"systems", "List the built-in systems: GPUs and other chips.", api.Object{"type": "object"}, 0, listed(report.Systems)},
	}
}

func plan(ctx context.Context, words map[string]string, in *files.Door) (*answer, error) {
	p, err := throughline.NewPlans(words, held(in))
	if err != nil {
		return nil, err
	}
	if tell, ok := ctx.Value(telling{}).(func(string, int, int)); ok {
		p.Options.Tell(tell)
	}
	if err := p.Search(ctx); err != nil {
		return nil, err
	}
	said := sentence.Plan(p.Plans)
	if len(p.Ranked) == 0 {
		said = append(said, p.Reasons...)
	}
	return &answer{said, p.Remarks, p}, nil
}

func estimate(ctx context.Context, words map[string]string, in *files.Door) (*answer, error) {
	e, err := throughline.Estimate(ctx, words, held(in))
	if err != nil {
		return nil, err
	}
	return &answer{sentence.Point(e.Answer), e.Remarks, e}, nil
}

func explain(ctx context.Context, words map[string]string, in *files.Door) (*answer, error) {
	e, err := throughline.Explain(ctx, words, held(in))
	if err != nil {
		return nil, err
	}
	return &answer{sentence.Explained(e.Explained), e.Remarks, e}, nil
}

func simulate(ctx context.Context, words map[string]string, in *files.Door) (*answer, error) {
	m, err := throughline.NewSimulation(words, held(in))
	if err == nil {
		err = m.Settle(ctx)
	}
	if err != nil {
		return nil, err
	}
	r, err := m.Run(ctx, m.Options)
	if err != nil {
		return nil, err
	}
	said := sentence.Load(&sentence.Loaded{Deployment: &m.Deployment, Trusted: m.Trusted, Seen: r.Seen()})
	return &answer{said, append(m.Remarks, m.After(r)...), &throughline.Simulated{Result: r}}, nil
}

func diff(_ context.Context, words map[string]string, in *files.Door) (*answer, error) {
	var errs []error
	for _, name := range []string{"a", "b"} {
		if words[name] == "" {
			errs = append(errs, question.OfSetting(name, errors.New("is missing: a system or a deployment")))
		}
	}
	for name := range words {
		if name != "a" && name != "b" {
			errs = append(errs, question.OfSetting(name, errors.New("is no setting of diff; it has a and b")))
		}
	}
	if err := document.Join(errs...); err != nil {
		return nil, err
	}
	d, err := difference.Of(in, words["a"], words["b"])
	if err != nil {
		return nil, err
	}
	return &answer{d.Why, nil, d}, nil
}

// listed is a table of what is built in, in an object: results of tools are objects.
func listed[T any](table func() (T, error)) func(context.Context, map[string]string, *files.Door) (*answer, error) {
	return func(_ context.Context, words map[string]string, _ *files.Door) (*answer, error) {
		if len(words) > 0 {
			return nil, errors.New("this tool has no settings")
		}
		t, err := table()
		return &answer{nil, nil, api.Object{"rows": t}}, err
	}
}

// elsewhere are the groups of settings that no tool has: one question is asked at a time.
var elsewhere = []string{"several questions", "processes", "input and output"}

func (t *tool) schema() api.Object {
	if t.input != nil {
		return t.input
	}
	out := api.Schema(t.of)
	properties := out["properties"].(api.Object)
	for _, s := range question.Settings(t.of) {
		if slices.Contains(elsewhere, s.Group) {
			delete(properties, s.Name)
		}
	}
	return out
}

// NewServer is a server whose tools open files only through a door.
func NewServer(in *files.Door) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "throughline", Version: version.Number}, &sdk.ServerOptions{Instructions: instructions})
	for _, t := range tools() {
		closed := false
		s.AddTool(&sdk.Tool{
			Name: t.name, Description: t.about, InputSchema: t.schema(),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
		}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			a, err := t.ask(withProgress(ctx, r), r.Params.Arguments, in)
			if ctx.Err() != nil { // nobody waits
				return nil, ctx.Err()
			}
			if err != nil {
				return wrong(err), nil
			}
			return a.result()
		})
	}
	return s
}

// Serve answers on a pair of streams until the client ends it.
func Serve(ctx context.Context, in *files.Door, from io.ReadCloser, to io.WriteCloser) error {
	return NewServer(in).Run(ctx, &sdk.IOTransport{Reader: from, Writer: to})
}

// ask answers a question; one that breaks the program breaks no other.
func (t *tool) ask(ctx context.Context, arguments json.RawMessage, in *files.Door) (a *answer, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			a, err = nil, fmt.Errorf("the program failed here: %v", broken)
		}
	}()
	object := map[string]any{}
	if len(arguments) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(arguments))
		decoder.UseNumber()
		if err := decoder.Decode(&object); err != nil {
			return nil, fmt.Errorf("the input must be an object of settings: %w", err)
		}
	}
	words, err := api.Words(object)
	if err != nil {
		return nil, err
	}
	if t.of != 0 {
		if err := t.one(words, in); err != nil {
			return nil, err
		}
	}
	return t.give(ctx, words, in)
}

// one refuses several questions at once.
func (t *tool) one(words map[string]string, in *files.Door) error {
	if t.of&scan.Commands == 0 {
		return nil
	}
	several, err := scan.FromWords(in, t.of, words)
	if err == nil && several != nil {
		return errors.New("this asks several questions at once; ask them one by one")
	}
	return err
}

// wrong is all problems of a question, for the assistant to mend.
func wrong(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, StructuredContent: api.Object{"problems": api.Problems(err)}, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
}

// result is the sentences of an answer, its remarks, and all of it as JSON.
func (a *answer) result() (*sdk.CallToolResult, error) {
	said := slices.Clone(a.sentences)
	for _, r := range a.remarks {
		said = append(said, r.String())
	}
	var b bytes.Buffer
	if err := report.WriteObject(&b, a.value); err != nil {
		return nil, err
	}
	out := &sdk.CallToolResult{StructuredContent: json.RawMessage(b.Bytes())}
	if len(said) > 0 {
		out.Content = append(out.Content, &sdk.TextContent{Text: strings.Join(said, "\n")})
	}
	out.Content = append(out.Content, &sdk.TextContent{Text: b.String()})
	return out, nil
}
