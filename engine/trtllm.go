package engine

import (
	"cmp"
	"fmt"
)

const trtllmConfigFile = "extra-llm-api-config.yml"

// trtllmTokens is the token budget of a step: as priced, but at least a prompt, which is not
// chunked; in a decode server a token and its drafts per sequence.
func trtllmTokens(u unit) int {
	if computes(u) {
		return max(u.tokens, cmp.Or(u.MaxPrompt, u.MaxContext), u.step*u.drafting())
	}
	return u.step * u.drafting()
}

// TensorRT-LLM's tp counts all ranks of a stage except cp. With attention DP each is a replica.
var trtllmArgs = []arg{
	{always, "", modelName},
	{always, "--backend", text("pytorch")},
	{always, "--tp_size", integer(func(u unit) int { return u.ranks / u.cp })},
	{piped, "--pp_size", integer(func(u unit) int { return u.pp })},
	{contextual, "--cp_size", integer(func(u unit) int { return u.cp })},
	{func(u unit) bool { return u.moe }, "--ep_size", integer(func(u unit) int { return u.ep })},
	{manyNodes, "--gpus_per_node", integer(func(u unit) int { return u.perNode })},
	// A limit per pass of each attention replica; one is in flight per stage.
	{batched, "--max_batch_size", integer(func(u unit) int { return u.step })},
	{func(u unit) bool { return computes(u) || batched(u) }, "--max_num_tokens", integer(trtllmTokens)},
	{hasLimit, "--max_seq_len", integer(context)},
	{always, "--extra_llm_api_options", func(u unit) string {
		if u.placed {
			return `"$CONFIG"`
		}
		return trtllmConfigFile
	}},
	{placed, "--host", text("0.0.0.0")},
	{placed, "--port", text(`"$PORT"`)},
}

var trtllmConfig = []arg{
	{replicated, "enable_attention_dp", text("true")},
	{func(u unit) bool { return u.moe }, "moe_tensor_parallel_size", integer(func(u unit) int { return u.etp })},
	{redundant, "moe_config.backend", text("WIDEEP")},
	{redundant, "moe_config.load_balancer.num_slots", integer(func(u unit) int { return u.Shape.Experts.Routed + u.Plan.Redundant })},
	{redundant, "moe_config.load_balancer.layer_updates_per_iter", text("1")},
	{contextual, "cp_config.cp_type", text("HELIX")},
	{contextual, "cp_config.tokens_per_block", text("32")},
	{always, "kv_cache_config.dtype", func(u unit) string {
		if u.cacheType == "" {
			return "auto"
		}
		return u.cacheType
	}},
	{contextual, "kv_cache_config.tokens_per_block", text("32")},
	{hasFraction, "kv_cache_config.free_gpu_memory_fraction", fraction},
	{chooses, "attn_backend", func(u unit) string { return u.attention }},
	{both(graphs, batched), "cuda_graph_config.enable_padding", text("true")},
	{both(graphs, batched), "cuda_graph_config.max_batch_size", integer(captured)},
	{both(cutsPrompts, computes), "enable_chunked_prefill", text("true")},
	{both(waits, computes), "batch_wait_timeout_iters", integer(func(u unit) int { return u.ServerOptions.WaitSteps })},
	{both(waits, computes), "batch_wait_max_tokens_ratio", text("1")}, // until a step is full
	{both(balances, computes), "attention_dp_config.enable_balance", text("true")},
	{both(balances, computes), "attention_dp_config.timeout_iters", integer(func(u unit) int { return u.ServerOptions.BalanceSteps })},
	{speculates, "speculative_config.decoding_type", text("MTP")},
	{speculates, "speculative_config.num_nextn_predict_layers", integer(func(u unit) int { return u.drafted })},
	{prefills, "disable_overlap_scheduler", text("true")},
	{split, "cache_transceiver_config.backend", text("NIXL")},
	{both(split, hasContext), "cache_transceiver_config.max_tokens_in_buffer", integer(requestTokens)},
}

// trtllmLauncher starts a process per processor on several nodes.
func trtllmLauncher(u unit) string {
	if u.nodes == 1 {
		return ""
	}
	where := ""
	if u.placed {
		where = ` --nodelist "$HOSTS"`
	}
	return fmt.Sprintf("srun --mpi=pmix -N %d%s --ntasks-per-node %d trtllm-llmapi-launch ", u.nodes, where, u.perNode)
}

var trtllmLimits = []limit{
	{
		func(u unit) bool { return u.Plan.WideDense || u.Plan.WideHead },
		text("TensorRT-LLM has the dense layers and the output projection in every attention replica"),
	},
	{
		func(u unit) bool { return replicated(u) && u.tp*u.cp > 1 },
		func(u unit) string {
			return fmt.Sprintf("TensorRT-LLM has attention replicas of one rank, not of tp %d", u.tp)
		},
	},
	{
		func(u unit) bool { return piped(u) && drafts(u) },
		text("TensorRT-LLM drafts no tokens in a pipeline"),
	},
	{
		func(u unit) bool { return contextual(u) && !(decodes(u) && latent(u)) },
		text("TensorRT-LLM splits the context only in decode servers of models with latent attention"),
	},
	{
		func(u unit) bool { return contextual(u) && drafts(u) },
		text("TensorRT-LLM drafts no tokens where the context is split"),
	},
}

var trtllmRemarks = []remark{
	{bare, text("write the configuration to " + trtllmConfigFile)},
	{hasFraction, text("free_gpu_memory_fraction counts the memory that is free after the weights are loaded")},
	{
		// tensorrt_llm/llmapi/llm.py, _check_arguments: longer prompts are refused unless cut.
		func(u unit) bool {
			return computes(u) && hasContext(u) && !cutsPrompts(u) && trtllmTokens(u) < context(u)
		},
		func(u unit) string {
			return fmt.Sprintf("prompts of more than %d tokens, max_num_tokens, are refused; enable_chunked_prefill: true would take them in pieces", trtllmTokens(u))
		},
	},
	{redundant, text("the WIDEEP backend is made for GPUs in one multi-node NVLink domain")},
	{contextual, text("Helix needs Blackwell GPUs")},
	oneBatch,
	{
		func(u unit) bool { return piped(u) && u.Plan.Batch.Count*u.Plan.InFlight() != u.pp },
		func(u unit) string {
			return fmt.Sprintf("%d micro-batches are in flight, one for each pipeline stage, not %d", u.pp, u.Plan.Batch.Count*u.Plan.InFlight())
		},
	},
	{manyNodes, text("srun stands for the MPI launcher of the cluster")},
	{both(split, bare), text("start trtllm-serve disaggregated -c with the addresses of the context_servers and generation_servers in front")},
}
