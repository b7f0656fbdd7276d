package sweep

import (
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/jobfile"
	"throughline/internal/question"
	"throughline/internal/scan"
	"throughline/model"
)

// Vary repeats the runs of a runtime file at all points of a scan of numbers of its files.
func Vary(jobs []*jobfile.Job, s *scan.Scan) error {
	v := &jobfile.Variation{Points: s.Len(), At: func(point int) jobfile.Variant {
		values := make([]scan.Value, len(s.Axes))
		s.At(point, values)
		words := s.WordsAt(values)
		q := &question.Question{}
		q.Changed, q.PowerLimit = words["set"], words["power-limit"]
		out := jobfile.Variant{
			System: func(name string, src []byte) (*hardware.System, error) { return q.ReadSystem(name, src) },
			Model:  func(name string, src []byte) (*model.Model, *model.Settings, error) { return q.ReadModel(name, src) },
		}
		for _, value := range values {
			out.Values = append(out.Values, value.Number)
		}
		return out
	}}
	for i := range s.Axes {
		v.Names = append(v.Names, s.Axes[i].Column())
	}
	var errs []error
	for _, job := range jobs {
		errs = append(errs, job.Vary(v))
	}
	return question.Once(document.Join(errs...))
}
