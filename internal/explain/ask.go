package explain

import (
	"fmt"
	"slices"
	"strings"

	"throughline/assume"
	"throughline/internal/document"
	"throughline/internal/point"
	"throughline/internal/question"
	"throughline/op"
)

// Explained is an answer with the reasons for its step times.
type Explained struct {
	*point.Answer
	Why   []*Explanation // by phase of the answer; nil: not explained
	Parts *Parts         // of what clients see; nil: none are served
}

func Ask(a *question.Query) (*Explained, []question.Remark, error) {
	goal, wrong := goalOf(&a.Question)
	errs := []error{wrong, a.Refused()}
	explained := a.Phases()
	if a.Clients() {
		explained = []op.Phase{goal.explainedPhase()}
	}
	answer, remarks, err := point.NewExaminer().Ask(a)
	if err == nil && goal != nil && a.Phase == "" && answer.Seen == nil && answer.Deployment.Assume.Engine {
		errs = append(errs, question.OfSetting("until", fmt.Errorf("%s: no client can be served", a.Until)))
	}
	if err == nil && a.Seek != "" {
		err = question.OfSetting("seek", CheckPath(answer.Phases[0].Problem.System, a.Seek))
	}
	if err := document.Join(append(errs, err)...); err != nil {
		return nil, remarks, question.Once(err)
	}
	out := &Explained{Answer: answer, Why: make([]*Explanation, len(answer.Phases))}
	if out.Parts, err = PartsOf(answer); err != nil {
		return nil, remarks, err
	}
	for i := range answer.Phases {
		phase := answer.Phases[i].Phase
		if !slices.Contains(explained, phase) {
			continue
		}
		if out.Why[i], err = Of(answer, i, a.Limits()); err != nil {
			return nil, remarks, err
		}
		if goal != nil && !a.Replan && goal.Suits(answer, phase) {
			if out.Why[i].Seek, err = Seek(answer, i, a.Seek, goal); err != nil {
				return nil, remarks, err
			}
		}
	}
	return out, remarks, nil
}

// explainedPhase returns the step behind what clients see: decode, unless a goal is about TTFT.
func (g *Goal) explainedPhase() op.Phase {
	if g != nil {
		if phase, about := g.Phase(); about {
			return phase
		}
	}
	return op.Decode
}

// goalOf returns the goal of a question, or nil. Only clients see token times, except under
// reference assumptions.
func goalOf(q *question.Question) (*Goal, error) {
	if q.Until == "" {
		return nil, nil
	}
	goal, err := ParseGoal(q.Until)
	if err != nil {
		return nil, question.OfSetting("until", err)
	}
	if phase, times := goal.Phase(); times && !q.Clients() {
		if reference := strings.HasPrefix(q.Assume, assume.Reference.Name); !reference || !slices.Contains(q.Phases(), phase) {
			return goal, question.OfSetting("until", fmt.Errorf("%s: a bare step has no %s, which clients see; leave out `phase`, or ask for step=", q.Until, goal.Metric()))
		}
	}
	return goal, nil
}
