package result

import (
	"slices"

	"throughline/cost"
	"throughline/estimate"
	"throughline/op"
	"throughline/schedule"
)

// sided makes the fields of one phase.
type sided struct{ phase op.Phase }

// input is a field that every run has.
func (p sided) input(c Category, name string, u Unit, doc string, value func(r *Record, s *Side) any) Field {
	return Field{prefixes[p.phase] + name, u, c, doc, func(r *Record) any {
		if s := r.Sides[p.phase]; s != nil {
			return value(r, s)
		}
		return nil
	}}
}

// found is a field of phases with a plan.
func (p sided) found(c Category, name string, u Unit, doc string, value func(r *Record, s *Side) any) Field {
	return p.input(c, name, u, doc, func(r *Record, s *Side) any {
		if !s.Found {
			return nil
		}
		return value(r, s)
	})
}

// sideFields are the fields of one phase with the names of the reference tool, misspellings
// included, in its order, followed by those that it lacks.
func sideFields(phase op.Phase) []Field {
	p := sided{phase}
	return slices.Concat(p.throughputs(), p.system(), p.plan(), p.stats(), p.extended(), p.ops(), p.step())
}

func (p sided) throughputs() []Field {
	what := "output tokens per second"
	if p.phase == op.Prefill {
		what = "prompt tokens per second, cached ones included"
	}
	return []Field{
		p.found(Throughput, "throughput(token/s)", TokenRate, what+", of all instances", func(_ *Record, s *Side) any { return float64(s.Instances) * s.Step.Throughput }),
		p.found(Throughput, "throughput_per_instance(token/s)", TokenRate, what+", of one instance", func(_ *Record, s *Side) any { return s.Step.Throughput }),
		p.found(Throughput, "throughput_per_npu(token/s)", TokenRate, what+", of a package of an instance", func(_ *Record, s *Side) any { return s.Step.Throughput / float64(s.Cards) }),
	}
}

func (p sided) system() []Field {
	network := func(level int, name string, u Unit, doc string, value func(s *Side) float64) Field {
		return p.input(System, name, u, doc, func(_ *Record, s *Side) any {
			if level >= len(s.System.Networks) {
				return nil
			}
			return value(s)
		})
	}
	return []Field{
		p.input(System, "system_name", None, "name of the system", func(_ *Record, s *Side) any { return s.System.Name }),
		p.input(System, "matix_flops", None, "peak of the matrix unit in units of 2^40 operations per second, without calibration", func(r *Record, s *Side) any {
			return s.System.Matrix[r.Precision.MatrixType].TFlops * r.Assume.FlopsPerTFlop / (1 << 40)
		}),
		p.input(System, "mem1_capacity(Gib)", GiB, "device memory", func(_ *Record, s *Side) any { return s.System.Memory.GiB }),
		p.input(System, "mem1_bindwidth(GBps)", GBps, "bandwidth of the device memory", func(_ *Record, s *Side) any { return s.System.Memory.GBps }),
		network(0, "network0_bw(GBps)", GBps, "bandwidth of the innermost level of the network", func(s *Side) float64 { return s.System.Networks[0].Bandwidth }),
		network(0, "network0_latency(s)", Seconds, "its latency", func(s *Side) float64 { return s.System.Networks[0].Latency }),
		network(1, "network1_bw(GBps)", GBps, "bandwidth of the level around it, empty if there is none", func(s *Side) float64 { return s.System.Networks[1].Bandwidth }),
		network(1, "network1_latency(s)", Seconds, "its latency", func(s *Side) float64 { return s.System.Networks[1].Latency }),
	}
}

