package engine

import (
	"fmt"

	"throughline/deploy"
	"throughline/internal/shell"
)

// replicasInNodes reports whether attention replicas lie within nodes.
func replicasInNodes(u unit) bool { return u.dp > 1 && u.perNode%u.replica() == 0 }

// byReplica and byRank are the two ways to spread a server over nodes.
func byReplica(u unit) bool { return manyNodes(u) && replicasInNodes(u) }
func byRank(u unit) bool    { return manyNodes(u) && !replicasInNodes(u) }

func localReplicas(u unit) int { return u.perNode / u.replica() }

// vllmTokens is the token budget of a step of each attention replica: as priced, or in a decode
// server a token and its drafts per sequence.
func vllmTokens(u unit) int {
	if computes(u) {
		return max(u.tokens, u.batch*u.drafting())
	}
	return u.batch * u.drafting()
}

// vLLM's tp is that of attention, its dp the attention replicas; experts take all of them.
var vllmArgs = []arg{
	{always, "", modelName},
	{always, "--tensor-parallel-size", integer(func(u unit) int {
		if decodes(u) {
			return u.tp * u.cp // context-parallel ranks are tensor-parallel ones
		}
		return u.tp
	})},
	{piped, "--pipeline-parallel-size", integer(func(u unit) int { return u.pp })},
	{both(contextual, decodes), "--decode-context-parallel-size", integer(func(u unit) int { return u.cp })},
	{both(contextual, prefills), "--prefill-context-parallel-size", integer(func(u unit) int { return u.cp })},
	{replicated, "--data-parallel-size", integer(func(u unit) int { return u.dp })},
	{byReplica, "--data-parallel-size-local", integer(localReplicas)},
	{byReplica, "--data-parallel-address", text(`"$HEAD_IP"`)},
	{byReplica, "--data-parallel-rpc-port", text("13345")},
	{byRank, "--nnodes", integer(func(u unit) int { return u.nodes })},
	{byRank, "--node-rank", text(nodeRank)},
	{byRank, "--master-addr", text(`"$HEAD_IP"`)},
	{spread, "--enable-expert-parallel", nil},
	{both(dispatched, split), "--all2all-backend", func(u unit) string {
		return [...]string{deploy.Prefill: "deepep_high_throughput", deploy.Decode: "deepep_low_latency"}[u.Role]
	}},
	{twoBatch, "--enable-dbo", nil},
	{redundant, "--enable-eplb", nil},
	{redundant, "--eplb-config", func(u unit) string {
		return shell.Quote(fmt.Sprintf(`{"num_redundant_experts":%d}`, u.Plan.Redundant))
	}},
	{sequential, "--compilation-config", text(`'{"pass_config":{"enable_sp":true}}'`)},
	{hasLimit, "--max-model-len", integer(context)},
	// A limit of each attention replica.
	{batched, "--max-num-seqs", integer(vllmSequences)},
	{limitsGraphs, "--max-cudagraph-capture-size", integer(captured)},
	{func(u unit) bool { return computes(u) || vllmTokens(u) > 2048 }, "--max-num-batched-tokens", integer(vllmTokens)},
	{chooses, "--attention-backend", func(u unit) string { return u.attention }},
	{hasFraction, "--gpu-memory-utilization", fraction},
	{quantized, "--quantization", func(u unit) string { return u.quantization }},
	{narrowCache, "--kv-cache-dtype", func(u unit) string { return u.cacheType }},
	{speculates, "--speculative-config", func(u unit) string {
		return shell.Quote(fmt.Sprintf(`{"method":"mtp","num_speculative_tokens":%d}`, u.drafted))
	}},
	{split, "--kv-transfer-config", func(u unit) string {
		role := [...]string{deploy.Prefill: "kv_producer", deploy.Decode: "kv_consumer"}[u.Role]
		return shell.Quote(fmt.Sprintf(`{"kv_connector":"NixlConnector","kv_role":%q}`, role))
	}},
	{placed, "--host", text("0.0.0.0")},
	{placed, "--port", text(`"$PORT"`)},
}

