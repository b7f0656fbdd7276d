package report

import (
	"fmt"
	"slices"

	"throughline/estimate"
	"throughline/internal/advice"
	"throughline/op"
	"throughline/search"
)

// resultTable is the table of the whole deployment.
var resultTable = Table{"result_best", []category{
	{"model_basic_config", modelFields},
	{"performance_throughput", slices.Concat(prefill.throughputs(allInstances), decode.throughputs(allInstances))},
	{"system_resource_config", []field{
		{"prefill_system_name", func(c *Column) any { return c.Run.Prefill.System.Name }},
		{"decoder_system_name", func(c *Column) any { return c.Run.Decode.System.Name }},
	}},
	{"result", []field{
		{"num_procs", func(c *Column) any { return c.Run.Procs }},
		both("prefill_instances", func(c *Column) any { return c.Outcome.Prefill.Instances }),
		both("decoder_instances", func(c *Column) any { return c.Outcome.Decode.Instances }),
		both("prefill_num_procs", func(c *Column) any { return c.Outcome.Prefill.Instances * c.Outcome.Prefill.Procs }),
		both("decoder_num_procs", func(c *Column) any { return c.Outcome.Decode.Instances * c.Outcome.Decode.Procs }),
		both("spare_procs", func(c *Column) any { return c.Outcome.Spare(c.Run.Procs) }),
		split("pd_ratio", func(c *Column) any {
			p, d := &c.Outcome.Prefill, &c.Outcome.Decode
			return fmt.Sprintf("%d:%d", p.Instances*p.Procs, d.Instances*d.Procs)
		}),
		both("request_per_second", func(c *Column) any { return c.Outcome.Requests }),
		both("request_per_second_per_npu", func(c *Column) any {
			return c.Outcome.Requests / float64(cards(c.Run.Procs, c.Run.Decode.System.ProcsPerNPU))
		}),
		both("output_throughput(token/s)", func(c *Column) any { return c.Outcome.Requests * float64(c.Run.Lengths.Output) }),
		both("TTFT(s)", func(c *Column) any { return c.latency(op.Prefill) }),
		both("TPOT(s)", func(c *Column) any { return c.latency(op.Decode) }),
		both("request_latency(s)", func(c *Column) any {
			return c.latency(op.Prefill) + float64(c.Run.Lengths.Output-1)*c.latency(op.Decode)
		}),
		both("prefill_request_per_second", func(c *Column) any { return c.Outcome.Prefill.Rate() }),
		both("decoder_request_per_second", func(c *Column) any { return c.Outcome.Decode.Rate() }),
		both("bottleneck", func(c *Column) any { return bottleneck(c) }),
		both("balance", func(c *Column) any { return c.Outcome.Balance() }),
		kv("kv_transfer_per_request(Gib)", func(t *estimate.Transfer) float64 { return gib(t.Bytes) }),
		kv("kv_transfer_time(s)", func(t *estimate.Transfer) float64 { return t.Time }),
		kv("kv_transfer_hidden(s)", func(t *estimate.Transfer) float64 { return t.Hidden() }),
		kv("kv_transfer_exposed(s)", func(t *estimate.Transfer) float64 { return t.Exposed }),
		served("engine", func(s *advice.Candidate) any { return s.Deployment.Engine.Name }),
		served("concurrency", func(s *advice.Candidate) any { return s.Load.Clients }),
		{"TTFT_limit(ms)", func(c *Column) any { return number(c.Run.Limits.TTFT) }},
		{"TPOT_limit(ms)", func(c *Column) any { return number(c.Run.Limits.TPOT) }},
	}},
	{"provenance", provenanceFields},
}}

func allInstances(r *search.Result) int { return r.Instances }

// both is a field that is known where both phases have a plan.
func both(name string, value func(c *Column) any) field {
	return field{name, func(c *Column) any {
		if !c.Outcome.Found() {
			return nil
		}
		return value(c)
	}}
}

// split is such a field of deployments whose phases have processors of their own.
func split(name string, value func(c *Column) any) field {
	return both(name, func(c *Column) any {
		if c.Outcome.Shared {
			return nil
		}
		return value(c)
	})
}

func kv(name string, value func(t *estimate.Transfer) float64) field {
	return split(name, func(c *Column) any { return value(&c.Outcome.Prefill.Best.KV) })
}

// served is a field of what clients see.
func served(name string, value func(s *advice.Candidate) any) field {
	return both(name, func(c *Column) any {
		if c.Served == nil {
			return nil
		}
		return value(c.Served)
	})
}

// bottleneck is the phase that limits the request rate.
func bottleneck(c *Column) string {
	if c.Outcome.Prefill.Rate() < c.Outcome.Decode.Rate() {
		return "prefill"
	}
	return "decoder"
}