func (p sided) plan() []Field {
	number := func(name, doc string, value func(r *Record, e *estimate.Estimate) int) Field {
		return p.found(Parallel, name, None, doc, func(r *Record, s *Side) any { return value(r, &s.Step.Estimate) })
	}
	procs := func(n func(s *Side) int) func(*Record, *Side) any {
		return func(_ *Record, s *Side) any {
			if s.Procs == 0 {
				return nil
			}
			return n(s)
		}
	}
	return []Field{
		p.input(Parallel, "procs_per_instance", None, "GPUs of one instance", procs(func(s *Side) int { return s.Procs })),
		p.input(Parallel, "num_npu", None, "packages of one instance", procs(func(s *Side) int { return s.Cards })),
		number("dp", "data parallelism of attention and dense layers", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Attention.DP }),
		number("tp", "tensor parallelism of attention and dense layers", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Attention.TP }),
		number("pp", "pipeline stages", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Attention.PP }),
		number("cp", "parts of the context", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Attention.Context() }),
		number("sp", "ranks that norms and residuals are spread over: `*_tp` with sequence parallelism, else 1", func(_ *Record, e *estimate.Estimate) int {
			if e.Plan.SequenceParallel {
				return e.Plan.Attention.TP
			}
			return 1
		}),
		number("moe_dp", "copies of the experts; 0 for a dense model", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Experts.DP }),
		number("moe_tp", "slices of an expert; 1 for a dense model", func(_ *Record, e *estimate.Estimate) int { return max(1, e.Plan.Experts.TP) }),
		number("ep", "groups of the experts; 1 for a dense model", func(_ *Record, e *estimate.Estimate) int { return max(1, e.Plan.Experts.EP) }),
		number("microbatchsize", "sequences of a micro-batch: of a data-parallel rank in a dense model, of a GPU in an expert model", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Batch.Size }),
		number("attn_microbatchsize", "of an expert model, sequences of a data-parallel rank; 0 for a dense model", func(r *Record, e *estimate.Estimate) int {
			if !r.Model.IsMoE() {
				return 0
			}
			return e.Plan.Sequences(true)
		}),
		p.found(Parallel, "card_mbs", None, "sequences per GPU", func(r *Record, s *Side) any {
			return float64(s.Step.Plan.Sequences(r.Model.IsMoE())*s.Step.Plan.Underway()) / float64(s.Step.Plan.Attention.Replica())
		}),
		p.input(Parallel, "flops_type", None, "number types of the matrix, attention and vector rates", func(r *Record, _ *Side) any {
			return r.Precision.MatrixType + " " + r.Precision.AttentionType + " " + r.Precision.VectorType
		}),
		number("mtp_token", "drafts per step, 0 in prefill", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Drafts }),
		p.input(Parallel, "time_limit(ms)", Millis, "the limit of the phase, TTFT or TPOT", func(_ *Record, s *Side) any { return optional(s.Limit) }),
		p.input(Parallel, "TPS", TokenRate, "tokens per second of a user at the TPOT limit; empty in prefill", func(r *Record, s *Side) any {
			if s.Phase == op.Decode && s.Limit != nil {
				return 1000 / *s.Limit
			}
			return nil
		}),
		number("moe_redundant_expert_num", "extra copies of routed experts", func(_ *Record, e *estimate.Estimate) int { return e.Plan.Redundant }),
		p.input(Parallel, "deploy_shared_expert_for_each_npu", None, "every GPU holds the shared experts itself", func(_ *Record, s *Side) any { return s.SharedPerCard }),
	}
}

// stats are the times, memory and traffic of a phase.
func (p sided) stats() []Field {
	return slices.Concat(p.allStages(), p.stages(), p.attentionBlock(), p.feedForwardBlock(), p.spaces())
}