// vllmVariables: docs/features/nixl_connector_usage.md. Ranks take the following ports.
var vllmVariables = []arg{
	{split, "VLLM_NIXL_SIDE_CHANNEL_HOST", text(`"$ADDRESS"`)},
	{split, "VLLM_NIXL_SIDE_CHANNEL_PORT", text(`"$SIDE_PORT"`)},
}

// vllmSequences of a replica: its batch, or more if needed to capture a graph of that size, as on
// Ascend.
func vllmSequences(u unit) int {
	if captured := u.Plan.Captured / max(1, u.Plan.Attention.DP); captured > 0 && u.maker == "Huawei" {
		for n := u.batch; n < 2*u.batch+8; n++ {
			if graphSize(n, u.drafting(), captured) >= u.batch*u.drafting() {
				return n
			}
		}
	}
	return u.batch
}

// vllmLater are the arguments of all nodes but the first. With a start rank, even 0, a node that is
// not headless balances only its own replicas (create_engine_config in vllm/engine/arg_utils.py).
var vllmLater = []arg{
	{manyNodes, "--headless", nil},
	{byReplica, "--data-parallel-start-rank", func(u unit) string { return fmt.Sprintf("$((NODE_RANK * %d))", localReplicas(u)) }},
}

var vllmLimits = []limit{
	stateGroups,
	{
		// vllm/distributed/parallel_state.py, initialize_model_parallel: tp, pp, then dp.
		func(u unit) bool { return u.moe && piped(u) && replicated(u) && manyNodes(u) },
		text("vLLM has the stages of a replica side by side: the replicas that share the experts of a stage would lie on several nodes, which is not how they are priced"),
	},
	{
		both(piped, split),
		text("vLLM's NIXL connector hands over no cache of a pipeline"),
	},
	{
		func(u unit) bool { return u.Plan.WideDense || u.Plan.WideHead },
		text("vLLM has the dense layers and the output projection in every attention replica"),
	},
	{
		func(u unit) bool { return twoBatch(u) && !split(u) },
		text("vLLM overlaps two batches only with the all-to-all of servers of one phase"),
	},
	{
		func(u unit) bool { return contextual(u) && u.Role == deploy.Both },
		text("vLLM splits the context of prefill and of decode by different options; only servers of one phase can have cp"),
	},
	{
		func(u unit) bool { return contextual(u) && prefills(u) && replicated(u) },
		text("vLLM splits the context of prefill only without data parallelism"),
	},
	{
		func(u unit) bool {
			return contextual(u) && decodes(u) && !latent(u) && u.tp < u.Shape.Attention.KVHeads
		},
		func(u unit) string {
			return fmt.Sprintf("vLLM splits the context of decode only where tensor parallelism repeats heads: tp %d is below the %d key/value heads", u.tp, u.Shape.Attention.KVHeads)
		},
	},
}

var vllmRemarks = []remark{
	{
		both(contextual, decodes),
		func(u unit) string {
			return fmt.Sprintf("the weights of attention are split over tp·cp = %d ranks, not over tp %d", u.tp*u.cp, u.tp)
		},
	},
	{both(contextual, prefills), text("--prefill-context-parallel-size is experimental")},
	{both(piped, drafts), text("drafts in a pipeline are documented as unsupported up to vLLM 0.15")},
	{
		func(u unit) bool { return dispatched(u) && !split(u) },
		text("the default all-to-all, all-gather and reduce-scatter, serves both phases; --all2all-backend has faster ones for one phase"),
	},
	oneBatch,
	{both(piped, batched), text("the sequences in flight are divided among the pipeline stages by the scheduler; there is no option for a micro-batch")},
	{twoBatch, text("--enable-dbo splits steps of more than 32 tokens, or of more than 512 with a prompt among them: --dbo-decode-token-threshold, --dbo-prefill-token-threshold")},
	{sequential, text("sequence parallelism is a compiler pass, which takes effect for the batch sizes that it compiles")},
	eachNode,
	{both(split, bare), text("route requests with a proxy for prefill and decode servers; on several machines set VLLM_NIXL_SIDE_CHANNEL_HOST")},
}
