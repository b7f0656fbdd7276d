package formats

import (
	"slices"
	"strings"
	"testing"
)

const split = "pd-split-request-optimal"

// In every section. Keys of the decode phase have the names of pd-fusion here; the split modes call
// them otherwise.
var runtimeTests = []keyTest{
	{"model_list", dense, set{"runtime.model_list": `["model.json", "llama_3_8b"]`}, wants{numberOfRuns: 2}},
	{"model_list", dense.with("system.mem1.GiB", `100`), set{"runtime.model_list": `["llama_3_8b"]`}, wants{"model_name": "llama-3-8B"}},
	// The cache holds 10 + 8 tokens of 2·4 elements and 2 layers for each of 2 sequences. The
	// context becomes 10 + 4 + 1, so there are 2·4·15 = 120 scores: fused attention 2·120·4,
	// softmax 5·120.
	{"sequence_length_list", dense, set{"runtime.sequence_length_list": `[[10, 8]]`}, wants{cacheSpace: 2. * 18 * 8 * 2 / GB, attnFlops: 2 * (2000 - 576 - 360 + 960 + 600)}},
	{"sequence_length_list", dense, set{"runtime.sequence_length_list": `[[6, 4], [10, 8]]`}, wants{numberOfRuns: 2}},
	{"num_redundant_experts_config", experts, set{"runtime.num_redundant_experts_config": `4`}, wants{"decoder_moe_redundant_expert_num": 4, mlpWeights: 2. * (16 + 32 + 10*96) / GB}},
	// The fewest weights are the fastest.
	{"num_redundant_experts_config", experts, set{"runtime.num_redundant_experts_config": `[1, 4]`}, wants{"decoder_moe_redundant_expert_num": 1, mlpWeights: 2. * (16 + 32 + 7*96) / GB}},
	// 4 + 2 experts and the one shared expert that a token visits; the network carries 2 visits
	// instead of 3.
	{"deploy_shared_expert_config", experts, set{"runtime.deploy_shared_expert_config": `true`}, wants{mlpWeights: 2. * (16 + 32 + 7*96) / GB}},
	{"deploy_shared_expert_config", exchange, set{"runtime.deploy_shared_expert_config": `true`}, wants{epTime: exchanged * 2 / 3 / (4 * GB)}},
	// Weights are 128 + 64 + 12 of the 588 and 392 of the 760 bytes, cache 144 of the 588.
	{"wac_bytes_list", dense, set{"runtime.wac_bytes_list": `[[2, 1, 1, 1]]`}, wants{"weight_byte": 2, attnBytes: 2 * (588 + 204), mlpBytes: 2 * (760 + 392)}},
	{"wac_bytes_list", dense.with("runtime.flops_type_list", `[["float16", "float16", "float32"]]`).with("runtime.wac_bytes_list", `[[1, 2, 1, 1]]`), set{"runtime.flops_type_list": `[["float8", "float16", "float32"]]`, "runtime.wac_bytes_list": `[[1, 1, 1, 1]]`}, wants{"activation_byte": 1, mlpBytes: 2 * 760}},
	{"wac_bytes_list", dense, set{"runtime.wac_bytes_list": `[[1, 1, 2, 1]]`}, wants{"cache_byte": 2, attnBytes: 2 * (588 + 144), cacheSpace: 2. * 10 * 8 * 2 * 2 / GB}},
	{"wac_bytes_list", tensor, set{"runtime.wac_bytes_list": `[[1, 1, 1, 2]]`}, wants{"comm_byte": 2, tpTime: 2 * reduced / (4 * GB)}},
	{"wac_bytes_list", dense, set{"runtime.wac_bytes_list": `[[1, 1, 1, 1], [2, 1, 1, 1]]`}, wants{numberOfRuns: 2}},
	{"flops_type_list", dense, set{"runtime.flops_type_list": `[["int8", "float16", "float32"]]`}, wants{"decoder_flops_type": "int8 float16 float32", mlpCompute: compute(2*T, 2*T)}},
	{"flops_type_list", experts, set{"runtime.flops_type_list": `[["float8", "int8", "float32"]]`}, wants{attnCompute: 2 * (704/(8*T) + 416/(2*T) + 720/(2*T))}},
	{"flops_type_list", dense, set{"runtime.flops_type_list": `[["float8", "float16", "float16"]]`}, wants{mlpCompute: compute(8*T, 1*T)}},
	// n sequences move 1192 + 752·n bytes: 3 take 3.2 µs, 4 take 3.9.
	{"time_limit_list", dense.with("runtime.batch_config", `null`), set{"runtime.time_limit_list": `[[null, 0.0035]]`}, wants{batchSize: 3, "decoder_time_limit(ms)": 0.0035, "decoder_TPS": 1000 / 0.0035}},
	// The prefill of one sequence of 6 tokens moves 2 · (204 + 48 + 6·120 + 392 + 6·184) = 4936
	// bytes, 4.6 µs, of two 8680, 8.1 µs.
	{"time_limit_list", dense, set{"runtime.time_limit_list": `[[0.005, null]]`}, wants{prefillSize: 1, "prefill_time_limit(ms)": 0.005}},
	// Of llama_3_8b on an H200, engines that take time for themselves do less than the one that
	// does not.
	{"search", served, set{"runtime.search": `"plan"`, "runtime.engine": `"vllm"`}, wants{"engine": "vllm"}},
	{"engine", served.with("runtime.search", `"plan"`), set{"runtime.engine": `"none"`}, wants{"engine": "none"}},
	{"output", dense, set{"runtime.output": `"elsewhere"`}, wants{folder: "elsewhere"}},

	{"parallel_config", dense.withAll(pair), set{"runtime.parallel_config": `[[1, 2, 1]]`}, wants{"decoder_dp": 1, "decoder_pp": 2, tokenTime: 2*stage + 2*(16./(4*GB))}},
	{"parallel_config", dense.withAll(pair), set{"runtime.parallel_config": `[[1, 1, 2]]`}, wants{"decoder_dp": 1, "decoder_tp": 2, tpTime: reduced / (4 * GB)}},
	// Two candidates of one search: two replicas are twice as fast as one pipeline.
	{"parallel_config", pipeline, set{"runtime.parallel_config": `[[1, 2, 1], [2, 1, 1]]`}, wants{"decoder_pp": 1, throughput: 2 * 2 / (2 * stage)}},
	// Experts of half the width see the tokens of both processors: gate and up 2·12·8·4, activation
	// 3·24, and so on, the weighting 12·8.
	{"moe_parallel_config", exchange, set{"runtime.moe_parallel_config": `[[1, 2, 1]]`}, wants{"decoder_ep": 1, "decoder_moe_tp": 2, mlpFlops: 2 * (224 + 128 + 62 + 768 + 72 + 24 + 384 + 96 + 16)}},
	{"moe_parallel_config", exchange, set{"runtime.moe_parallel_config": `[[1, 1, 2]]`}, wants{"decoder_moe_dp": 2, mlpWeights: 2. * (16 + 32 + 8*96) / GB}},
	// Two micro-batches of 3 sequences, one after the other: 1192 + 3·752 bytes and 2·3·180
	// operations of the softmax each.
	{"batch_config", dense, set{"runtime.batch_config": `[[6, 2, 3]]`}, wants{batchSize: 3, cacheSpace: 6. * 10 * 8 * 2 / GB, tokenTime: 2 * (3448./GB + 1080/(2*T))}},
	// The larger of two candidates shares the weights among more sequences.
	{"batch_config", dense, set{"runtime.batch_config": `[[1, 1, 1], [4, 1, 4]]`}, wants{batchSize: 4, throughput: 4 / (4200./GB + 1440/(2*T))}},

	// With one draft, 4 tokens pass through each of two layers: 588 + 2·120 and 760 + 2·184 bytes,
	// 720 operations of the softmax. The draft moves 128 + 2·24 bytes in its projection, and what 2
	// tokens do in a layer: 1524 in all. Of the drafts 0.79 are accepted. The draft module holds
	// 128 + 596 weights; the result of gate and up takes 4·32 bytes.
	{"decode_mtp_token_config", dense, set{"runtime.decode_mtp_token_config": `1`}, wants{
		"decoder_mtp_token": 1, "decoder_tokens_per_step": 1.79, "decoder_draft_time(s)": 1524./GB + 360/(2*T),
		tokenTime:  (2*(1956./GB+720/(2*T)) + 1524./GB + 360/(2*T)) / 1.79,
		cacheSpace: 2. * 10 * 8 * 3 / GB, "decoder_mem_space(Gib)": (1192. + 724 + 128) / GB,
	}},
	// See drafting.
	{"decode_mtp_token_config", drafting.with("model.num_nextn_predict_layers", `1`), set{"runtime.decode_mtp_token_config": `null`}, wants{"decoder_mtp_token": 1, tokenTime: oneDraft / 1.79}},
	{"decode_mtp_token_config", drafting, set{"runtime.decode_mtp_token_config": `[0, 2]`}, wants{"decoder_mtp_token": 1, tokenTime: oneDraft / 1.79}},
	{"decode_mtp_token_config", drafting, set{"runtime.decode_mtp_token_config": `[2, 3]`}, wants{"decoder_mtp_token": 2, tokenTime: twoDrafts / 2.27}},
	// Both drafts are accepted in half of 0.4 cases.
	{"decode_mtp_acceptance_config", drafting.with("runtime.decode_mtp_token_config", `2`), set{"runtime.decode_mtp_acceptance_config": `[0.5, 0.4]`}, wants{"decoder_tokens_per_step": 1.7, tokenTime: twoDrafts / 1.7}},

	// In each of two layers the two all-reduces become two all-gathers and two reduce-scatters, on
	// 16 bytes each. Input norm and residual work on one token instead of two. 7·8 operations of
	// the input norm, qkv projection 2·2·8·8, head norms 56 + 28, fused attention 2·36·4, softmax
	// 180, output projection 2·2·4·8, 8 additions of the reduce-scatter, residual 8.
	{"sequence_parallel_config", tensor, set{"runtime.sequence_parallel_config": `true`}, wants{
		"decoder_sp": 2, tpTime: 0, spTime: 2. * 4 * 16 / (4 * GB), spTraffic: 4. * 2 * 4 * 16 / GB,
		attnFlops: 2 * (56 + 256 + 84 + 288 + 180 + 128 + 8 + 8),
	}},
}