func (p sided) allStages() []Field {
	return []Field{
		p.found(Stats, "request_per_second_per_instance", Rate, "requests of one instance", func(_ *Record, s *Side) any { return s.Step.Requests }),
		p.found(Stats, "mbs_time(s)", Seconds, "prefill: all stages and micro-batches. Decode: the time of all output tokens of a request", func(r *Record, s *Side) any {
			if s.Phase == op.Prefill {
				return s.Step.StepTime
			}
			return s.Step.Latency * float64(r.Lengths.Output)
		}),
		p.exposed("tp_comm_time(s)", op.TensorTraffic, "all-reduces"),
		p.exposed("ep_comm_time(s)", op.ExpertTraffic, "exchanges and slices of experts"),
		p.exposed("cp_comm_time(s)", op.ContextTraffic, "ring exchanges"),
		p.exposed("sp_comm_time(s)", op.SequenceTraffic, "gathering and scattering of sequence parallelism"),
		p.found(Stats, "time_per_token(s)", Seconds, "decode: time per output token (TPOT). Prefill: time to the first token, as in `prefill_TTFT(s)`", func(_ *Record, s *Side) any { return s.Latency }),
		p.ofExperts("attn_time_per_token(s)", Seconds, "`*_instance_attn_process_time(s)` again", func(s *Side) float64 { return s.Step.Stage.Block[attn].Time() }),
		p.ofExperts("mlp_time_per_token(s)", Seconds, "`*_instance_mlp_process_time(s)` again", func(s *Side) float64 { return s.Step.Stage.Block[mlp].Time() }),
	}
}

func (p sided) stages() []Field {
	return []Field{
		p.stage("compute_time_used(s)", Seconds, "time of the operators bound by computing", func(b *estimate.Breakdown) float64 { return b.BoundBy(cost.Compute) }),
		p.stage("mem_time_used(s)", Seconds, "time of the operators bound by memory. With those bound by computing and the exposed communication the time of the stage", func(b *estimate.Breakdown) float64 { return b.BoundBy(cost.Memory) }),
		p.stage("comm_time_exposed(s)", Seconds, "communication that is not hidden", (*estimate.Breakdown).Exposed),
		p.stage("cube_process_time(s)", Seconds, "time of matrix operators: products with weights and of attention", func(b *estimate.Breakdown) float64 { return b.ClassTime(op.Linear) + b.ClassTime(op.BMM) }),
		p.stage("vector_process_time(s)", Seconds, "time of vector operators", func(b *estimate.Breakdown) float64 { return b.ClassTime(op.Vector) }),
		p.stage("compute_time(s)", Seconds, "computing time of all operators, whatever bounds them", func(b *estimate.Breakdown) float64 { return b.Block[attn].Compute + b.Block[mlp].Compute }),
		p.stage("mem_time(s)", Seconds, "memory time of all operators, buffers of communication included", func(b *estimate.Breakdown) float64 { return b.Block[attn].Memory + b.Block[mlp].Memory }),
	}
}

func (p sided) attentionBlock() []Field {
	return []Field{
		p.block(attn, "process_time(s)", Seconds, "time of attention", (*schedule.Totals).Time),
		p.block(attn, "mem_accessed", Bytes, "read and written by attention, buffers of communication included", bytesOf),
		p.block(attn, "mem_time(s)", Seconds, "time of that traffic alone", memoryOf),
		p.block(attn, "flops", Flop, "operations of attention, additions of collectives included", flopsOf),
		p.block(attn, "compute_time(s)", Seconds, "time of these operations alone, without those of collectives", computeOf),
		p.block(attn, "bmm_compute_time(s)", Seconds, "time of the attention products that are bound by computing", boundBy(op.BMM, cost.Compute)),
		p.block(attn, "bmm_mem_time(s)", Seconds, "time of those bound by memory", boundBy(op.BMM, cost.Memory)),
		p.block(attn, "ffn_compute_time(s)", Seconds, "time of the products with weights in attention that are bound by computing", boundBy(op.Linear, cost.Compute)),
		p.block(attn, "ffn_mem_time(s)", Seconds, "time of those bound by memory", boundBy(op.Linear, cost.Memory)),
	}
}

