// Package gold keeps two hundred answers of a version, and says what moved those that are not as
// they were: a file of facts that is another, or the formula that is the first to differ.
package gold

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"throughline/collective"
	"throughline/engine"
	"throughline/estimate"
	"throughline/hardware"
	"throughline/hardware/shape"
	"throughline/internal/catalogue"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/model"
)

// Answer is what a version of the program said.
type Answer struct {
	Ask map[string]string `json:"ask"`
	// Figures begin with the stage that they come from.
	Figures map[string]figure `json:"figures,omitempty"`
	Refused string            `json:"refused,omitempty"`

	facts Facts // that it rests on
}

// Facts are built-in files, and the beginning of their SHA-256.
type Facts map[string]string

// figure is a number of which eleven digits are kept: the others depend on the processor.
type figure float64

// MarshalJSON writes eleven digits.
func (f figure) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 11, 64), nil
}

// Set is answers of one version.
type Set struct {
	Version string    `json:"throughline"`
	Facts   Facts     `json:"facts"` // that any answer rests on
	Answers []*Answer `json:"-"`
}

func (s *Set) Add(a *Answer) {
	if s.Facts == nil {
		s.Facts = Facts{}
	}
	maps.Copy(s.Facts, a.facts)
	s.Answers = append(s.Answers, a)
}

//go:embed answers.jsonl
var kept []byte

// Kept is the set that the program comes with.
func Kept() (*Set, error) { return Read(kept) }

// Read reads a set: a line for its version, and one for each answer.
func Read(src []byte) (*Set, error) {
	var s Set
	for i, line := range bytes.Split(bytes.TrimSpace(src), []byte("\n")) {
		into := any(&s)
		if i > 0 {
			s.Answers = append(s.Answers, &Answer{})
			into = s.Answers[i-1]
		}
		if err := json.Unmarshal(line, into); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return &s, nil
}

func (s *Set) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	for _, a := range s.Answers {
		if err := e.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// Ask answers a question as this version does.
func Ask(ask map[string]string) *Answer {
	out := &Answer{Ask: ask}
	answer, _, err := point.NewExaminer().Ask(question.NewFixedQuery(files.Held(nil), question.Estimate, ask))
	if err != nil {
		out.Refused = err.Error()
		return out
	}
	out.Figures = map[string]figure{}
	for i := range answer.Phases {
		p := &answer.Phases[i]
		out.steps(p.Phase.Name(), p)
	}
	if s := answer.Seen; s != nil {
		out.figure(clients, "TTFT s", s.TTFT)
		out.figure(clients, "TPOT s", s.TPOT)
		out.figure(clients, "requests/s", s.Requests)
	}
	out.rest(answer.Phases[0].Loaded)
	return out
}

// stages are the rooms that figures come from, each resting on those before it.
const (
	operators = "operator" // op, cost, collective, hardware/kernel
	steps     = "step"     // schedule, estimate
	memory    = "memory"   // estimate
	clients   = "clients"  // engine, serving, serving/simulate
)

// formulas says where the formulas of each stage stand.
var formulas = []struct{ stage, where string }{
	{operators, "op, cost and collective"}, {steps, "schedule and estimate"}, {memory, "the memory of estimate"}, {clients, "engine and serving/simulate"},
}

func (a *Answer) figure(stage, name string, v float64) {
	if v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
		a.Figures[stage+" "+name] = figure(v)
	}
}

// smallest share of a step that an operator is kept with.
const smallest = 0.02

func (a *Answer) steps(phase string, p *point.Result) {
	times := map[string]float64{}
	for i := range p.Operators {
		o := &p.Operators[i]
		times[o.Name] += o.Times * o.Exposed
	}
	for name, t := range times {
		if t >= smallest*p.StepTime {
			a.figure(operators, phase+" "+name+" s", t)
		}
	}
	a.figure(steps, phase+" s", p.StepTime)
	a.figure(memory, phase+" bytes", p.Memory.Total())
}

// rest finds the files that an answer rests on.
func (a *Answer) rest(l *question.Loaded) {
	a.facts = Facts{}
	a.fact("model", model.Catalogue, a.Ask["model"])
	for _, s := range []*hardware.System{l.Prefill, l.Decode} {
		a.fact("hardware", hardware.Catalogue, s.Name)
		if s.Kernels != nil {
			a.fact("hardware", hardware.Kernels, s.Kernels.System)
			if src, err := shape.Text(s.Kernels.System); err == nil && src != nil {
				a.hash(path.Join(shape.Folder, s.Kernels.System+".json"), src)
			}
		}
	}
	name, _, _ := strings.Cut(a.Ask["engine"], "@")
	if e, err := engine.Find(name); err == nil {
		a.file("engine", engine.Data(), "data/"+e.Name+".json")
		a.file("engine", engine.Data(), "data/attention/"+e.Name+".json")
	}
	a.all("collective", collective.Data())
	a.all("estimate", estimate.Data())
}

func (a *Answer) fact(folder string, set catalogue.Set, ref string) {
	if name, ok := set.Name(ref); ok {
		a.file(folder, set.Files, path.Join(cmp.Or(set.Folder, "catalogue"), name+".json"))
	}
}

func (a *Answer) file(folder string, files fs.FS, name string) {
	if src, err := fs.ReadFile(files, name); err == nil {
		a.hash(path.Join(folder, name), src)
	}
}

func (a *Answer) hash(name string, src []byte) {
	a.facts[name] = fmt.Sprintf("%x", sha256.Sum256(src))[:12]
}

func (a *Answer) all(folder string, files fs.FS) {
	_ = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			a.file(folder, files, name)
		}
		return err
	})
}