// drafting is one sequence and 8 layers: t tokens move 204 + 72 + 392 + 304·t bytes in a layer,
// with 180·t operations of the softmax. A draft moves 128 + 24 bytes in its projection and 972 in
// its layer. Counting bytes alone, a token takes
//
//	no draft     8·972                             7776
//	one draft   (8·1276 + 1124)   / 1.79           6331
//	two drafts  (8·1580 + 2·1124) / 2.27           6559
//	three       (8·1884 + 3·1124) / 2.49           7407
var drafting = dense.withAll(set{"model.num_blocks": `8`, "runtime.batch_config": `[[1, 1, 1]]`})

const (
	oneDraft  = 8*(1276./GB+360/(2*T)) + (1124./GB + 180/(2*T))
	twoDrafts = 8*(1580./GB+540/(2*T)) + 2*(1124./GB+180/(2*T))
)

// served is a run that clients see, of a model and a system that engines run.
var served = dense.withAll(set{
	"flags.assume": `"physical"`, "runtime.parallel_config": `null`, "runtime.batch_config": `null`, "runtime.model_list": `["llama_3_8b"]`, "runtime.sys_list": `["H200"]`,
	"runtime.wac_bytes_list": `[[2, 2, 2, 2]]`, "runtime.flops_type_list": `[["bfloat16", "bfloat16", "bfloat16"]]`, "runtime.sequence_length_list": `[[500, 100]]`,
})

