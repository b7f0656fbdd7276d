package engine

import (
	"fmt"

	"throughline/deploy"
	"throughline/internal/shell"
	"throughline/op"
	"throughline/plan"
)

// moreUnits is the multiprocessors for throughput exchanges in SGLang's commands for Blackwell.
const moreUnits = `{"normal_dispatch":{"num_sms":96},"normal_combine":{"num_sms":96}}`

// tunesExchange: throughput kernels run alone, on links that they fill only with more units.
func tunesExchange(u unit) bool {
	return dispatched(u) && u.Plan.TunedExchange && u.Role != deploy.Decode && !twoBatch(u)
}

// SGLang's tp counts all ranks of a stage; its dp cuts them into attention replicas, its ep into
// groups of experts.
var sglangArgs = []arg{
	{always, "--model-path", modelName},
	{always, "--tp-size", integer(func(u unit) int { return u.ranks })},
	{piped, "--pp-size", integer(func(u unit) int { return u.pp })},
	{both(piped, batched), "--pp-max-micro-batch-size", integer(func(u unit) int { return u.step })},
	{replicated, "--dp-size", integer(func(u unit) int { return u.dp })},
	{replicated, "--enable-dp-attention", nil},
	{func(u unit) bool { return u.dp > 1 && !u.Plan.WideHead }, "--enable-dp-lm-head", nil},
	{func(u unit) bool { return u.dp > 1 && u.tp == 1 && !u.Plan.WideDense }, "--moe-dense-tp-size", text("1")},
	{spread, "--ep-size", integer(func(u unit) int { return u.ep })},
	{dispatched, "--moe-a2a-backend", text("deepep")},
	{dispatched, "--deepep-mode", func(u unit) string { return [...]string{"auto", "normal", "low_latency"}[u.Role] }},
	{tunesExchange, "--deepep-config", func(unit) string { return shell.Quote(moreUnits) }},
	{redundant, "--ep-num-redundant-experts", integer(func(u unit) int { return u.Plan.Redundant })},
	{redundant, "--enable-eplb", nil},
	{twoBatch, "--enable-two-batch-overlap", nil},
	{singleBatch, "--enable-single-batch-overlap", nil},
	{func(u unit) bool { return sequential(u) && u.dp == 1 }, "--enable-attn-tp-input-scattered", nil},
	{func(u unit) bool { return sequential(u) && u.dp == 1 }, "--disable-piecewise-cuda-graph", nil}, // else the option does nothing
	{manyNodes, "--nnodes", integer(func(u unit) int { return u.nodes })},
	{manyNodes, "--node-rank", text(nodeRank)},
	{manyNodes, "--dist-init-addr", text(`"$HEAD_IP:20000"`)},
	{hasLimit, "--context-length", integer(context)},
	// A limit of the server, which divides it among the attention replicas.
	{batched, "--max-running-requests", integer(func(u unit) int { return u.batch * u.dp })},
	{both(graphs, batched), "--cuda-graph-max-bs", integer(captured)},
	// The tokens of a step of the server, which divides them among the attention replicas.
	{computes, "--chunked-prefill-size", integer(func(u unit) int { return u.tokens * u.dp })},
	{both(cutsPrompts, computes), "--enable-mixed-chunk", nil},
	{polls, "--scheduler-recv-interval", integer(func(u unit) int { return u.ServerOptions.PollSteps })},
	{chooses, "--attention-backend", func(u unit) string { return u.attention }},
	{choosesPrefill, "--prefill-attention-backend", func(u unit) string { return u.prefillAttention }},
	{choosesDecode, "--decode-attention-backend", func(u unit) string { return u.decodeAttention }},
	{hasFraction, "--mem-fraction-static", fraction},
	{quantized, "--quantization", func(u unit) string { return u.quantization }},
	{narrowCache, "--kv-cache-dtype", func(u unit) string { return u.cacheType }},
	{speculates, "--speculative-algorithm", text("EAGLE")},
	{speculates, "--speculative-num-steps", integer(func(u unit) int { return u.drafted })},
	{speculates, "--speculative-eagle-topk", text("1")},
	{speculates, "--speculative-num-draft-tokens", integer(func(u unit) int { return 1 + u.drafted })},
	{split, "--disaggregation-mode", func(u unit) string { return u.Role.String() }},
	{split, "--disaggregation-transfer-backend", text("mooncake")},
	{both(placed, prefills), "--disaggregation-bootstrap-port", text(`"$BOOTSTRAP_PORT"`)},
	{placed, "--host", text("0.0.0.0")},
	{placed, "--port", text(`"$PORT"`)},
}

