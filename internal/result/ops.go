package result

import "throughline/estimate"

// ops are sums over the operators of a step, for charts.
func (p sided) ops() []Field {
	summed := func(name string, u Unit, doc string, value func(o *estimate.Summary) any) Field {
		return p.found(OpDetails, "op_"+name, u, doc, func(_ *Record, s *Side) any {
			if s.OpSums == nil {
				return nil
			}
			return value(s.OpSums)
		})
	}
	share := func(name, doc string, value func(o *estimate.Summary) float64) Field {
		return summed(name+"(%)", Percent, doc, func(o *estimate.Summary) any { return 100 * value(o) / o.Step() })
	}
	out := []Field{
		share("compute_bound", "of a step: operators bound by computing, without their static latency. With the four next ones 100", func(o *estimate.Summary) float64 { return o.Compute }),
		share("memory_bound", "of a step: operators bound by memory, without their static latency", func(o *estimate.Summary) float64 { return o.Memory }),
		share("comm_exposed", "of a step: communication that computation does not hide", func(o *estimate.Summary) float64 { return o.Comm }),
		share("static_latency", "of a step: what computing operators would take on a chip of unlimited rates: launches and floors of kernels. 0 where a system has no calibrated kernels", func(o *estimate.Summary) float64 { return o.Static }),
		share("waiting", "of a step: waiting for the slowest stage, the slowest rank, experts that move, the host and the second memory tier", func(o *estimate.Summary) float64 { return o.Waiting }),
	}
	for _, engine := range []string{estimate.Cube, estimate.Vector, estimate.Comm} {
		of := func(name string, u Unit, doc string, value func(e *estimate.Engine) float64) Field {
			return summed(engine+"_"+name, u, doc, func(o *estimate.Summary) any { return value(o.Engines[engine]) })
		}
		out = append(out,
			of("count", None, engine+" operators that a step executes, one after another: in all layers, stages and micro-batches", func(e *estimate.Engine) float64 { return e.Count }),
			of("flops", Flop, "their operations", func(e *estimate.Engine) float64 { return e.Flops }),
			of("mem_accessed", Bytes, "what they read and write in device memory", func(e *estimate.Engine) float64 { return e.Bytes }),
			of("process_time(s)", Seconds, "what they add to a step", func(e *estimate.Engine) float64 { return e.Time }))
		if engine == estimate.Comm {
			out = append(out, of("sent", Bytes, "what they send", func(e *estimate.Engine) float64 { return e.Sent }))
			continue
		}
		out = append(out, of("utilisation(%)", Percent, "their operations over what the engine could do at its peak in that time", func(e *estimate.Engine) float64 { return 100 * e.Utilisation() }))
	}
	ratio := func(name, doc string, value func(e *estimate.Engine) float64) Field {
		return summed("cube_vector_"+name+"_ratio", None, doc+" of cube operators over that of vector operators; empty where these have none", func(o *estimate.Summary) any {
			vector := value(o.Engines[estimate.Vector])
			if vector == 0 {
				return nil
			}
			return value(o.Engines[estimate.Cube]) / vector
		})
	}
	return append(out,
		ratio("time", "time", func(e *estimate.Engine) float64 { return e.Time }),
		ratio("flops", "number of operations", func(e *estimate.Engine) float64 { return e.Flops }),
		ratio("mem", "memory traffic", func(e *estimate.Engine) float64 { return e.Bytes }),
		ratio("count", "number of executions", func(e *estimate.Engine) float64 { return e.Count }))
}
