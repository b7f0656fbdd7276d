package calibrate

import (
	"fmt"

	"throughline/hardware"
	"throughline/kernel"
	"throughline/measurement"
)

// Predictor gives the times of measured kernels on a system that has calibrated ones.
type Predictor struct {
	system *hardware.System
	set    *kernel.Set
	timers map[string]func(*measurement.Row) float64
}

// NewPredictor prepares the kernels of a system.
func NewPredictor(s *hardware.System) *Predictor {
	p := &Predictor{system: s, set: s.Kernels, timers: map[string]func(*measurement.Row) float64{}}
	if p.set == nil {
		p.set = &kernel.Set{}
	}
	return p
}

// Seconds is the predicted time of a row; false where no kernel of its kind and number type is calibrated.
func (p *Predictor) Seconds(r *measurement.Row) (float64, bool) {
	if c, ok := classOf(r); !ok && c.name != "fused experts" {
		return 0, false
	}
	key := fmt.Sprint(r.Kind, " ", r.Type, " ", cacheType(r), " ", computed(r), " ", r.Label("kernel"))
	timer, known := p.timers[key]
	if !known {
		timer = p.timer(r)
		p.timers[key] = timer
	}
	if timer == nil {
		return 0, false
	}
	return timer(r), true
}

// timer finds the model of a kind of row, prepared for the system; nil: there is none.
func (p *Predictor) timer(r *measurement.Row) func(*measurement.Row) float64 {
	set, s := p.set, p.system
	peak := Peak{Rate: rate(s, r.Type) * 1e12, Bandwidth: s.Memory.GBps * 1e9}
	link := s.Networks[0].Bandwidth * 1e9
	switch r.Kind {
	case measurement.Gemm:
		if t := prepare(set.Gemm[r.Type], peak.Rate, peak.Bandwidth); t != nil {
			return func(r *measurement.Row) float64 { return t.Seconds(r.Get("m"), r.Get("n"), r.Get("k")) }
		}
	case measurement.GroupedGemm:
		if t := prepare(set.GroupedGemm[r.Type], peak.Rate, peak.Bandwidth); t != nil {
			return func(r *measurement.Row) float64 {
				return t.Seconds(r.Get("experts"), r.Get("m"), r.Get("n"), r.Get("k"))
			}
		}
	case measurement.Experts:
		if t := prepare(set.Experts[r.Type], rate(s, computed(r))*1e12, peak.Bandwidth); t != nil {
			return func(r *measurement.Row) float64 {
				b := newBlock(r)
				return t.Block(b.experts, b.rows, b.outer, b.up, b.inner)
			}
		}
	case measurement.Decode, measurement.LatentDecode:
		models := set.Decode
		if r.Kind == measurement.LatentDecode {
			models = set.LatentDecode
		}
		if t := prepare(models[cacheType(r)], peak.Rate, peak.Bandwidth); t != nil {
			return func(r *measurement.Row) float64 {
				h, token := decodeShape(r)
				return t.Seconds(r.Get("b"), r.Get("s"), h, token)
			}
		}
	case measurement.Prefill, measurement.LatentPrefill:
		models := set.Prefill
		if r.Kind == measurement.LatentPrefill {
			models = set.LatentPrefill
		}
		if t := prepare(models[r.Type], peak.Rate, peak.Bandwidth); t != nil {
			return func(r *measurement.Row) float64 {
				return t.Seconds(r.Get("b"), r.Get("s"), r.Get("step"), prefillShape(r))
			}
		}
	case measurement.Absorb:
		if t := prepare(set.Absorb[r.Type], peak.Rate, peak.Bandwidth); t != nil {
			return func(r *measurement.Row) float64 {
				return t.Seconds(r.Get("h"), r.Get("tokens"), r.Get("n"), r.Get("k"))
			}
		}
	case measurement.LinearPrefill, measurement.LinearDecode:
		models, prefill := set.LinearDecode, false
		if r.Kind == measurement.LinearPrefill {
			models, prefill = set.LinearPrefill, true
		}
		if t := prepare(models["gated_delta"], peak.Rate, peak.Bandwidth); t != nil {
			return func(r *measurement.Row) float64 {
				h := linearHeads(r)
				return t.Seconds(r.Get("b"), r.Get("s"), h, kernel.StateFlops(true, prefill, h.Key, h.Value))
			}
		}
	case measurement.ConvPrefill:
		return moved(set.Convolution["prefill"], peak.Bandwidth)
	case measurement.ConvDecode:
		return moved(set.Convolution["decode"], peak.Bandwidth)
	case measurement.AddNorm, measurement.SiluMul:
		return moved(set.Elementwise[string(r.Kind)], peak.Bandwidth)
	case measurement.DeviceCopy:
		return moved(set.Copy[string(r.Kind)], peak.Bandwidth)
	case measurement.ToHost, measurement.ToDevice:
		if s.Memory2 != nil {
			return moved(set.Copy[fmt.Sprint(r.Kind, " ", r.Type)], s.Memory2.GBps*1e9)
		}
	case measurement.AllReduce, measurement.AllGather, measurement.ReduceScatter, measurement.AllToAll:
		if m := set.Collective[collectiveKey(r)]; m != nil {
			if t, err := m.At(link); err == nil {
				return func(r *measurement.Row) float64 { return t.Seconds(r.Get("group"), r.Get("n")) }
			}
		}
	case measurement.Dispatch, measurement.Combine, measurement.LowLatencyDispatch, measurement.LowLatencyCombine:
		outside := s.Networks[min(1, len(s.Networks)-1)].Bandwidth * 1e9
		if m := set.Exchange[exchanges[r.Kind].key]; m != nil {
			if t, err := m.At(link, outside); err == nil {
				return func(r *measurement.Row) float64 {
					return t.Seconds(r.Get("tokens"), r.Get("topk"), r.Get("experts"), r.Get("hidden"), r.Get("ranks"), r.Get("nodes"))
				}
			}
		}
	}
	return nil
}

// prepare is the model at given peaks, or nil where there is none.
func prepare[M interface {
	comparable
	At(rate, bandwidth float64) (*T, error)
}, T any](m M, rate, bandwidth float64) *T {
	var none M
	if m == none || !(rate > 0) {
		return nil
	}
	t, err := m.At(rate, bandwidth)
	if err != nil {
		return nil // the loader has checked the model
	}
	return t
}

// moved is the time of a kernel that moves bytes.
func moved(c *kernel.Curve, bandwidth float64) func(*measurement.Row) float64 {
	if c == nil {
		return nil
	}
	t, err := c.At(bandwidth)
	if err != nil {
		return nil
	}
	return func(r *measurement.Row) float64 { return t.Seconds(curveShape(r)) }
}