// deepepTokens is the default capacity per rank of the low-latency kernels.
const deepepTokens = 128

// sglangVariables: python/sglang/srt/environ.py.
var sglangVariables = []arg{
	{func(u unit) bool { return dispatched(u) && !prefills(u) && u.step*u.drafting() > deepepTokens }, "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK",
		integer(func(u unit) int { return u.step * u.drafting() })},
}

// sglangPairs: stage by stage, or from all stages to one; an open prefill plan may have any.
func sglangPairs(prefill, decode *plan.Plan) bool {
	return decode.Attention.PP <= 1 || prefill.Attention.PP == 0 || prefill.Attention.PP == decode.Attention.PP
}

var sglangLimits = []limit{
	stateGroups,
	{
		func(u unit) bool { return piped(u) && drafts(u) && !prefills(u) },
		text("SGLang drafts no tokens in a pipeline, but for prefill servers"),
	},
	{
		func(u unit) bool { return piped(u) && redundant(u) },
		text("SGLang has no redundant experts in a pipeline: EPLB takes all GPUs for one group of experts"),
	},
	{
		func(u unit) bool {
			p := u.Of(op.Prefill)
			return decodes(u) && p != nil && !sglangPairs(&p.Plan, u.Plan)
		},
		text("SGLang decodes in one stage, or in as many as its prefill servers have"),
	},
	{
		func(u unit) bool {
			return u.moe && replicated(u) && u.tp > 1 && u.Shape.FeedForward%u.ranks != 0
		},
		func(u unit) string {
			return fmt.Sprintf("SGLang splits dense layers over all %d ranks of a stage where attention replicas have tp %d, which do not divide their width %d", u.ranks, u.tp, u.Shape.FeedForward)
		},
	},
	{
		func(u unit) bool { return singleBatch(u) && prefills(u) },
		text("SGLang overlaps within a batch only in decode, by the low-latency kernels of DeepEP"),
	},
	{
		func(u unit) bool { return sequential(u) && replicated(u) },
		text("SGLang scatters the input of attention only without data-parallel attention"),
	},
	{
		// python/sglang/srt/layers/communicator.py, AttnTpContext.init_context
		func(u unit) bool {
			return sequential(u) && !(latent(u) && u.Shape.Attention.QueryRank > 0 && u.Shape.Attention.IndexTopK == 0)
		},
		text("SGLang scatters the input of latent attention alone, whose queries are made of latent vectors and which has no indexer"),
	},
	{
		func(u unit) bool { return sequential(u) && dispatched(u) },
		text("SGLang scatters the input of attention only where no tokens are sent to experts"),
	},
}

var sglangRemarks = []remark{
	{
		hasFraction,
		text("--mem-fraction-static counts weights and cache; activations and CUDA graphs come on top of it"),
	},
	{
		func(u unit) bool { return spread(u) && !dispatched(u) },
		text("without an all-to-all backend: tokens reach the experts by all-gather and all-reduce"),
	},
	{
		func(u unit) bool { return replicated(u) && u.tp > 1 && u.Shape.FeedForward > 0 && !u.Plan.WideDense },
		func(u unit) string {
			return fmt.Sprintf("dense layers are split over all %d ranks of a stage, not over tp %d", u.ranks, u.tp)
		},
	},
	{
		func(u unit) bool {
			return dispatched(u) && !prefills(u) && u.step*u.drafting() > deepepTokens && !u.placed
		},
		func(u unit) string {
			return fmt.Sprintf("set SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK to at least %d", u.step*u.drafting())
		},
	},
	{sequential, text("--enable-attn-tp-input-scattered scatters only the input of attention")},
	oneBatch,
	eachNode,
	{both(split, bare), text("route requests with python3 -m sglang_router.launch_router --pd-disaggregation; --disaggregation-ib-device may be needed")},
}