// pair is two processors, each a replica.
var pair = set{"runtime.num_procs_list": `[2]`, "runtime.parallel_config": `[[2, 1, 1]]`}

var fusionTests = []keyTest{
	{"num_procs_list", free, set{"runtime.num_procs_list": `[4]`}, wants{"decoder_num_procs": 4, "decoder_num_npu": 4, throughput: 4 * 2 / (2 * stage)}},
	{"num_procs_list", free, set{"runtime.num_procs_list": `[1, 2, 4]`}, wants{numberOfRuns: 3}},
	{"sys_list", dense, set{"runtime.sys_list": `["system.json", "H800_IB"]`}, wants{numberOfRuns: 2}},
	{"sys_list", dense.withAll(common), set{"runtime.sys_list": `["H800_IB"]`}, wants{"decoder_system_name": "H800_IB"}},
	// Prompts of 3: 6 tokens with 3 scores in each of 4 heads, 72 in all.
	{"sequence_length_list", dense, set{"runtime.sequence_length_list": `[[3, 4]]`}, wants{prefillAttnFlops: 2 * (336 + 1536 + 336 + 168 + 2*72*4 + 5*72 + 768 + 48)}},
	// The prefill takes as many sequences at once as the decode has. Its throughput counts 6 tokens
	// of each.
	{"batch_config", dense.with("runtime.batch_config", `[[1, 1, 1]]`), set{"runtime.batch_config": `[[2, 1, 2]]`}, wants{
		prefillSize: 2, firstToken: 2 * prompt, "prefill_throughput(token/s)": 2 * 6 / (2 * prompt), prefillRate: 2 / (2 * prompt),
		// A request takes its share of a prefill of 2, and 4 steps of 2.
		requests: 1 / (2*prompt/2 + 4*2*stage/2), "request_latency(s)": 2*prompt + 3*2*stage,
	}},
	// Weights take 1192 bytes, a sequence 160 of cache, the prefill of one sequence 192 of working
	// space. Into 2000 bytes 3 sequences fit, and 4 only without a prefill: 1192 + 4·160 + 4·32.
	{"batch_config", dense.withAll(set{"runtime.batch_config": `[[1, 1, 1]]`, "system.mem1.GiB": `1.862645149230957e-06`}), set{"runtime.batch_config": `[[3, 1, 3], [4, 1, 4]]`}, wants{batchSize: 3}},
	// With a draft module there are 1192 + 724 bytes of weights and 2·10·8·3 of cache. In 2700
	// bytes that leaves room for the prefill of 6 tokens, 6·32, not of 12.
	{"decode_mtp_token_config", dense.with("system.mem1.GiB", `2.514570951461792e-06`), set{"runtime.decode_mtp_token_config": `1`}, wants{prefillSize: 1}},
	// 12 tokens of 8 elements in each of 8 collectives.
	{"sequence_parallel_config", tensor, set{"runtime.sequence_parallel_config": `true`}, wants{"prefill_sp": 2, "prefill_sp_comm_time(s)": 8. * 96 / (4 * GB)}},
}