func (p sided) feedForwardBlock() []Field {
	return []Field{
		p.block(mlp, "process_time(s)", Seconds, "time of the feed-forward block", (*schedule.Totals).Time),
		p.ofExperts("instance_mlp_weight_space(Gib)", GiB, "weights of the feed-forward block on a GPU", func(s *Side) float64 { return gib(s.Step.Memory.Weights[mlp]) }),
		p.ofExperts("instance_attn_weight_space(Gib)", GiB, "weights of attention on a GPU", func(s *Side) float64 { return gib(s.Step.Memory.Weights[attn]) }),
		p.ofExperts("instance_mlp_act_working_space(Gib)", GiB, "largest result of an operator of the feed-forward block", func(s *Side) float64 { return gib(s.Step.Memory.Working[mlp]) }),
		p.ofExperts("instance_attn_act_working_space(Gib)", GiB, "largest result of an operator of attention", func(s *Side) float64 { return gib(s.Step.Memory.Working[attn]) }),
		p.block(mlp, "mem_accessed", Bytes, "read and written by the feed-forward block, buffers of communication included", bytesOf),
		p.block(mlp, "mem_time(s)", Seconds, "time of that traffic alone", memoryOf),
		p.block(mlp, "flops", Flop, "operations of the feed-forward block, additions of collectives included", flopsOf),
		p.block(mlp, "compute_time(s)", Seconds, "time of these operations alone, without those of collectives", computeOf),
		p.block(mlp, "ffn_compute_time(s)", Seconds, "time of the products of the feed-forward block that are bound by computing", boundBy(op.Linear, cost.Compute)),
		p.block(mlp, "ffn_mem_time(s)", Seconds, "time of those bound by memory", boundBy(op.Linear, cost.Memory)),
	}
}

// spaces are what a processor holds and sends.
func (p sided) spaces() []Field {
	return []Field{
		p.held("mem_space(Gib)", "weights and the larger of the two working spaces", (*estimate.Memory).WithoutCache),
		p.held("tier1_mem(Gib)", "that and the KV cache: what must fit into the device memory", (*estimate.Memory).Total),
		p.sent("tp_comm_mem_size(Gib)", op.TensorTraffic, "what a GPU sends by all-reduces for a whole request, hidden or not, all stages"),
		p.sent("ep_comm_mem_size(Gib)", op.ExpertTraffic, "what it sends between experts, of one stage"),
		p.sent("cp_comm_mem_size(Gib)", op.ContextTraffic, "what it sends by ring exchanges, all stages"),
		p.sent("sp_comm_mem_size(Gib)", op.SequenceTraffic, "what it sends for sequence parallelism, all stages"),
		p.held("kv_cache_total_mem(Gib)", "KV cache of a GPU, of the phase of the table: at the end of the prompt, and of the request", func(m *estimate.Memory) float64 { return m.Cache }),
	}
}

const attn, mlp = op.AttentionBlock, op.MLPBlock

func bytesOf(b *schedule.Totals) float64   { return b.Bytes }
func memoryOf(b *schedule.Totals) float64  { return b.Memory }
func flopsOf(b *schedule.Totals) float64   { return b.Flops }
func computeOf(b *schedule.Totals) float64 { return b.Compute }

// boundBy sums the time of operators of a class that a resource bounds.
func boundBy(class op.Class, r cost.Bound) func(b *schedule.Totals) float64 {
	return func(b *schedule.Totals) float64 { return b.Bound[class][r] }
}

// exposed is the time that a step waits for communication.
func (p sided) exposed(name string, t op.Traffic, what string) Field {
	return p.found(Stats, name, Seconds, what+": what computation does not hide of it in a step, all stages", func(_ *Record, s *Side) any { return s.Step.Comm[t].Exposed })
}

func (p sided) sent(name string, t op.Traffic, doc string) Field {
	return p.found(Stats, name, GiB, doc, func(_ *Record, s *Side) any { return gib(s.Step.Comm[t].Bytes) })
}

// stage is a field of one stage, and block one of a block of its layers.
func (p sided) stage(name string, u Unit, doc string, value func(b *estimate.Breakdown) float64) Field {
	return p.found(Stats, "instance_"+name, u, doc, func(_ *Record, s *Side) any { return value(&s.Step.Stage) })
}

