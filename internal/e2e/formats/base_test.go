package formats

// The units of the formats.
const (
	T  = 1024e9  // operations per second of one "tflops"
	GB = 1 << 30 // bytes per second of one "GBps", bytes of one "GiB"
)

// box is a system whose operators are all bound by memory: 1 GB/s against 8, 4 and 2 T operations
// per second for the three rates that the base runs use. Groups of up to 4 processors lie on the
// inner network.
const box = `{
	"name": "box",
	"matrix": {"float8": {"tflops": 8}, "float16": {"tflops": 4}, "int8": {"tflops": 2}},
	"vector": {"float32": {"tflops": 2}, "float16": {"tflops": 1}},
	"mem1": {"GiB": 1, "GBps": 1},
	"networks": [
		{"bandwidth": 4, "size": 4, "latency": 0, "ops": ` + ops + `},
		{"bandwidth": 1, "size": 8, "latency": 0, "ops": ` + ops + `}
	]
}`

const ops = `{
	"p2p":            {"op_scalar": [1, null], "bandwidth_eff": [[2, 1]]},
	"reduce_scatter": {"op_scalar": [1, 0],    "bandwidth_eff": [[2, 1]]},
	"all_gather":     {"op_scalar": [1, 0],    "bandwidth_eff": [[2, 1]]},
	"all_reduce":     {"op_scalar": [2, -1],   "bandwidth_eff": [[2, 1]]},
	"all2all":        {"op_scalar": [1, 0],    "bandwidth_eff": [[2, 1]]}
}`

// All base runs: 6 tokens in, 4 out, so the decode context is 6 + 4/2 + 1 = 9 and the cache holds
// 10 tokens; one byte per element of everything; 2 sequences.
const job = `{
	"model_list": ["model.json"],
	"sequence_length_list": [[6, 4]],
	"num_procs_list": [1],
	"parallel_config": [[1, 1, 1]],
	"moe_parallel_config": null,
	"batch_config": [[2, 1, 2]],
	"wac_bytes_list": [[1, 1, 1, 1]],
	"flops_type_list": [["float8", "float16", "float32"]],
	"time_limit_list": [[null, null]],
	"sys_list": ["system.json"],
	"output": "out"
}`

// The dense model has 4 heads of 2 elements, so queries of 8 and keys and values of 4 each. Per
// layer, for 2 tokens:
//
//	attention                  flops                bytes
//	input norm            7·16 =  112    8 + 2·16      =  40
//	qkv projection   2·2·8·16  =  512    128 + 2·24    = 176
//	query head norm       7·16 =  112    2 + 2·16      =  34
//	key head norm          7·8 =   56    2 + 2·8       =  18
//	fused attention  2·72·4    =  576    16 + 16 + 144 = 176   72 scores: 2 tokens · 4 heads · 9; cache 2·2·4·9
//	softmax               5·72 =  360                      0
//	output projection 2·2·8·8  =  256    64 + 2·16     =  96
//	residual                       16    3·16          =  48
//	                             2000                    588
//	feed-forward
//	norm                  7·16 =  112    8 + 2·16      =  40
//	gate and up      2·2·8·32  = 1024    256 + 2·40    = 336
//	activation            3·32 =   96    2·32          =  64
//	gate multiply                  32    3·32          =  96
//	down             2·2·16·8  =  512    128 + 2·24    = 176
//	residual                       16    3·16          =  48
//	                             1792                    760
//
// The weights are 204 bytes of attention (8 + 128 + 2 + 2 + 64) and 392 of the feed-forward block
// (8 + 256 + 128).
//
// A prefill of the same 2 sequences has 12 tokens and a context of 6. Per layer:
//
//	attention                    flops                bytes
//	input norm             7·96 =   672    8 + 2·96      =  200
//	qkv projection   2·12·8·16  =  3072    128 + 12·24   =  416
//	query head norm        7·96 =   672    2 + 2·96      =  194
//	key head norm          7·48 =   336    2 + 2·48      =   98
//	fused attention  2·288·4    =  2304    96 + 96 + 96  =  288   288 scores: 12 tokens · 4 heads · 6; cache 2·2·4·6
//	softmax               5·288 =  1440                       0
//	output projection 2·12·8·8  =  1536    64 + 12·16    =  256
//	residual                         96    3·96          =  288
//	                              10128                    1740
//	feed-forward
//	norm                   7·96 =   672    8 + 2·96      =  200
//	gate and up      2·12·8·32  =  6144    256 + 12·40   =  736
//	activation            3·192 =   576    2·192         =  384
//	gate multiply                   192    3·192         =  576
//	down             2·12·16·8  =  3072    128 + 12·24   =  416
//	residual                         96    3·96          =  288
//	                              10752                    2600
const denseModel = `{
	"model": "small",
	"hidden": 8, "num_blocks": 2, "feedforward": 16,
	"attn_type": "group-query", "attn_heads": 4, "kv_heads": 2, "attn_size": 2
}`

