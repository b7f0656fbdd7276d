package result

import (
	"fmt"
	"slices"

	"throughline/deploy"
	"throughline/hardware"
	"throughline/number"
	"throughline/op"
)

// Pay fills in the dollars of a million output tokens, where the price of all processors is known:
// those that are spare are paid as well.
func (r *Record) Pay(d *deploy.Deployment, price func(*hardware.System) (float64, *hardware.Price)) {
	if !r.Served {
		return
	}
	if hourly, listed := Hourly(d, price); hourly > 0 {
		hourly *= float64(max(r.Procs, d.Procs())) / float64(d.Procs())
		r.DollarsPerMillion, r.Listed = hourly/3600/r.Tokens()*1e6, listed
	}
}

// Hourly is what all processors of a deployment cost per hour, and the prices of systems that it
// rests on, in words; 0: that of some is not known.
func Hourly(d *deploy.Deployment, price func(*hardware.System) (float64, *hardware.Price)) (hourly float64, listed []string) {
	for i := range d.Pools {
		sys := d.Pools[i].System
		dollars, own := price(sys)
		if dollars == 0 {
			return 0, nil
		}
		hourly += dollars * float64(d.Pools[i].Procs())
		if own != nil {
			if text := Listed(sys.Name, own); !slices.Contains(listed, text) {
				listed = append(listed, text)
			}
		}
	}
	return hourly, listed
}

// Listed is the price of a system in words, with its date and source.
func Listed(system string, p *hardware.Price) string {
	return fmt.Sprintf("%s for $%s per hour as of %s, by %s", system, number.Plain(p.Dollars, 4), p.Date, p.Source)
}

// made is a field of what the processors that decode cost to make.
func made(name string, u Unit, doc string, value func(*hardware.System, *hardware.Economics) any) Field {
	return Field{name, u, Answers, doc, func(r *Record) any {
		s := r.Sides[op.Decode]
		if s == nil || s.System.Economics == nil || len(s.System.Economics.Dies) == 0 {
			return nil
		}
		return value(s.System, s.System.Economics)
	}}
}

// economicFields are what a processor costs to make, of the system that decodes.
var economicFields = []Field{
	made("dies_per_wafer", None, "dies of the first kind of the GPU on a wafer", func(_ *hardware.System, e *hardware.Economics) any { return e.Dies[0].PerWafer() }),
	made("die_yield(%)", Percent, "share of them that is good, by the negative binomial distribution of defects", func(_ *hardware.System, e *hardware.Economics) any { return 100 * e.Dies[0].Yield() }),
	made("silicon_dollars", "$", "dollars of the good dies of a GPU", func(_ *hardware.System, e *hardware.Economics) any { return e.Silicon() }),
	made("processor_dollars", "$", "dollars to make a GPU: dies, package and memory, where all are known", func(s *hardware.System, e *hardware.Economics) any {
		dollars, known := e.Made(s.Memory.GiB)
		if !known {
			return nil
		}
		return dollars
	}),
	made("die_mm2", None, "area of the largest die of a GPU, in mm²", func(_ *hardware.System, e *hardware.Economics) any { return e.LargestDie() }),
	made("silicon_mm2", None, "area of all dies of a GPU, in mm²", func(_ *hardware.System, e *hardware.Economics) any { return e.SiliconArea() }),
	per("tokens_per_s_per_mm2", "output tokens per second and mm² of all dies of all GPUs", (*hardware.System).SiliconArea),
	per("tokens_per_s_per_dollar", "output tokens per second and dollar of all GPUs: dollars to make them, or to buy them where these are not known", (*hardware.System).Worth),
}

// per is a field of the throughput by what all processors of a deployment have together, spare ones
// included, where that is known of each.
func per(name, doc string, of func(*hardware.System) (float64, bool)) Field {
	return Field{name, None, Answers, doc, func(r *Record) any {
		prefill, decode := r.Sides[op.Prefill], r.Sides[op.Decode]
		if decode == nil || !r.Served {
			return nil
		}
		each, known := of(decode.System)
		sum := each * float64(r.Procs)
		if prefill != nil && prefill.System != decode.System {
			other, also := of(prefill.System)
			sum = each*float64(decode.Instances*decode.Procs) + other*float64(prefill.Instances*prefill.Procs)
			known = known && also
		}
		if !known || sum == 0 {
			return nil
		}
		return r.Tokens() / sum
	}}
}
