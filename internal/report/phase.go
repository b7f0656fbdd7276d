package report

import (
	"throughline/cost"
	"throughline/estimate"
	"throughline/internal/jobfile"
	"throughline/op"
	"throughline/schedule"
	"throughline/search"
	"throughline/workload"
)

// phase is one of the two phases in the tables.
type phase struct {
	prefix  string
	problem func(r *jobfile.Run) *search.Problem
	result  func(o *search.Outcome) *search.Result
	limit   func(l *workload.Limits) *float64
}

var (
	prefill = phase{
		"prefill_",
		func(r *jobfile.Run) *search.Problem { return &r.Prefill },
		func(o *search.Outcome) *search.Result { return &o.Prefill },
		func(l *workload.Limits) *float64 { return l.TTFT },
	}
	decode = phase{
		"decoder_",
		func(r *jobfile.Run) *search.Problem { return &r.Decode },
		func(o *search.Outcome) *search.Result { return &o.Decode },
		func(l *workload.Limits) *float64 { return l.TPOT },
	}

	prefillTable = phaseTable("prefill_best", prefill)
	decodeTable  = phaseTable("decoder_best", decode)
)

// phaseTable is the table of one instance of a phase, in the order and with the names of the reference tool,
// misspellings included; behind them what the reference tool does not have.
func phaseTable(name string, p phase) Table {
	extra := append([]field{
		p.estimated("confidence", func(c *Column, e *estimate.Estimate) any { return p.detail(c, e).Confidence.Level.String() }),
		p.estimated("error_band(%)", func(c *Column, e *estimate.Estimate) any { return 100 * p.detail(c, e).Confidence.Band }),
		p.found("instances", func(_ *Column, r *search.Result) any { return r.Instances })}, p.ownFields()...)
	return Table{name, []category{
		{"model_basic_config", modelFields},
		{"performance_throughput", throughputFields(p)},
		{"system_resource_config", p.systemFields()},
		{"parallel_strategy_config", p.planFields()},
		{"other_stats_metrics", p.statFields()},
		{"extended_stats_metrics", extra},
		{"provenance", provenanceFields},
	}}
}

// throughputFields are the throughputs of both phases. In the table of one phase that of the other is left empty,
// unless the same processors do both.
func throughputFields(p phase) []field {
	var out []field
	for _, q := range []phase{prefill, decode} {
		for _, f := range q.throughputs(func(*search.Result) int { return 1 }) {
			out = append(out, field{f.name, func(c *Column) any {
				if q.prefix != p.prefix && !c.Outcome.Shared {
					return nil
				}
				return f.value(c)
			}})
		}
	}
	return out
}

// throughputs are the throughput of the phase and of one of its cards. The number of instances to count is that of a
// result, or one.
func (p phase) throughputs(instances func(r *search.Result) int) []field {
	return []field{
		p.found("throughput(token/s)", func(_ *Column, r *search.Result) any {
			return float64(instances(r)) * r.Best.Throughput
		}),
		p.estimated("throughput_per_npu(token/s)", func(c *Column, e *estimate.Estimate) any { return e.Throughput / float64(p.npus(c)) }),
	}
}

// input is a field that is known for every run.
func (p phase) input(name string, value func(c *Column, q *search.Problem) any) field {
	return field{p.prefix + name, func(c *Column) any { return value(c, p.problem(c.Run)) }}
}

// found is a field that is known where the phase has a plan.
func (p phase) found(name string, value func(c *Column, r *search.Result) any) field {
	return field{p.prefix + name, func(c *Column) any {
		r := p.result(&c.Outcome)
		if !r.Found {
			return nil
		}
		return value(c, r)
	}}
}

// estimated is such a field of the estimate.
func (p phase) estimated(name string, value func(c *Column, e *estimate.Estimate) any) field {
	return p.found(name, func(c *Column, r *search.Result) any { return value(c, &r.Best) })
}

// detail is where the time of the estimate goes; it is worked out once for a column.
func (p phase) detail(c *Column, e *estimate.Estimate) *estimate.Detail {
	known := &c.detail[p.problem(c.Run).Phase]
	if *known == nil {
		*known = detail(&p.problem(c.Run).Problem, e)
	}
	return *known
}