func (p sided) block(b op.Block, name string, u Unit, doc string, value func(t *schedule.Totals) float64) Field {
	return p.stage([...]string{attn: "attn_", mlp: "mlp_"}[b]+name, u, doc, func(d *estimate.Breakdown) float64 { return value(&d.Block[b]) })
}

// ofExperts is a field of expert models; the reference tool prints 0 for dense ones.
func (p sided) ofExperts(name string, u Unit, doc string, value func(s *Side) float64) Field {
	return p.found(Stats, name, u, doc+"; 0 for a dense model", func(r *Record, s *Side) any {
		if !r.Model.IsMoE() {
			return 0
		}
		return value(s)
	})
}

func (p sided) held(name, doc string, value func(m *estimate.Memory) float64) Field {
	return p.found(Stats, name, GiB, doc, func(_ *Record, s *Side) any { return gib(value(&s.Step.Memory)) })
}

// extended are fields that the reference tool lacks.
func (p sided) extended() []Field {
	seconds := func(name, doc string, value func(e *estimate.Estimate) float64) Field {
		return p.found(Extended, name, Seconds, doc, func(_ *Record, s *Side) any { return value(&s.Step.Estimate) })
	}
	out := []Field{
		p.found(Extended, "confidence", None, "what three quarters of the time rest on: `measured` (kernels measured on this chip, at these very shapes), `fitted` (between the shapes that were), `extrapolated` (beyond them) or `estimated` (kernels of another chip, or the roofline); see [Confidence](model.md#confidence)",
			func(_ *Record, s *Side) any { return s.Step.Confidence.Level.String() }),
		p.found(Extended, "error_band(%)", Percent, "the band of the step: four times in five the truth lies between the time divided by 1 + the band and the time multiplied by it; empty with reference assumptions; see [Confidence](model.md#confidence)",
			func(_ *Record, s *Side) any { return bandOf(&s.Step.Confidence) }),
		p.found(Extended, "instances", None, "equal copies of the instance", func(_ *Record, s *Side) any { return s.Instances }),
	}
	transfer := seconds("pp_comm_time(s)", "handing activations from stage to stage, all micro-batches", func(e *estimate.Estimate) float64 { return e.TransferTime })
	if p.phase == op.Prefill {
		return append(out,
			p.found(Extended, "TTFT(s)", Seconds, "time to the first token: the prefill, and the KV transfer that it does not hide", func(_ *Record, s *Side) any { return s.Latency }),
			transfer)
	}
	return append(out,
		seconds("step_time(s)", "one step: all stages, all micro-batches, drafts", func(e *estimate.Estimate) float64 { return e.StepTime }),
		seconds("draft_time(s)", "of that, drafting", func(e *estimate.Estimate) float64 { return e.DraftTime }),
		transfer,
		p.found(Extended, "tokens_per_step", None, "output tokens that a step yields on average, 1 without drafts", func(_ *Record, s *Side) any { return s.TokensPerStep }))
}

// drawn is a field of steps whose watts are known.
func (p sided) drawn(name string, u Unit, doc string, value func(s *Side) any) Field {
	return p.found(Step, name, u, doc, func(_ *Record, s *Side) any {
		if s.Step.Drawn == nil {
			return nil
		}
		return value(s)
	})
}