var splitTests = []keyTest{
	// On 4 processors, see searched: 2 for each phase.
	{"num_procs_list", searched.with("runtime.num_procs_list", `[2]`), set{"runtime.num_procs_list": `[4]`}, wants{"prefill_num_procs": 2, "decoder_num_procs": 2, requests: 2 * 2 / (2 * stage) / 4}},
	{"pd_num_procs_list", free.in(split).withAll(set{"runtime.num_procs_list": `[8]`, "runtime.pd_num_procs_list": `null`}), set{"runtime.pd_num_procs_list": `[[3, 2]]`}, wants{"decoder_num_procs": 2, "spare_procs": 3, throughput: 2 * 2 / (2 * stage)}},
	// Lists of equal length pair up; otherwise they multiply.
	{"pd_num_procs_list", free.in(split), set{"runtime.num_procs_list": `[4, 8]`, "runtime.pd_num_procs_list": `[[2, 2], [4, 4]]`}, wants{numberOfRuns: 2}},
	{"pd_num_procs_list", free.in(split), set{"runtime.num_procs_list": `[4, 8]`, "runtime.pd_num_procs_list": `[[2, 2], [1, 1], [2, 1]]`}, wants{numberOfRuns: 6}},
	// 5 processors prefill 2 sequences each. The one that decodes is slower.
	{"pd_num_procs_list", searched.with("runtime.pd_num_procs_list", `[[1, 1]]`), set{"runtime.pd_num_procs_list": `[[5, 1]]`}, wants{"pd_ratio": "5:1", prefillRate: 5 * 2 / (2 * prompt), "balance": (2 / (2 * stage) / 4) / (5 * 2 / (2 * prompt)), "spare_procs": 2}},
	// See searched: 4 processors for each phase are the best split of 8.
	{"pd_num_procs_list", searched.with("runtime.pd_num_procs_list", `[[1, 1]]`), set{"runtime.pd_num_procs_list": `null`}, wants{"pd_ratio": "4:4", requests: 4 * 2 / (2 * stage) / 4, "spare_procs": 0}},
	// With 2 processors in an instance that decodes, there are two of them.
	{"pd_num_procs_list", searched.withAll(set{"runtime.d_parallel_config": `[[2, 1, 1]]`, "runtime.pd_num_procs_list": `[[2, 2]]`}), set{"runtime.pd_num_procs_list": `null`}, wants{"decoder_instances": 2, "pd_ratio": "4:4", requests: 4 * 2 / (2 * stage) / 4}},
	// With 3 processors, a second instance would leave 2 for the prefill, which are slower than one
	// instance. It needs 3 for the prefill; 2 stay spare.
	{"pd_num_procs_list", searched.withAll(set{"runtime.d_parallel_config": `[[3, 1, 1]]`, "runtime.pd_num_procs_list": `[[1, 3]]`}), set{"runtime.pd_num_procs_list": `null`}, wants{"pd_ratio": "3:3", "spare_procs": 2, requests: 3 * 2 / (2 * stage) / 4}},
	{"sys_list", dense.in(split), set{"runtime.sys_list": `["system.json", "H800_IB"]`}, wants{numberOfRuns: 2}},
	{"sys_list", dense.in(split).withAll(common), set{"runtime.sys_list": `[["system.json", "H800_IB"]]`}, wants{"decoder_system_name": "H800_IB"}},
	// Memory of 2 GB/s for the prefill. The cache of 192 bytes takes 48/GB; half of that is
	// exposed, as it leaves in two layers.
	{"sys_list", prefillJob.with("fast", strings.Replace(box, `"GBps": 1`, `"GBps": 2`, 1)), set{"runtime.sys_list": `[["fast.json", "system.json"]]`}, wants{firstToken: 2*(4340./(2*GB)+1440/(2*T)) + 24./GB}},
	// The slower of the two networks decides how fast the cache leaves.
	{"sys_list", prefillJob.with("slow", strings.Replace(box, `"bandwidth": 4`, `"bandwidth": 2`, 1)), set{"runtime.sys_list": `[["system.json", "slow.json"]]`}, wants{cacheTime: 192. / (2 * GB), firstToken: 2*prompt + 192./(2*GB)/2}},

	// Less than a microsecond is not enough for a prefill.
	{"time_limit_list", prefillJob, set{"runtime.time_limit_list": `[[0.001, null]]`}, wants{prefillSize: nil, firstToken: nil}},
	// 4 all-reduces of 12 · 8 bytes.
	{"p_parallel_config", prefillPair, set{"runtime.p_parallel_config": `[[1, 1, 2]]`}, wants{"prefill_dp": 1, "prefill_tp": 2, "prefill_tp_comm_time(s)": 4 * 96. / (4 * GB)}},
	// Two stages of one layer hand on 96 bytes. Each sends the cache of its own layer, 96 bytes,
	// none of it behind another layer.
	{"p_parallel_config", prefillPair, set{"runtime.p_parallel_config": `[[1, 2, 1]]`}, wants{"prefill_pp": 2, firstToken: 2*prompt + 2*(96./(4*GB)) + 96./(4*GB)}},
	// 4 routed experts and 2 replicas of the shared one, no redundant ones: 3 on each processor. 12
	// tokens go to 3 experts in each of 4 exchanges.
	{"p_moe_parallel_config", prefillExperts, set{"runtime.p_moe_parallel_config": `[[2, 1, 1]]`}, wants{"prefill_ep": 2, prefillWeights: 2. * (16 + 32 + 3*96) / GB, "prefill_ep_comm_time(s)": 4 * 12 * 3 * 8. / (4 * GB)}},
	// Two micro-batches, one after the other. Their cache of 384 bytes leaves in two layers.
	{"p_micro_batch_size", prefillJob, set{"runtime.p_micro_batch_size": `[[4, 2, 2]]`}, wants{firstToken: 2*2*prompt + 384./(4*GB)/2, cacheTime: 384. / (4 * GB), cacheExposed: 384. / (4 * GB) / 2}},
	// Each of two processors has 6 of the 12 tokens, and passes on keys and values of 4 elements
	// for each, once in each of two layers. All of them attend to 6: see cache_len for the
	// operations. The result of gate and up takes 6·32 bytes, half of the cache 96.
	{"p_context_parallel_config", prefillPair, set{"runtime.p_context_parallel_config": `[2]`}, wants{
		"prefill_cp": 2, "prefill_cp_comm_time(s)": 2 * 48. / (4 * GB), "prefill_cp_comm_mem_size(Gib)": 2 * 48. / GB,
		prefillAttnFlops: 2 * 5064, prefillAttnBytes: 2 * 1020, prefillMemory: (1192. + 192 + 96) / GB,
	}},
}

