package gap

import (
	"errors"

	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/point"
	"throughline/internal/profile"
	"throughline/internal/question"
)

// Profiled is the kernels of a profile beside the operators of a predicted step.
type Profiled struct {
	Classes []profile.Class   `json:"classes"`
	LeftOut []profile.LeftOut `json:"left_out,omitempty"`
	Step    *profile.Step     `json:"step"`
}

// AskProfile compares the profile of a question with the step that is predicted for it.
func AskProfile(q *question.Query) (*Profiled, *point.Answer, []question.Remark, error) {
	summary, wrong := readProfile(q.In, q.Kernels)
	switch q.Phase {
	case question.BothPhases:
		q.Wrong = document.Join(q.Wrong, question.OfSetting("phase", errors.New("one step is compared: decode or prefill")))
	case "":
		q.Phase = question.Decode
	}
	answer, remarks, err := point.NewExaminer().Ask(q)
	if err := document.Join(wrong, err); err != nil {
		return nil, nil, remarks, question.Once(err)
	}
	out, err := profiled(summary, &answer.Phases[0])
	return out, answer, remarks, err
}

// BesideProfile compares a profile with the decode step of an answer.
func BesideProfile(in *files.Door, file string, a *point.Answer) (*Profiled, error) {
	summary, err := readProfile(in, file)
	if err != nil {
		return nil, err
	}
	return profiled(summary, &a.Phases[len(a.Phases)-1])
}

func profiled(summary profile.Summary, r *point.Result) (*Profiled, error) {
	classes, busy, err := profile.Compare(summary.Kernels, r.Operators)
	if err != nil {
		return nil, err
	}
	return &Profiled{classes, summary.LeftOut, profile.PerStep(classes, busy, r.Problem.Model.Layers)}, nil
}

func readProfile(in *files.Door, file string) (profile.Summary, error) {
	if file == "" {
		return profile.Summary{}, question.OfSetting("kernels", errors.New("is missing: a summary of kernels, as nsys stats or PyTorch's profiler write it; or give `measured`, such as tpot=31ms"))
	}
	summary, err := profile.Read(in, file)
	if err != nil {
		return summary, document.Unreadable(in, file, err)
	}
	return summary, nil
}