// The expert model has latent attention of 2 heads: query rank 4, latent rank 4, heads of 2 + 2
// elements, values of 2; 4 routed experts of width 4, 2 extra copies and 2 replicas of the shared
// expert, so 8 experts are deployed. A token visits 2 + 1 of them. Per layer, for 2 tokens:
//
//	attention                  flops                bytes
//	query down        2·2·8·4  =  128    32 + 2·12     =  56
//	query norm             7·8 =   56    4 + 2·8       =  20
//	query up          2·2·4·8  =  128    32 + 2·12     =  56
//	latent down       2·2·8·6  =  192    48 + 2·14     =  76
//	latent norm            7·8 =   56    4 + 2·8       =  20
//	latent split                   12    2·12          =  24
//	key rotate                      4    2·4           =   8
//	latent up split                32    2·32          =  64   2 heads · (2 + 2) · 4
//	absorb query      2·4·2·4  =   64    16 + 4·6      =  40
//	query concat                   24    2·24          =  48   2 tokens · 2 heads · (4 + 2)
//	scores            2·36·6   =  432    24 + 108      = 132   36 scores: 2 tokens · 2 heads · 9; cache 2·6·9
//	score add                      36    3·36          = 108
//	softmax               5·36 =  180                      0
//	values            2·36·4   =  288                     16
//	absorb value      2·4·4·2  =   64    16 + 4·6      =  40
//	output projection 2·2·4·8  =  128    32 + 2·12     =  56
//	residual                       16    3·16          =  48
//	                             1840                    812
//	feed-forward
//	two norms           2·7·16 =  224    2·(8 + 2·16)  =  80
//	router            2·2·8·4  =  128    32 + 2·12     =  56
//	gate weights          2·31 =   62    2·62          = 124
//	dispatch, combine                    2·(2·48)      = 192   48 elements: 2 tokens · 3 · 8
//	expert gate, up   2·6·8·8  =  768    8·64 + 6·16   = 608   6 = 2 tokens · 3
//	expert activation     3·24 =   72    2·24          =  48
//	gate multiply                  24    2·24          =  48
//	expert down       2·6·4·8  =  384    8·32 + 6·12   = 328
//	expert weighting               48    2·48          =  96
//	residual                       16    3·16          =  48
//	                             1726                   1628
//
// The weights of the feed-forward block are 16 of norms, 32 of the router and 96 of each expert.
const expertModel = `{
	"model": "small-moe",
	"hidden": 8, "num_blocks": 2,
	"attn_type": "mla-absorb", "attn_heads": 2,
	"q_lora_rank": 4, "kv_lora_rank": 4, "qk_nope_head_dim": 2, "qk_rope_head_dim": 2, "v_head_dim": 2,
	"num_experts": 4, "top_experts_activation": 2, "n_shared_experts": 1, "num_shared_experts": 2,
	"num_redundant_experts": 2, "moe_intermediate_size": 4
}`

func files(model string) inputs {
	return inputs{
		section: "pd-fusion",
		files:   map[string]any{"runtime": parse(job), "model": parse(model), "system": parse(box)},
	}
}

var (
	dense   = files(denseModel)
	experts = files(expertModel).with("runtime.moe_parallel_config", `[[1, 1, 1]]`)

	// Each of the following exercises one communication pattern in a group of two.
	two      = set{"runtime.num_procs_list": `[2]`}
	tensor   = dense.withAll(two).with("runtime.parallel_config", `[[1, 1, 2]]`)
	pipeline = dense.withAll(two).with("runtime.parallel_config", `[[1, 2, 1]]`)
	exchange = experts.withAll(two).with("runtime.parallel_config", `[[2, 1, 1]]`).with("runtime.moe_parallel_config", `[[2, 1, 1]]`)
)

// prefillJob is the split mode with one processor for each phase, 2 sequences in both.
var prefillJob = dense.in(split).with("runtime.p_micro_batch_size", `[[2, 1, 2]]`)

// Names of results.
const (
	prefillAttnFlops  = "prefill_instance_attn_flops"
	prefillAttnBytes  = "prefill_instance_attn_mem_accessed"
	prefillAttnMemory = "prefill_instance_attn_mem_time(s)"
	prefillWeights    = "prefill_instance_mlp_weight_space(Gib)"
	prefillMemory     = "prefill_tier1_mem(Gib)"
	prefillSize       = "prefill_microbatchsize"
	prefillRate       = "prefill_request_per_second"
	firstToken        = "TTFT(s)"
	cacheTime         = "kv_transfer_time(s)"
	cacheExposed      = "kv_transfer_exposed(s)"
	requests          = "request_per_second"

	attnFlops   = "decoder_instance_attn_flops"
	attnBytes   = "decoder_instance_attn_mem_accessed"
	attnCompute = "decoder_instance_attn_compute_time(s)"
	attnMemory  = "decoder_instance_attn_mem_time(s)"
	mlpFlops    = "decoder_instance_mlp_flops"
	mlpBytes    = "decoder_instance_mlp_mem_accessed"
	mlpCompute  = "decoder_instance_mlp_compute_time(s)"
	mlpMemory   = "decoder_instance_mlp_mem_time(s)"
	mlpTime     = "decoder_instance_mlp_process_time(s)"
	mlpWeights  = "decoder_instance_mlp_weight_space(Gib)"
	cacheSpace  = "kv_cache_total_mem(Gib)"
	tpTime      = "decoder_tp_comm_time(s)"
	tpTraffic   = "decoder_tp_comm_mem_size(Gib)"
	epTime      = "decoder_ep_comm_time(s)"
	epTraffic   = "decoder_ep_comm_mem_size(Gib)"
	spTime      = "decoder_sp_comm_time(s)"
	spTraffic   = "decoder_sp_comm_mem_size(Gib)"
	tokenTime   = "decoder_time_per_token(s)"
	throughput  = "decoder_throughput(token/s)"
	batchSize   = "decoder_microbatchsize"
)
