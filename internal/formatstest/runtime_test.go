package formatstest

import "testing"

const split = "pd-split-request-optimal"

// In every section. Keys of the decode phase have the names of pd-fusion here; the split modes call them otherwise.
var runtimeTests = []keyTest{
	{"model_list", dense, set{"runtime.model_list": `["model.json", "llama_3_8b"]`}, wants{numberOfRuns: 2}},
	{"model_list", dense.with("system.mem1.GiB", `100`), set{"runtime.model_list": `["llama_3_8b"]`}, wants{"model_name": "llama-3-8B"}},
	// The cache holds 10 + 8 tokens of 2·4 elements and 2 layers for each of 2 sequences. The context becomes 10 + 4 + 1, so
	// there are 2·4·15 = 120 scores: fused attention 2·120·4, softmax 5·120.
	{"sequence_length_list", dense, set{"runtime.sequence_length_list": `[[10, 8]]`}, wants{cacheSpace: 2. * 18 * 8 * 2 / GB, attnFlops: 2 * (2000 - 576 - 360 + 960 + 600)}},
	{"sequence_length_list", dense, set{"runtime.sequence_length_list": `[[6, 4], [10, 8]]`}, wants{numberOfRuns: 2}},
	{"num_redundant_experts_config", experts, set{"runtime.num_redundant_experts_config": `4`}, wants{"decoder_moe_redundant_expert_num": 4, mlpWeights: 2. * (16 + 32 + 10*96) / GB}},
	// The fewest weights are the fastest.
	{"num_redundant_experts_config", experts, set{"runtime.num_redundant_experts_config": `[1, 4]`}, wants{"decoder_moe_redundant_expert_num": 1, mlpWeights: 2. * (16 + 32 + 7*96) / GB}},
	// 4 + 2 experts and the one shared expert that a token visits; the network carries 2 visits instead of 3.
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
	{"time_limit_list", dense, set{"runtime.time_limit_list": `[[1e-9, null]]`}, nil}, // the first of the two
	{"output", dense, set{"runtime.output": `"elsewhere"`}, wants{folder: "elsewhere"}},

	{"parallel_config", dense.withAll(pair), set{"runtime.parallel_config": `[[1, 2, 1]]`}, wants{"decoder_dp": 1, "decoder_pp": 2, tokenTime: 2*stage + 2*(16./(4*GB))}},
	{"parallel_config", dense.withAll(pair), set{"runtime.parallel_config": `[[1, 1, 2]]`}, wants{"decoder_dp": 1, "decoder_tp": 2, tpTime: reduced / (4 * GB)}},
	// Two candidates of one search: two replicas are twice as fast as one pipeline.
	{"parallel_config", pipeline, set{"runtime.parallel_config": `[[1, 2, 1], [2, 1, 1]]`}, wants{"decoder_pp": 1, throughput: 2 * 2 / (2 * stage)}},
	// Experts of half the width see the tokens of both processors: gate and up 2·12·8·4, activation 3·24, and so on, the
	// weighting 12·8.
	{"moe_parallel_config", exchange, set{"runtime.moe_parallel_config": `[[1, 2, 1]]`}, wants{"decoder_ep": 1, "decoder_moe_tp": 2, mlpFlops: 2 * (224 + 128 + 62 + 768 + 72 + 24 + 384 + 96 + 16)}},
	{"moe_parallel_config", exchange, set{"runtime.moe_parallel_config": `[[1, 1, 2]]`}, wants{"decoder_moe_dp": 2, mlpWeights: 2. * (16 + 32 + 8*96) / GB}},
	// Two micro-batches of 3 sequences, one after the other: 1192 + 3·752 bytes and 2·3·180 operations of the softmax each.
	{"batch_config", dense, set{"runtime.batch_config": `[[6, 2, 3]]`}, wants{batchSize: 3, cacheSpace: 6. * 10 * 8 * 2 / GB, tokenTime: 2 * (3448./GB + 1080/(2*T))}},
	// The larger of two candidates shares the weights among more sequences.
	{"batch_config", dense, set{"runtime.batch_config": `[[1, 1, 1], [4, 1, 4]]`}, wants{batchSize: 4, throughput: 4 / (4200./GB + 1440/(2*T))}},

	{key: "decode_mtp_token_config", base: dense, change: set{"runtime.decode_mtp_token_config": `0`}},
}