// procs is the processors of one instance: those that were searched, or those that were asked for.
func (p phase) procs(c *Column) any {
	if r := p.result(&c.Outcome); r.Found {
		return r.Procs
	}
	switch pools := c.Run.Pools; {
	case c.Run.Mode == jobfile.Fusion:
		return c.Run.Procs
	case pools == nil:
		return nil // searched, and nothing found
	case p.prefix == prefill.prefix:
		return pools[0]
	default:
		return pools[1]
	}
}

// npus is the cards of one instance.
func (p phase) npus(c *Column) int {
	return cards(p.result(&c.Outcome).Procs, p.problem(c.Run).System.ProcsPerNPU)
}

func (p phase) systemFields() []field {
	network := func(name string, level int, value func(n int, q *search.Problem) any) field {
		return p.input(name, func(_ *Column, q *search.Problem) any {
			if level >= len(q.System.Networks) {
				return nil
			}
			return value(level, q)
		})
	}
	bandwidth := func(n int, q *search.Problem) any { return q.System.Networks[n].Bandwidth }
	latency := func(n int, q *search.Problem) any { return q.System.Networks[n].Latency }
	return []field{
		p.input("system_name", func(_ *Column, q *search.Problem) any { return q.System.Name }),
		p.input("matix_flops", func(_ *Column, q *search.Problem) any {
			return q.System.Matrix[q.Precision.MatrixType].TFlops * q.Assume.FlopsPerTFlop / (1 << 40)
		}),
		p.input("mem1_capacity(Gib)", func(_ *Column, q *search.Problem) any { return q.System.Memory.GiB }),
		p.input("mem1_bindwidth(GBps)", func(_ *Column, q *search.Problem) any { return q.System.Memory.GBps }),
		network("network0_bw(GBps)", 0, bandwidth),
		network("network0_latency(s)", 0, latency),
		network("network1_bw(GBps)", 1, bandwidth),
		network("network1_latency(s)", 1, latency),
	}
}