// step are further fields of estimate, explain and plan.
func (p sided) step() []Field {
	text := func(name, doc string, value func(s *Side) any) Field {
		return p.found(Step, name, None, doc, func(_ *Record, s *Side) any { return value(s) })
	}
	share := func(name, doc string, value func(s *estimate.Shares) float64) Field {
		return p.found(Step, "share_"+name, Seconds, doc, func(_ *Record, s *Side) any { return value(&s.Step.Shares) })
	}
	memory := func(name, doc string, value func(s *Side) float64) Field {
		return p.found(Step, name, GiB, doc, func(_ *Record, s *Side) any { return gib(value(s)) })
	}
	return []Field{
		text("plan", "the plan in one word", func(s *Side) any { return s.Step.Plan.String() }),
		text("plans", "all instances in one word: with their number, redundant experts and drafts", func(s *Side) any { return Instances(s.Instances, &s.Step.Plan) }),
		text("bound", "what takes the largest share of a step: compute, memory, network or the second memory tier", func(s *Side) any { return s.Bound.By }),
		text("bound_by", "the same, with that share", func(s *Side) any { return s.Bound.String() }),
		p.found(Step, "bound_share(%)", Percent, "that share", func(_ *Record, s *Side) any { return 100 * s.Bound.Share }),
		text("sequences", "in flight on all GPUs of an instance", func(s *Side) any { return s.Sequences }),
		p.found(Step, "latency(s)", Seconds, "time to the first token or per output token of a bare step", func(_ *Record, s *Side) any { return s.Step.Latency }),
		p.found(Step, "latency_alone(s)", Seconds, "the same, where no engine is assumed", func(r *Record, s *Side) any {
			if r.Assume.Engine {
				return nil
			}
			return s.Step.Latency
		}),
		p.drawn("step_watts", Watts, "watts of a GPU in steps that follow each other without a pause", func(s *Side) any { return s.Step.Drawn.Watts() }),
		p.drawn("step_joules", Joules, "joules of a GPU in such a step", func(s *Side) any { return s.Step.Drawn.Joules }),
		p.drawn("step_clock(%)", Percent, "share of the highest clock that the power limit leaves", func(s *Side) any { return 100 * s.Step.Drawn.Clock }),
		p.drawn("step_limit(W)", Watts, "power limit of a GPU in such a step", func(s *Side) any { return s.System.Limit() }),
		p.found(Step, "step(s)", Seconds, "one step: all stages, all micro-batches, drafts", func(_ *Record, s *Side) any { return s.Step.StepTime }),
		p.found(Step, "requests", Rate, "of an instance; empty at a given context", func(_ *Record, s *Side) any {
			if s.Ongoing {
				return nil
			}
			return s.Step.Requests
		}),
		memory("weights(Gib)", "weights of a GPU", func(s *Side) float64 { return weights(&s.Step.Memory) }),
		memory("working_space(Gib)", "largest result of an operator", func(s *Side) float64 { return s.Step.Memory.WithoutCache() - weights(&s.Step.Memory) }),
		memory("held(Gib)", "what a GPU must hold", func(s *Side) float64 { return s.Held }),
		memory("usable(Gib)", "what it may hold", func(s *Side) float64 { return s.Usable }),
		memory("over(Gib)", "what does not fit, or 0", (*Side).Over),
		text("fits", "it does", func(s *Side) any { return s.Over() == 0 }),
		share("attention(s)", "of a step: attention", func(s *estimate.Shares) float64 { return s.Attention }),
		share("mlp(s)", "of a step: the feed-forward block", func(s *estimate.Shares) float64 { return s.MLP }),
		share("drafts(s)", "of a step: the draft module", func(s *estimate.Shares) float64 { return s.Drafts }),
		share("ends(s)", "of a step: embedding, output projection, sampling", func(s *estimate.Shares) float64 { return s.Ends }),
		share("communication(s)", "of a step: exposed communication, transfers between stages included", func(s *estimate.Shares) float64 { return s.Communication }),
		share("waiting(s)", "of a step: waiting for the slowest stage, the slowest rank, experts that move and the host", func(s *estimate.Shares) float64 { return s.Waiting }),
		share("offload(s)", "of a step: waiting for the second memory tier", func(s *estimate.Shares) float64 { return s.Offload }),
		share("compute(s)", "of a step: operators bound by computing", func(s *estimate.Shares) float64 { return s.Compute }),
		share("memory(s)", "of a step: operators bound by memory", func(s *estimate.Shares) float64 { return s.Memory }),
	}
}

func weights(m *estimate.Memory) float64 {
	return m.Weights[op.AttentionBlock] + m.Weights[op.MLPBlock]
}