// pair is two processors, each a replica.
var pair = set{"runtime.num_procs_list": `[2]`, "runtime.parallel_config": `[[2, 1, 1]]`}

var fusionTests = []keyTest{
	{"num_procs_list", free, set{"runtime.num_procs_list": `[4]`}, wants{"decoder_num_procs": 4, "decoder_num_npu": 4, throughput: 4 * 2 / (2 * stage)}},
	{"num_procs_list", free, set{"runtime.num_procs_list": `[1, 2, 4]`}, wants{numberOfRuns: 3}},
	{"sys_list", dense, set{"runtime.sys_list": `["system.json", "H800_IB"]`}, wants{numberOfRuns: 2}},
	{"sys_list", dense.withAll(common), set{"runtime.sys_list": `["H800_IB"]`}, wants{"decoder_system_name": "H800_IB"}},
}

var splitTests = []keyTest{
	// Without a given split, decode is sized on all processors.
	{"num_procs_list", free.in(split).with("runtime.pd_num_procs_list", `null`), set{"runtime.num_procs_list": `[4]`}, wants{"decoder_num_procs": 4, throughput: 4 * 2 / (2 * stage)}},
	{"pd_num_procs_list", free.in(split).withAll(set{"runtime.num_procs_list": `[8]`, "runtime.pd_num_procs_list": `null`}), set{"runtime.pd_num_procs_list": `[[3, 2]]`}, wants{"decoder_num_procs": 2, throughput: 2 * 2 / (2 * stage)}},
	// Lists of equal length pair up; otherwise they multiply.
	{"pd_num_procs_list", free.in(split), set{"runtime.num_procs_list": `[4, 8]`, "runtime.pd_num_procs_list": `[[2, 2], [4, 4]]`}, wants{numberOfRuns: 2}},
	{"pd_num_procs_list", free.in(split), set{"runtime.num_procs_list": `[4, 8]`, "runtime.pd_num_procs_list": `[[2, 2], [1, 1], [2, 1]]`}, wants{numberOfRuns: 6}},
	{"pd_num_procs_list", free.in(split).with("runtime.num_procs_list", `[8]`), set{"runtime.pd_num_procs_list": `[[5, 1]]`}, nil}, // the first of the two
	{"sys_list", dense.in(split), set{"runtime.sys_list": `["system.json", "H800_IB"]`}, wants{numberOfRuns: 2}},
	{"sys_list", dense.in(split).withAll(common), set{"runtime.sys_list": `[["system.json", "H800_IB"]]`}, wants{"decoder_system_name": "H800_IB"}},
	{"sys_list", dense.in(split).withAll(common), set{"runtime.sys_list": `[["H800_IB", "system.json"]]`}, nil}, // the first of the two

	{key: "p_parallel_config", base: prefillPair, change: set{"runtime.p_parallel_config": `[[1, 1, 2]]`}},
	{key: "p_moe_parallel_config", base: experts.in(split), change: set{"runtime.p_moe_parallel_config": `[[1, 1, 1]]`}},
	{key: "p_micro_batch_size", base: prefillPair, change: set{"runtime.p_micro_batch_size": `[[4, 1, 4]]`}},
}

var (
	// free leaves the split over processors to the search, with the batch given.
	free = dense.with("runtime.parallel_config", `null`)
	// common are number types that built-in systems have too.
	common = set{"runtime.flops_type_list": `[["float8", "float16", "float16"]]`}
	// prefillPair has two processors for prefill.
	prefillPair = dense.in(split).withAll(set{"runtime.num_procs_list": `[3]`, "runtime.pd_num_procs_list": `[[2, 1]]`})
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

// The name of a section decides the name of the table.
func TestSections(t *testing.T) {
	for _, s := range sections {
		if got, want := dense.in(s.name).mustRun(t).table, s.mode+"_decoder_best.csv"; got != want {
			t.Errorf("%s writes %s, not %s", s.name, got, want)
		}
	}
}

// Keys that the program only understands in part refuse the rest instead of ignoring it.
func TestRefused(t *testing.T) {
	refused := set{
		"runtime.decode_mtp_token_config": `1`,
		"model.multiple_of":               `7`,
		"model.ffn_dim_multiplier":        `1.3`,
	}
	for path, value := range refused {
		if r := dense.with(path, value).run(t); r.runs != nil {
			t.Errorf("%s: %s is accepted", path, value)
		}
	}
}