var (
	// free leaves the split over processors to the search, with the batch given.
	free = dense.with("runtime.parallel_config", `null`)
	// searched leaves to the search how 8 processors are divided. A processor prefills 2 requests
	// in 8.09 µs, 247 a millisecond. It decodes 2 of 4 tokens in 2.51 µs each, 199 requests a
	// millisecond. On 8 processors 4 and 4 are the best split: 989 and 796. With 3 and 5 there
	// would be 742 and 995. On 4 processors 2 and 2 give 495 and 398, 1 and 3 only 247.
	searched = free.in(split).withAll(set{
		"runtime.num_procs_list": `[8]`, "runtime.pd_num_procs_list": `null`, "runtime.p_micro_batch_size": `[[2, 1, 2]]`,
	})
	// common are number types that built-in systems have too.
	common = set{"runtime.flops_type_list": `[["float8", "float16", "float16"]]`}
	// prefillPair has two processors for prefill, prefillExperts the same for the expert model.
	prefillPair    = prefillJob.withAll(set{"runtime.num_procs_list": `[3]`, "runtime.pd_num_procs_list": `[[2, 1]]`})
	prefillExperts = experts.in(split).withAll(set{
		"runtime.num_procs_list": `[3]`, "runtime.pd_num_procs_list": `[[2, 1]]`, "runtime.p_micro_batch_size": `[[2, 1, 2]]`,
		"runtime.p_parallel_config": `[[2, 1, 1]]`, "runtime.p_moe_parallel_config": `[[1, 1, 2]]`,
	})
)