func (p phase) planFields() []field {
	return []field{
		{p.prefix + "num_procs", p.procs},
		{p.prefix + "num_npu", func(c *Column) any {
			if n, ok := p.procs(c).(int); ok {
				return cards(n, p.problem(c.Run).System.ProcsPerNPU)
			}
			return nil
		}},
		p.estimated("dp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Attention.DP }),
		p.estimated("tp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Attention.TP }),
		p.estimated("pp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Attention.PP }),
		p.estimated("cp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Attention.Context() }),
		p.estimated("sp", func(_ *Column, e *estimate.Estimate) any {
			if e.Plan.SequenceParallel {
				return e.Plan.Attention.TP
			}
			return 1
		}),
		// A dense model has no experts to copy (0), and one slice and one group of them (1).
		p.estimated("moe_dp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Experts.DP }),
		p.estimated("moe_tp", func(_ *Column, e *estimate.Estimate) any { return max(1, e.Plan.Experts.TP) }),
		p.estimated("ep", func(_ *Column, e *estimate.Estimate) any { return max(1, e.Plan.Experts.EP) }),
		p.estimated("microbatchsize", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Batch.Size }),
		p.estimated("attn_microbatchsize", func(c *Column, e *estimate.Estimate) any {
			if !c.Run.Model.IsMoE() {
				return 0
			}
			return e.Plan.Sequences(true)
		}),
		p.estimated("card_mbs", func(c *Column, e *estimate.Estimate) any {
			return float64(e.Plan.Sequences(c.Run.Model.IsMoE())*e.Plan.InFlight()) / float64(e.Plan.Attention.Replica())
		}),
		p.input("flops_type", func(_ *Column, q *search.Problem) any {
			t := &q.Precision
			return t.MatrixType + " " + t.AttentionType + " " + t.VectorType
		}),
		p.estimated("mtp_token", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Drafts }),
		p.input("time_limit(ms)", func(c *Column, _ *search.Problem) any { return number(p.limit(&c.Run.Limits)) }),
		p.input("TPS", func(c *Column, q *search.Problem) any {
			if l := c.Run.Limits.TPOT; q.Phase == op.Decode && l != nil {
				return 1000 / *l
			}
			return nil
		}),
		p.estimated("moe_redundant_expert_num", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Redundant }),
		p.input("deploy_shared_expert_for_each_npu", func(_ *Column, q *search.Problem) any { return q.SharedPerCard }),
	}
}

func (p phase) statFields() []field {
	seconds := func(name string, value func(e *estimate.Estimate) float64) field {
		return p.estimated(name, func(_ *Column, e *estimate.Estimate) any { return value(e) })
	}
	bytes := func(name string, value func(e *estimate.Estimate) float64) field {
		return seconds(name, func(e *estimate.Estimate) float64 { return gib(value(e)) })
	}
	exposed := func(name string, t op.Traffic) field {
		return p.estimated(name, func(c *Column, e *estimate.Estimate) any { return p.detail(c, e).Comm[t].Exposed })
	}
	sent := func(name string, t op.Traffic) field {
		return p.estimated(name, func(c *Column, e *estimate.Estimate) any { return gib(p.detail(c, e).Comm[t].Bytes) })
	}
	stage := func(name string, value func(b *estimate.Breakdown) float64) field {
		return p.estimated("instance_"+name, func(c *Column, e *estimate.Estimate) any { return value(&p.detail(c, e).Stage) })
	}
	attn := func(name string, value func(b *schedule.Totals) float64) field {
		return stage("attn_"+name, func(b *estimate.Breakdown) float64 { return value(&b.Block[op.AttentionBlock]) })
	}
	mlp := func(name string, value func(b *schedule.Totals) float64) field {
		return stage("mlp_"+name, func(b *estimate.Breakdown) float64 { return value(&b.Block[op.MLPBlock]) })
	}
	// The reference tool prints 0 for dense models.
	expertOnly := func(name string, value func(e *estimate.Estimate) float64) field {
		return p.estimated(name, func(c *Column, e *estimate.Estimate) any {
			if !c.Run.Model.IsMoE() {
				return 0
			}
			return value(e)
		})
	}
	ofExperts := func(name string, b op.Block) field {
		return p.estimated(name, func(c *Column, e *estimate.Estimate) any {
			if !c.Run.Model.IsMoE() {
				return 0
			}
			return p.detail(c, e).Stage.Block[b].Time()
		})
	}
	boundBy := func(class op.Class, r cost.Bound) func(b *schedule.Totals) float64 {
		return func(b *schedule.Totals) float64 { return b.Bound[class][r] }
	}
	return []field{
		seconds("request_per_second", func(e *estimate.Estimate) float64 { return e.Requests }),
		p.estimated("mbs_time(s)", func(c *Column, e *estimate.Estimate) any {
			if p.problem(c.Run).Phase == op.Prefill {
				return e.StepTime
			}
			return e.Latency * float64(c.Run.Lengths.Output)
		}),
		exposed("tp_comm_time(s)", op.TensorTraffic),
		exposed("ep_comm_time(s)", op.ExpertTraffic),
		exposed("cp_comm_time(s)", op.ContextTraffic),
		exposed("sp_comm_time(s)", op.SequenceTraffic),
		p.estimated("time_per_token(s)", func(c *Column, _ *estimate.Estimate) any { return c.latency(p.problem(c.Run).Phase) }),
		ofExperts("attn_time_per_token(s)", op.AttentionBlock),
		ofExperts("mlp_time_per_token(s)", op.MLPBlock),

		stage("compute_time_used(s)", func(b *estimate.Breakdown) float64 { return b.BoundBy(cost.Compute) }),
		stage("mem_time_used(s)", func(b *estimate.Breakdown) float64 { return b.BoundBy(cost.Memory) }),
		stage("comm_time_exposed(s)", func(b *estimate.Breakdown) float64 { return b.Exposed() }),
		stage("cube_process_time(s)", func(b *estimate.Breakdown) float64 { return b.ClassTime(op.Linear) + b.ClassTime(op.BMM) }),
		stage("vector_process_time(s)", func(b *estimate.Breakdown) float64 { return b.ClassTime(op.Vector) }),
		stage("compute_time(s)", func(b *estimate.Breakdown) float64 {
			return b.Block[op.AttentionBlock].Compute + b.Block[op.MLPBlock].Compute
		}),
		stage("mem_time(s)", func(b *estimate.Breakdown) float64 {
			return b.Block[op.AttentionBlock].Memory + b.Block[op.MLPBlock].Memory
		}),

		attn("process_time(s)", (*schedule.Totals).Time),
		attn("mem_accessed", func(b *schedule.Totals) float64 { return b.Bytes }),
		attn("mem_time(s)", func(b *schedule.Totals) float64 { return b.Memory }),
		attn("flops", func(b *schedule.Totals) float64 { return b.Flops }),
		attn("compute_time(s)", func(b *schedule.Totals) float64 { return b.Compute }),
		attn("bmm_compute_time(s)", boundBy(op.BMM, cost.Compute)),
		attn("bmm_mem_time(s)", boundBy(op.BMM, cost.Memory)),
		attn("ffn_compute_time(s)", boundBy(op.Linear, cost.Compute)),
		attn("ffn_mem_time(s)", boundBy(op.Linear, cost.Memory)),

		mlp("process_time(s)", (*schedule.Totals).Time),
		expertOnly("instance_mlp_weight_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Weights[op.MLPBlock]) }),
		expertOnly("instance_attn_weight_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Weights[op.AttentionBlock]) }),
		expertOnly("instance_mlp_act_working_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Working[op.MLPBlock]) }),
		expertOnly("instance_attn_act_working_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Working[op.AttentionBlock]) }),
		mlp("mem_accessed", func(b *schedule.Totals) float64 { return b.Bytes }),
		mlp("mem_time(s)", func(b *schedule.Totals) float64 { return b.Memory }),
		mlp("flops", func(b *schedule.Totals) float64 { return b.Flops }),
		mlp("compute_time(s)", func(b *schedule.Totals) float64 { return b.Compute }),
		mlp("ffn_compute_time(s)", boundBy(op.Linear, cost.Compute)),
		mlp("ffn_mem_time(s)", boundBy(op.Linear, cost.Memory)),

		bytes("mem_space(Gib)", func(e *estimate.Estimate) float64 { return e.Memory.WithoutCache() }),
		bytes("tier1_mem(Gib)", func(e *estimate.Estimate) float64 { return e.Memory.Total() }),
		sent("tp_comm_mem_size(Gib)", op.TensorTraffic),
		sent("ep_comm_mem_size(Gib)", op.ExpertTraffic),
		sent("cp_comm_mem_size(Gib)", op.ContextTraffic),
		sent("sp_comm_mem_size(Gib)", op.SequenceTraffic),
		// The one result without a prefix.
		{"kv_cache_total_mem(Gib)", bytes("", func(e *estimate.Estimate) float64 { return e.Memory.Cache }).value},
	}
}

// ownFields are what only this phase has.
func (p phase) ownFields() []field {
	seconds := func(name string, value func(e *estimate.Estimate) float64) field {
		return p.estimated(name, func(_ *Column, e *estimate.Estimate) any { return value(e) })
	}
	if p.prefix == prefill.prefix {
		return []field{
			p.estimated("TTFT(s)", func(c *Column, _ *estimate.Estimate) any { return c.latency(op.Prefill) }),
			seconds("pp_comm_time(s)", func(e *estimate.Estimate) float64 { return e.TransferTime }),
		}
	}
	return []field{
		seconds("step_time(s)", func(e *estimate.Estimate) float64 { return e.StepTime }),
		seconds("draft_time(s)", func(e *estimate.Estimate) float64 { return e.DraftTime }),
		seconds("pp_comm_time(s)", func(e *estimate.Estimate) float64 { return e.TransferTime }),
		p.estimated("tokens_per_step", func(c *Column, e *estimate.Estimate) any {
			return estimate.TokensPerStep(c.Run.Decode.Acceptance, e.Plan.Drafts)
		}),
	}
}

func gib(bytes float64) float64 { return bytes / estimate.GiB }

// detail is where the time of an estimate goes.
func detail(p *estimate.Problem, e *estimate.Estimate) *estimate.Detail {
	d, err := estimate.DetailOf(p, &e.Plan)
	if err != nil {
		panic(err) // the problem has been evaluated before
	}
	return d
}
