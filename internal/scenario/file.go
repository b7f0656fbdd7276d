// Package scenario predicts how long a batch of requests takes with prefill on one processor and
// decode on another or the same: the GPU alone, the GPU and the CPU beside it, last year's GPU.
package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"throughline/deploy"
	"throughline/engine"
	"throughline/hardware"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/model"
	"throughline/op"
	"throughline/plan"
)

// File is the scenario format. Tags drive the decoder, the JSON Schema and docs/formats.md.
type File struct {
	Model     string     `json:"model" required:"true" nonempty:"true" doc:"model file, or the name of a built-in one"`
	Engine    string     `json:"engine" enum:"transformers,none" doc:"what runs the model: transformers launches every kernel by itself and copies the cache at every step; none: fused kernels, no time of a host"`
	Weights   string     `json:"weights" doc:"number format of the weights; of 32 bits, that of all numbers; absent: as published, else 16 bits"`
	Requests  int        `json:"requests" required:"true" range:"[1,1000000]" doc:"requests, all in one batch"`
	Input     int        `json:"input" required:"true" range:"[1,1e7]" doc:"tokens of a prompt"`
	Output    int        `json:"output" required:"true" range:"[1,1e6]" doc:"tokens that are generated for each"`
	Scenarios []pairFile `json:"scenarios" required:"true" nonempty:"true" doc:"what is compared"`
}

type pairFile struct {
	Name      string `json:"name" line:"true" doc:"name in the table; absent: All-X, or P(X)-D(Y)"`
	Prefill   string `json:"prefill" required:"true" nonempty:"true" doc:"system file, or the name of a built-in one, that computes the prompts"`
	Decode    string `json:"decode" required:"true" nonempty:"true" doc:"system file, or the name of a built-in one, that generates the output"`
	PrefillTP int    `json:"prefill_tp" range:"[1,1024]" doc:"processors that share the model in prefill, tensor-parallel"`
	DecodeTP  int    `json:"decode_tp" range:"[1,1024]" doc:"processors that share the model in decode"`
}

func (p *pairFile) SetDefaults() { p.PrefillTP, p.DecodeTP = 1, 1 }

func defaults() File { return File{Engine: "transformers"} }

func Schema() ([]byte, error) {
	f := defaults()
	return document.Schema("Throughline scenario", "scenario.schema.json", &f)
}

// Is reports whether these root keys are those of a scenario file.
func Is(keys []string) bool { return slices.Contains(keys, "scenarios") }

type Question struct {
	Model     *model.Model
	Settings  *model.Settings
	Framework *engine.Framework // nil: fused kernels, captured steps
	Requests  int
	Input     int
	Output    int
	Pairs     []Pair

	eager *op.Eager
}

// Pair is where prefill and decode run.
type Pair struct {
	Name            string
	Prefill, Decode Side
	Precision       plan.Precision
}

// Side is the processors of one phase.
type Side struct {
	System *hardware.System
	TP     int
}

// Split reports whether the cache has to move.
func (p *Pair) Split() bool {
	return p.Prefill.System.Name != p.Decode.System.Name || p.Prefill.TP != p.Decode.TP
}

// Read reads a scenario file and what it refers to. All problems are reported at once.
func Read(in *files.Door, name string, src []byte) (*Question, []document.Problem, error) {
	r := reader{in: in, doc: document.Parse(name, src), beside: filepath.Dir(name)}
	f := defaults()
	r.doc.Decode(&f)
	q := &Question{Requests: f.Requests, Input: f.Input, Output: f.Output}
	r.model(q, f.Model)
	q.Framework, _ = engine.FindRunner(f.Engine)
	if q.Framework != nil {
		q.eager, _ = q.Framework.Eager() // checked when it was loaded
	}
	for i := range f.Scenarios {
		r.pair(q, &f, i)
	}
	r.length(q)
	errs, warnings := []error{r.doc.Err()}, r.doc.Warnings()
	for _, d := range r.others {
		errs = append(errs, d.Err())
		warnings = append(warnings, d.Warnings()...)
	}
	return q, warnings, document.Join(errs...)
}

type reader struct {
	in     *files.Door
	doc    *document.File
	beside string
	others []*document.File
}

