package throughline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"throughline/internal/advice"
	"throughline/internal/document"
	"throughline/internal/explain"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/serving/simulate"
)

// Question is the words of settings by name; missing ones have the defaults of the commands.
type Question map[string]string

// Remark accompanies an answer: a warning, or a note on a setting without effect.
type Remark = question.Remark

// Option changes how a question is query, besides its words.
type Option func(*question.Query)

// WithFiles lets a question open these files by name and no others; nil: none at all. Without it a
// question may name any file of this machine.
func WithFiles(contents map[string][]byte) Option {
	door := files.Held(contents)
	return func(a *question.Query) { a.In = door }
}

func (q Question) ask(read func(*question.Query, map[string]string), of question.Command, options []Option) *question.Query {
	a := question.EmptyQuery(files.Machine, of)
	for _, o := range options {
		o(a)
	}
	read(a, q)
	return a
}

// Estimated is what clients of a deployment see, and the steps behind it.
type Estimated struct {
	*point.Answer // nil after an error
	Remarks       []Remark
}

// Estimate predicts the deployment that a question fixes.
func Estimate(ctx context.Context, q Question, options ...Option) (*Estimated, error) {
	a := q.ask((*question.Query).TakeFixed, question.Estimate, options)
	a.Wrong = document.Join(a.Wrong, a.Refused())
	if a.Points != "" {
		a.Wrong = document.Join(a.Wrong, question.OfSetting("points", errors.New("is a table of questions; ask them one by one")))
	}
	answer, remarks, err := point.NewExaminer().Ask(a)
	return &Estimated{answer, remarks}, cmp.Or(err, ctx.Err())
}

func (e *Estimated) MarshalJSON() ([]byte, error) { return json.Marshal(report.PointJSON(e.Answer)) }

// Explained is what a deployment does and why.
type Explained struct {
	*explain.Explained // nil after an error
	Remarks            []Remark
}

// Explain predicts the deployment that a question fixes and explains its time.
func Explain(ctx context.Context, q Question, options ...Option) (*Explained, error) {
	query := q.ask((*question.Query).TakeFixed, question.Explain, options)
	why, remarks, err := explain.Ask(query)
	if err == nil && query.Replan {
		err = advice.Seek(ctx, query, q, why)
	}
	return &Explained{why, remarks}, cmp.Or(err, ctx.Err())
}

func (e *Explained) MarshalJSON() ([]byte, error) {
	return json.Marshal(report.ExplainedJSON(e.Explained))
}

// Plans is a search for deployments and, once run, its result.
type Plans struct {
	*advice.Plans // nil after an error
	Remarks       []Remark
}

// Plan finds the best deployments.
func Plan(ctx context.Context, q Question, options ...Option) (*Plans, error) {
	p, err := NewPlans(q, options...)
	if err == nil {
		err = p.Search(ctx)
	}
	return p, err
}

// NewPlans reads the files of a question and prepares its search.
func NewPlans(q Question, options ...Option) (*Plans, error) {
	p, remarks, err := advice.Ask(q.ask((*question.Query).Take, question.Plan, options))
	return &Plans{p, remarks}, err
}

func (p *Plans) MarshalJSON() ([]byte, error) { return json.Marshal(report.AdviceJSON(p.Plans)) }

// Simulation is requests to send through a deployment.
type Simulation struct {
	*point.Simulation // nil after an error
	Remarks           []Remark
}

// NewSimulation reads the files of a question and prepares its deployment and its requests.
func NewSimulation(q Question, options ...Option) (*Simulation, error) {
	m, remarks, err := point.NewSimulation(q.ask((*question.Query).TakeFixed, question.Simulate, options))
	return &Simulation{m, remarks}, err
}

// Simulated is the outcome of a simulation.
type Simulated struct {
	*simulate.Result // nil after an error
	Remarks          []Remark
}

// Simulate sends requests through the deployment that a question fixes.
func Simulate(ctx context.Context, q Question, options ...Option) (*Simulated, error) {
	m, err := NewSimulation(q, options...)
	out := &Simulated{Remarks: m.Remarks}
	if err == nil {
		err = m.Settle(ctx)
	}
	if err == nil {
		out.Result, err = m.Run(ctx, m.Options)
	}
	if err == nil {
		out.Remarks = append(out.Remarks, m.After(out.Result)...)
	}
	return out, err
}

func (r *Simulated) MarshalJSON() ([]byte, error) { return r.Result.JSON() }
