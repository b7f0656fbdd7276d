package calibrate

import (
	"throughline/hardware"
	"throughline/hardware/kernel"
	"throughline/internal/measurement"
)

// Predictor gives the times of measured kernels on a system that has calibrated ones.
type Predictor struct {
	system *hardware.System
	set    *kernel.Set
	timers map[model]timer
}

// model is a model of the set, and the number type that it computes in.
type model struct {
	slot          kernel.Slot
	key, computed string
}

// timer is a model at the peaks of the system; without a timing there is none.
type timer struct {
	timing kernel.Timing
	pace   kernel.Pace
}

func NewPredictor(s *hardware.System) *Predictor {
	p := &Predictor{system: s, set: s.Kernels, timers: map[model]timer{}}
	if p.set == nil {
		p.set = &kernel.Set{}
	}
	return p
}

// Seconds predicts the time of a row; false if no kernel of its kind and type is calibrated.
func (p *Predictor) Seconds(r *measurement.Row) (float64, bool) {
	if _, ok := classOf(r); !ok && !subjects[r.Kind].predictsAll {
		return 0, false
	}
	m := model{r.Kind, p.keyOf(r), computed(r)}
	t, known := p.timers[m]
	if !known {
		t = p.timer(r, m.key)
		p.timers[m] = t
	}
	if t.timing == nil {
		return 0, false
	}
	s := subjects[r.Kind].shape(r)
	return t.timing.Seconds(&t.pace, &s), true
}

// keyOf prefers the model of the software that was measured, if the set has it.
func (p *Predictor) keyOf(r *measurement.Row) string {
	key := KeyOf(r)
	if software := SoftwareOf(r); software != "" {
		if by := kernel.KeyBy(key, software); p.set.Model(r.Kind, by) != nil {
			return by
		}
	}
	return key
}

// timer finds the model of a row.
func (p *Predictor) timer(r *measurement.Row, key string) timer {
	timing, ok := p.set.Timing(r.Kind, key)
	peak, has := PeakOf(r, p.system, 1)
	if !ok || !has {
		return timer{}
	}
	far := peak.Bandwidth
	if n := p.system.Networks; r.Kind.Peak() == kernel.LinkPeak {
		far = n[min(1, len(n)-1)].Bandwidth * 1e9
	}
	return timer{timing, kernel.Pace{Flop: 1 / peak.Rate, Byte: 1 / peak.Bandwidth, Far: 1 / far}}
}