// locate finds the file of a reference.
func (r *reader) locate(at, ref string, set catalogue.Set) (f catalogue.File, ok bool) {
	if ref == "" {
		return f, false // it has a problem
	}
	f, err := set.Locate(ref, catalogue.Places{In: r.in, Beside: r.beside})
	switch {
	case err == nil:
		return f, true
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*catalogue.NoConfig)):
		r.doc.Problemf(at, "%s", err)
	default:
		r.doc.Problemf(at, "cannot read %q: %s", ref, document.Reason(err))
	}
	return f, false
}

func (r *reader) model(q *Question, ref string) {
	f, ok := r.locate("model", ref, model.Catalogue)
	if !ok {
		return
	}
	var doc *document.File
	q.Model, q.Settings, doc = model.Read(f.Name, f.Source)
	r.others = append(r.others, doc)
}

func (r *reader) system(at, ref string) *hardware.System {
	f, ok := r.locate(at, ref, hardware.Catalogue)
	if !ok {
		return nil
	}
	s, doc := hardware.Read(f.Name, f.Source)
	r.others = append(r.others, doc)
	return s
}

func (r *reader) pair(q *Question, f *File, i int) {
	given, at := &f.Scenarios[i], fmt.Sprintf("scenarios[%d]", i)
	p := Pair{Name: given.Name, Prefill: Side{r.system(at+".prefill", given.Prefill), given.PrefillTP}, Decode: Side{r.system(at+".decode", given.Decode), given.DecodeTP}}
	if q.Model == nil || p.Prefill.System == nil || p.Decode.System == nil {
		return
	}
	p.Name = cmp.Or(p.Name, p.usualName())
	if slices.ContainsFunc(q.Pairs, func(o Pair) bool { return o.Name == p.Name }) {
		r.doc.Problemf(at, "is called %q, as another one is; give it another name", p.Name)
	}
	var err error
	p.Precision, _, err = formats(f.Weights).Resolve(q.Model, p.Prefill.System, p.Decode.System)
	var problems *document.Error
	if errors.As(err, &problems) {
		for _, x := range problems.Problems {
			if where := at; x.Path == "weights" && r.doc.Has("weights") {
				r.doc.Problemf("weights", "%s", x.Message)
			} else {
				r.doc.Problemf(where, "%s: %s", x.Path, x.Message)
			}
		}
	}
	p.Precision.Cache = cmp.Or(p.Precision.Cache, half)
	for _, side := range []struct {
		key string
		of  Side
	}{{"prefill_tp", p.Prefill}, {"decode_tp", p.Decode}} {
		_, whys := q.deployment(&p, side.of)
		for _, why := range whys {
			r.doc.Problemf(at+"."+side.key, "%s", why)
		}
	}
	if p.Split() {
		r.linked(at, &p)
	}
	q.Pairs = append(q.Pairs, p)
}

// half is the bytes of a 16-bit number.
const half = 2

// formats of a deployment: 32 bits if the weights are.
func formats(weights string) deploy.Formats {
	if weights == "fp32" || weights == "float32" {
		return deploy.Formats{Weights: weights, Activations: weights, Cache: weights, Comm: weights, Attention: weights, Vector: weights}
	}
	return deploy.Formats{Weights: weights}
}

// usualName is the default name of a scenario.
func (p *Pair) usualName() string {
	if !p.Split() {
		return "All-" + p.Decode.name()
	}
	return fmt.Sprintf("P(%s)-D(%s)", p.Prefill.name(), p.Decode.name())
}

func (s Side) name() string {
	if s.TP > 1 {
		return fmt.Sprintf("%d×%s", s.TP, s.System.Name)
	}
	return s.System.Name
}

// linked rejects a pair of a CPU and a processor without a link to its host.
func (r *reader) linked(at string, p *Pair) {
	for _, ends := range [][2]*hardware.System{{p.Prefill.System, p.Decode.System}, {p.Decode.System, p.Prefill.System}} {
		if ends[0].IsHost() && !ends[1].IsHost() && ends[1].Memory2 == nil {
			r.doc.Problemf(at, "%s has no mem2, which is its way to the memory of a host; give it one", ends[1].Name)
		}
	}
}

// length limits requests to the model's context.
func (r *reader) length(q *Question) {
	if q.Model != nil && q.Model.Positions > 0 && q.Input+q.Output > q.Model.Positions {
		r.doc.Problemf("output", "a request has %d tokens, and %s takes at most %d", q.Input+q.Output, q.Model.Name, q.Model.Positions)
	}
}
