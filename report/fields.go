// Package report writes results: the wide CSV tables of the reference tool, a table for the terminal, JSON. It computes
// nothing that is not already in the estimate.
package report

import (
	"throughline/cost"
	"throughline/estimate"
	"throughline/internal/version"
	"throughline/jobfile"
	"throughline/op"
)

// Column is one run and what was found for it.
type Column struct {
	Run *jobfile.Run
	// Decode is nil when no plan exists.
	Decode *estimate.Estimate
	// Reason says why there is no plan.
	Reason string
}

// field is one row of the wide table: inputs are known for every run, results only where a plan exists.
type field struct {
	name   string
	input  func(c *Column) any
	result func(c *Column, e *estimate.Estimate) any
}

// category is a group of rows, named as in the reference tool.
type category struct {
	name   string
	fields []field
}

// value of a field in a column: a number, a string, a bool, or nil for an empty cell.
func (f *field) value(c *Column) any {
	switch {
	case f.input != nil:
		return f.input(c)
	case f.result != nil && c.Decode != nil:
		return f.result(c, c.Decode)
	}
	return nil
}

func input(name string, value func(c *Column) any) field { return field{name: name, input: value} }

func result(name string, value func(c *Column, e *estimate.Estimate) any) field {
	return field{name: name, result: value}
}

// empty is a field of the other phase.
func empty(name string) field { return field{name: name} }

// constant is a field whose value is the same in every run.
func constant(name string, value any) field {
	return result(name, func(*Column, *estimate.Estimate) any { return value })
}

// decodeCategories are the rows of a decode table, in the order and with the names of the reference tool, misspellings
// included; behind them what identifies the result.
var decodeCategories = []category{
	{"model_basic_config", modelFields},
	{"performance_throughput", []field{
		empty("prefill_throughput(token/s)"),
		empty("prefill_throughput_per_npu(token/s)"),
		result("decoder_throughput(token/s)", func(_ *Column, e *estimate.Estimate) any { return e.Throughput }),
		result("decoder_throughput_per_npu(token/s)", func(c *Column, e *estimate.Estimate) any { return c.perNPU(e.Throughput) }),
	}},
	{"system_resource_config", systemFields},
	{"parallel_strategy_config", planFields},
	{"other_stats_metrics", statFields},
	{"provenance", []field{
		input("assumptions", func(c *Column) any { return c.Run.Decode.Assume.Name }),
		input("throughline_version", func(*Column) any { return version.Number }),
		input("input_hash", func(c *Column) any { return c.Run.InputHash }),
	}},
}

// npus is the cards of the run.
func (c *Column) npus() int {
	per := c.Run.System.ProcsPerNPU
	return (c.Run.Procs + per - 1) / per
}

func (c *Column) perNPU(throughput float64) float64 { return throughput / float64(c.npus()) }

var modelFields = []field{
	input("model_name", func(c *Column) any { return c.Run.Model.Name }),
	input("seq_size", func(c *Column) any { return c.Run.Lengths.Input }),
	input("out_size", func(c *Column) any { return c.Run.Lengths.Output }),
	input("weight_byte", func(c *Column) any { return c.Run.Precision.Weight }),
	input("activation_byte", func(c *Column) any { return c.Run.Precision.Activation }),
	input("cache_byte", func(c *Column) any { return c.Run.Precision.Cache }),
	input("comm_byte", func(c *Column) any { return c.Run.Precision.Comm }),
	input("use_flash_attn", func(c *Column) any { return c.Run.Settings.Flash }),
}

var systemFields = []field{
	input("decoder_system_name", func(c *Column) any { return c.Run.System.Name }),
	input("decoder_matix_flops", func(c *Column) any {
		e := c.Run.System.Matrix[c.Run.Precision.MatrixType]
		return e.TFlops * c.Run.Decode.Assume.FlopsPerTFlop / (1 << 40)
	}),
	input("decoder_mem1_capacity(Gib)", func(c *Column) any { return c.Run.System.Memory.GiB }),
	input("decoder_mem1_bindwidth(GBps)", func(c *Column) any { return c.Run.System.Memory.GBps }),
	networkField("decoder_network0_bw(GBps)", 0, func(c *Column) any { return c.Run.System.Networks[0].Bandwidth }),
	networkField("decoder_network0_latency(s)", 0, func(c *Column) any { return c.Run.System.Networks[0].Latency }),
	networkField("decoder_network1_bw(GBps)", 1, func(c *Column) any { return c.Run.System.Networks[1].Bandwidth }),
	networkField("decoder_network1_latency(s)", 1, func(c *Column) any { return c.Run.System.Networks[1].Latency }),
}

