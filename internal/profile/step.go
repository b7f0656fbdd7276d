package profile

import (
	"math"
	"slices"
)

// Step is what kernels take of one step, in ms, beside the prediction.
type Step struct {
	Steps     float64     `json:"steps"` // in the profile, by how often kernels of attention ran; 0: unknown
	Measured  float64     `json:"measured_ms"`
	Predicted float64     `json:"predicted_ms"`
	Classes   []StepClass `json:"classes"`
}

type StepClass struct {
	Name      string  `json:"class"`
	Measured  float64 `json:"measured_ms"`
	Predicted float64 `json:"predicted_ms"`
	Calls     float64 `json:"calls_per_step"`
	Kernel    string  `json:"longest_kernel,omitempty"`
}

// attention is the class whose kernels run once in a layer.
const attention = "attention"

// PerStep divides a profile by its steps. A layer runs a kernel of attention once, so the kernel of
// that class with the most calls tells the steps; without times and counts there is nothing to say.
func PerStep(classes []Class, busy float64, layers int) *Step {
	out := &Step{Predicted: 1e3 * busy}
	at := slices.IndexFunc(classes, func(c Class) bool { return c.Name == attention })
	if at < 0 || layers == 0 {
		return out
	}
	calls, timed := 0.0, false
	for _, k := range classes[at].Kernels {
		calls, timed = math.Max(calls, k.Calls), timed || k.Time > 0
	}
	if out.Steps = calls / float64(layers); !timed || out.Steps < 1 {
		out.Steps = 0
		return out
	}
	for i := range classes {
		c := &classes[i]
		s := StepClass{Name: c.Name, Predicted: 1e3 * busy * c.Predicted}
		for _, k := range c.Kernels {
			s.Measured += k.Time / 1e3 / out.Steps
			s.Calls += k.Calls / out.Steps
		}
		if len(c.Kernels) > 0 {
			s.Kernel = c.Kernels[0].Name
		}
		out.Measured += s.Measured
		out.Classes = append(out.Classes, s)
	}
	slices.SortStableFunc(out.Classes, func(a, b StepClass) int {
		return int(math.Copysign(1, math.Abs(b.Measured-b.Predicted)-math.Abs(a.Measured-a.Predicted)))
	})
	return out
}