// Moved is a figure that is not what it was.
type Moved struct {
	Number        int // of the question, from 1
	Ask           map[string]string
	Figure        string
	Before, After float64
	Why           string
}

// tolerance is the relative change of a number that is none.
const tolerance = 1e-9

// Compare asks the questions of a set again, or every nth of them. It returns the answers of this
// version.
func (s *Set) Compare(ctx context.Context, every int) (now *Set, moved []Moved, err error) {
	now = &Set{}
	for i, before := range s.Answers {
		if i%every > 0 {
			continue
		}
		if ctx.Err() != nil {
			return now, moved, ctx.Err()
		}
		after := Ask(before.Ask)
		now.Add(after)
		if figure, was, is, differs := first(before, after); differs {
			moved = append(moved, Moved{i + 1, before.Ask, figure, was, is, why(s.Facts, before, after, figure)})
		}
	}
	return now, moved, nil
}

// first is the figure that differs at the first stage, and there by most.
func first(before, after *Answer) (name string, was, is float64, differs bool) {
	if before.Refused != "" || after.Refused != "" {
		return "refusal", 0, 0, (before.Refused == "") != (after.Refused == "")
	}
	most, stage := 0.0, len(formulas)
	all := maps.Clone(before.Figures)
	maps.Copy(all, after.Figures)
	for _, figure := range slices.Sorted(maps.Keys(all)) {
		x, y := float64(before.Figures[figure]), float64(after.Figures[figure])
		by := math.Abs(x-y) / math.Max(math.Abs(x), math.Abs(y))
		if at := stageOf(figure); by > tolerance && (at < stage || at == stage && by > most) {
			name, was, is, most, stage, differs = figure, x, y, by, at, true
		}
	}
	return name, was, is, differs
}

func stageOf(figure string) int {
	name, _, _ := strings.Cut(figure, " ")
	return slices.IndexFunc(formulas, func(f struct{ stage, where string }) bool { return f.stage == name })
}

// why names the files of facts that are others, or else the formulas of the stage.
func why(then Facts, before, after *Answer, figure string) string {
	var changed []string
	for name, sum := range after.facts {
		if then[name] != sum {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	switch {
	case after.Refused != "":
		return "is refused now: " + after.Refused
	case before.Refused != "":
		return "was refused: " + before.Refused
	case len(changed) > 0:
		return "facts: " + strings.Join(changed, ", ")
	}
	return "formula: " + formulas[stageOf(figure)].where
}