// networkField is empty for systems that lack the level.
func networkField(name string, level int, value func(c *Column) any) field {
	return input(name, func(c *Column) any {
		if level >= len(c.Run.System.Networks) {
			return nil
		}
		return value(c)
	})
}

var planFields = []field{
	input("decoder_num_procs", func(c *Column) any { return c.Run.Procs }),
	input("decoder_num_npu", func(c *Column) any { return c.npus() }),
	result("decoder_dp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Attention.DP }),
	result("decoder_tp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Attention.TP }),
	result("decoder_pp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Attention.PP }),
	constant("decoder_cp", 1),
	constant("decoder_sp", 1),
	// A dense model has no experts to copy (0), and one slice and one group of them (1).
	result("decoder_moe_dp", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Experts.DP }),
	result("decoder_moe_tp", func(_ *Column, e *estimate.Estimate) any { return max(1, e.Plan.Experts.TP) }),
	result("decoder_ep", func(_ *Column, e *estimate.Estimate) any { return max(1, e.Plan.Experts.EP) }),
	result("decoder_microbatchsize", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Batch.Size }),
	result("decoder_attn_microbatchsize", func(c *Column, e *estimate.Estimate) any {
		if !c.Run.Model.IsMoE() {
			return 0
		}
		return e.Plan.Sequences(true)
	}),
	result("decoder_card_mbs", func(c *Column, e *estimate.Estimate) any {
		return float64(e.Plan.Sequences(c.Run.Model.IsMoE())) / float64(e.Plan.Attention.TP*e.Plan.Attention.PP)
	}),
	input("decoder_flops_type", func(c *Column) any {
		p := &c.Run.Precision
		return p.MatrixType + " " + p.AttentionType + " " + p.VectorType
	}),
	constant("decoder_mtp_token", 0),
	input("decoder_time_limit(ms)", func(c *Column) any {
		if l := c.Run.Limits.TPOT; l != nil {
			return *l
		}
		return nil
	}),
	input("decoder_TPS", func(c *Column) any {
		if l := c.Run.Limits.TPOT; l != nil {
			return 1000 / *l
		}
		return nil
	}),
	result("decoder_moe_redundant_expert_num", func(_ *Column, e *estimate.Estimate) any { return e.Plan.Redundant }),
	input("decoder_deploy_shared_expert_for_each_npu", func(c *Column) any { return c.Run.Decode.SharedPerCard }),
}

var statFields = []field{
	result("decoder_request_per_second", func(c *Column, e *estimate.Estimate) any {
		return e.Throughput / float64(c.Run.Lengths.Output)
	}),
	result("decoder_mbs_time(s)", func(c *Column, e *estimate.Estimate) any {
		return e.Latency * float64(c.Run.Lengths.Output)
	}),
	result("decoder_tp_comm_time(s)", func(_ *Column, e *estimate.Estimate) any { return e.Comm[op.TensorTraffic].Exposed }),
	result("decoder_ep_comm_time(s)", func(_ *Column, e *estimate.Estimate) any { return e.Comm[op.ExpertTraffic].Exposed }),
	constant("decoder_cp_comm_time(s)", 0),
	constant("decoder_sp_comm_time(s)", 0),
	result("decoder_time_per_token(s)", func(_ *Column, e *estimate.Estimate) any { return e.Latency }),
	expertOnly("decoder_attn_time_per_token(s)", func(e *estimate.Estimate) float64 { return e.Stage.Block[op.AttentionBlock].Time() }),
	expertOnly("decoder_mlp_time_per_token(s)", func(e *estimate.Estimate) float64 { return e.Stage.Block[op.MLPBlock].Time() }),

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

	block("attn_process_time(s)", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Time() }),
	block("attn_mem_accessed", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Bytes }),
	block("attn_mem_time(s)", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Memory }),
	block("attn_flops", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Flops }),
	block("attn_compute_time(s)", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Compute }),
	block("attn_bmm_compute_time(s)", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Bound[op.BMM][cost.Compute] }),
	block("attn_bmm_mem_time(s)", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Bound[op.BMM][cost.Memory] }),
	block("attn_ffn_compute_time(s)", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Bound[op.Linear][cost.Compute] }),
	block("attn_ffn_mem_time(s)", op.AttentionBlock, func(b *estimate.BlockTotals) float64 { return b.Bound[op.Linear][cost.Memory] }),

	block("mlp_process_time(s)", op.MLPBlock, func(b *estimate.BlockTotals) float64 { return b.Time() }),
	expertOnly("decoder_instance_mlp_weight_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Weights[op.MLPBlock]) }),
	expertOnly("decoder_instance_attn_weight_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Weights[op.AttentionBlock]) }),
	expertOnly("decoder_instance_mlp_act_working_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Working[op.MLPBlock]) }),
	expertOnly("decoder_instance_attn_act_working_space(Gib)", func(e *estimate.Estimate) float64 { return gib(e.Memory.Working[op.AttentionBlock]) }),
	block("mlp_mem_accessed", op.MLPBlock, func(b *estimate.BlockTotals) float64 { return b.Bytes }),
	block("mlp_mem_time(s)", op.MLPBlock, func(b *estimate.BlockTotals) float64 { return b.Memory }),
	block("mlp_flops", op.MLPBlock, func(b *estimate.BlockTotals) float64 { return b.Flops }),
	block("mlp_compute_time(s)", op.MLPBlock, func(b *estimate.BlockTotals) float64 { return b.Compute }),
	block("mlp_ffn_compute_time(s)", op.MLPBlock, func(b *estimate.BlockTotals) float64 { return b.Bound[op.Linear][cost.Compute] }),
	block("mlp_ffn_mem_time(s)", op.MLPBlock, func(b *estimate.BlockTotals) float64 { return b.Bound[op.Linear][cost.Memory] }),

	memory("decoder_mem_space(Gib)", func(e *estimate.Estimate) float64 { return e.Memory.WithoutCache() }),
	memory("decoder_tier1_mem(Gib)", func(e *estimate.Estimate) float64 { return e.Memory.Total() }),
	memory("decoder_tp_comm_mem_size(Gib)", func(e *estimate.Estimate) float64 { return e.Comm[op.TensorTraffic].Bytes }),
	memory("decoder_ep_comm_mem_size(Gib)", func(e *estimate.Estimate) float64 { return e.Comm[op.ExpertTraffic].Bytes }),
	constant("decoder_cp_comm_mem_size(Gib)", 0),
	constant("decoder_sp_comm_mem_size(Gib)", 0),
	memory("kv_cache_total_mem(Gib)", func(e *estimate.Estimate) float64 { return e.Memory.Cache }),
}

func gib(bytes float64) float64 { return bytes / estimate.GiB }

func stage(name string, value func(b *estimate.Breakdown) float64) field {
	return result("decoder_instance_"+name, func(_ *Column, e *estimate.Estimate) any { return value(&e.Stage) })
}

func block(name string, which op.Block, value func(b *estimate.BlockTotals) float64) field {
	return stage(name, func(b *estimate.Breakdown) float64 { return value(&b.Block[which]) })
}

func memory(name string, bytes func(e *estimate.Estimate) float64) field {
	return result(name, func(_ *Column, e *estimate.Estimate) any { return gib(bytes(e)) })
}

// expertOnly is a field that the reference tool prints as 0 for dense models.
func expertOnly(name string, value func(e *estimate.Estimate) float64) field {
	return result(name, func(c *Column, e *estimate.Estimate) any {
		if !c.Run.Model.IsMoE() {
			return 0
		}
		return value(e)
	})
}