// sections are the parts of a runtime file, the mode that names their results, and their own tests.
var sections = []struct {
	name, mode string
	tests      []keyTest
}{
	{"pd-fusion", "pd-fusion", fusionTests},
	{split, split, splitTests},
	{"split-request-optimal", split, splitTests},
}

// runtimeTestsOf are all tests of a section, under the names that keys have there.
func runtimeTestsOf(name string, own []keyTest) []keyTest {
	var out []keyTest
	for _, k := range runtimeTests {
		k.base = k.base.in(name)
		if name != "pd-fusion" {
			k = renamed(k)
		}
		out = append(out, k)
	}
	for _, k := range own {
		k.base.section = name
		out = append(out, k)
	}
	for i := range out {
		out[i].key = name + "." + out[i].key
	}
	return out
}

// renamed is the test with the key names of the split modes.
func renamed(k keyTest) keyTest {
	if split, ok := decodeKeys[k.key]; ok {
		k.key = split
	}
	change := set{}
	for path, value := range k.change {
		if split, ok := decodeKeys[path[len("runtime."):]]; ok {
			path = "runtime." + split
		}
		change[path] = value
	}
	k.change = change
	return k
}

func TestRuntimeKeys(t *testing.T) {
	for _, s := range sections {
		runAll(t, runtimeTestsOf(s.name, s.tests))
	}
}

// The name of a section decides the names of the tables.
func TestSections(t *testing.T) {
	for _, s := range sections {
		want := []string{s.mode + "_decoder_best.csv", s.mode + "_prefill_best.csv", s.mode + "_result_best.csv"}
		if got := dense.in(s.name).mustRun(t).tables; !slices.Equal(got, want) {
			t.Errorf("%s writes %v, not %v", s.name, got, want)
		}
	}
}

// Keys that the program only understands in part refuse the rest instead of ignoring it.
func TestRefused(t *testing.T) {
	refused := set{
		"runtime.decode_mtp_token_config": `5`, // acceptance rates are known for 4
		"model.multiple_of":               `7`,
		"model.ffn_dim_multiplier":        `1.3`,
		"model.cache_len":                 `6`, // the whole prompt
	}
	for path, value := range refused {
		if r := dense.with(path, value).run(t); r.runs != nil {
			t.Errorf("%s: %s is accepted", path, value)
		}
	}
}
