package point

import (
	"throughline/internal/document"
	"throughline/internal/question"
)

// Ask answers a question about one deployment. There are remarks also where there is no answer.
func (e *Estimator) Ask(a *question.Query) (*Answer, []question.Remark, error) {
	if a.Wrong != nil && a.Model == "" {
		return nil, nil, a.Wrong
	}
	answer, err := e.Answer(&a.Question)
	remarks := question.Warnings(e.Warnings(&a.Question))
	if err := document.Join(a.Wrong, err); err != nil {
		return nil, remarks, question.Once(err)
	}
	loaded := *answer.Phases[0].Loaded
	loaded.PowerLimit = a.PowerLimit // of several, the answer has the first
	remarks = append(remarks, a.Ineffective(&loaded)...)
	if a.Given("vector") && e.sameVector(answer, &a.Question) {
		remarks = append(remarks, question.Remark{Kind: question.Note, Setting: "vector", Text: "has no effect: no operator of these steps waits for the vector unit"})
	}
	remarks = append(remarks, answer.remark()...)
	if full := answer.Overfull(); len(full) > 0 {
		remarks = append(remarks, full...)
		if near := e.Nearest(&a.Question); near != "" {
			remarks = append(remarks, question.Remark{Kind: question.Warning, Text: near})
		}
	}
	return answer, remarks, nil
}

// sameVector reports whether steps take as long with the usual number format of the vector unit.
func (e *Estimator) sameVector(answer *Answer, q *question.Question) bool {
	usual := *q
	usual.Formats.Vector = ""
	without, err := e.Answer(&usual)
	if err != nil || answer.Deployment.Precision.VectorType == without.Deployment.Precision.VectorType {
		return false
	}
	for i := range answer.Phases {
		if answer.Phases[i].Estimate.StepTime != without.Phases[i].Estimate.StepTime {
			return false
		}
	}
	return true
}

func (a *Answer) remark() []question.Remark {
	if a.Remark == "" {
		return nil
	}
	return []question.Remark{{Kind: question.Warning, Text: a.Remark}}
}

// Overfull are warnings of steps that do not fit into memory.
func (a *Answer) Overfull() []question.Remark {
	var out []question.Remark
	for _, side := range a.Sides {
		if side != nil && side.TooMuch() != "" {
			out = append(out, question.Remark{Kind: question.Warning, Text: side.TooMuch()})
		}
	}
	return out
}
