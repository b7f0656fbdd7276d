package formats

// compute is the compute time of the dense feed-forward block: two layers of 1024 + 512 operations
// of the matrix unit and 112 + 96 + 32 + 16 of the vector unit.
func compute(matrix, vector float64) float64 { return 2 * (1536/matrix + 256/vector) }

// millisecond is the latency that tests set.
const millisecond = 1e-3

// The two exchanges of each of two layers of the expert model send 48 bytes: 2 tokens to 3 experts,
// 8 elements each. The two all-reduces of each of two layers of the dense model work on 16 bytes, 2
// tokens of 8 elements: in a group of two that is a volume of 16 · 2 · (1 - 1/2). One stage of the
// pipeline takes one layer, 588 + 760 bytes and 360 operations of its softmax, and hands on 16
// bytes. One layer of the prefill takes 1740 + 2600 bytes and 1440 operations.
const (
	exchanged = 2. * 2 * 48
	reduced   = 2. * 2 * 16
	stage     = 1348./GB + 360/(2*T)
	prompt    = 4340./GB + 1440/(2*T)
)

var (
	// sequenceParallel has 4 collectives in each of two layers, on 16 bytes each: an all-gather in
	// front of attention and of the feed-forward block, a reduce-scatter behind them.
	sequenceParallel = tensor.with("runtime.sequence_parallel_config", `true`)
	// cut has experts cut in two. Each processor sends 2 tokens to 3 experts, so that both slices
	// work on 12 of 8 elements: in each of two layers 96 bytes are gathered and 96 scattered.
	cut = exchange.with("runtime.moe_parallel_config", `[[1, 2, 1]]`)
	// nested has 4 tensor-parallel ranks on an inner network of 2. Each of the 4 all-reduces
	// scatters 16 bytes inside, reduces the halves of 8 bytes outside, where 2 · (1 - 1/2) of them
	// are sent at 1 GB/s, and gathers 16 bytes inside.
	nested = dense.withAll(set{
		"runtime.num_procs_list": `[4]`, "runtime.parallel_config": `[[1, 1, 4]]`, "system.networks[0].size": `2`,
	})
	// priced has prices, which change no time.
	priced = dense.with("system.economics", `{"per_hour": {"dollars": 1, "date": "2025", "source": "a"}, "purchase": {"dollars": 1, "date": "2025", "source": "a"}, "dies": [{"mm2": 1, "wafer_dollars": 1, "defects_per_cm2": 1}], "package_dollars": 1, "memory_dollars_per_GB": 1}`)
	// powered has a power, which changes no time.
	powered = dense.with("system.power", `{"rest_W": 50, "on_W": 80, "busy_W": 100, "limit_W": 300, "clock": {"MHz": 1000, "lowest_MHz": 200}, "pJ_per_flop": {"float16": 1, "float8": 0.5, "int8": 0.5}, "pJ_per_byte": 50, "origin": "estimated"}`)
	// gated has a kernel for its gate: see the test of kernels.
	gated = dense.with("system.kernels", `{"elementwise": {"silu_mul": {"latency": 1, "memory": {"axes": [[1]], "slowdown": [1]}}}}`)
	// Weights of 8 bits that are multiplied in 16: products of 2304 operations on 576 weights, 80
	// inputs and 128 results in a layer, by a kernel that adds the times of both; attention keeps
	// the roofline, 2·32 + 144 bytes.
	weightOnly = dense.with("runtime.flops_type_list", `[["float16", "float16", "float32"]]`).with("runtime.wac_bytes_list", `[[1, 2, 1, 1]]`).with("system.kernels",
		`{"gemm": {"float16": {"latency": 0, "norm": 1, "compute": {"axes": [[1, 2], [8, 32], [8, 16]], "slowdown": [1, 1, 1, 1, 1, 1, 1, 1]}, "memory": {"axes": [[1, 2], [8, 32], [8, 16]], "slowdown": [1, 1, 1, 1, 1, 1, 1, 1]}, "weight_bytes": 2, "input_bytes": 1, "output_bytes": 1}}}`)
	// four exchanges between 4 processors.
	four = experts.withAll(set{
		"runtime.num_procs_list": `[4]`, "runtime.parallel_config": `[[4, 1, 1]]`, "runtime.moe_parallel_config": `[[4, 1, 1]]`,
	})
)

// systemTests change a key of the system file. Its inner network has 4 GB/s.
var systemTests = []keyTest{
	{"name", dense, set{"system.name": `"other"`}, wants{"decoder_system_name": "other"}},
	{"type", exchange, set{"system.type": `"sow"`}, wants{epTime: 0}},
	{"maker", dense, set{"system.maker": `"AMD"`}, nil},
	{"multiprocessors", dense, set{"system.multiprocessors": `100`}, nil},
	{"index_efficiency", dense, set{"system.index_efficiency": `0.5`}, nil},
	{"power.rest_W", powered, set{"system.power.rest_W": `40`}, nil},
	{"power.on_W", powered, set{"system.power.on_W": `90`}, nil},
	{"power.busy_W", powered, set{"system.power.busy_W": `90`}, nil},
	{"power.limit_W", powered, set{"system.power.limit_W": `200`}, nil},
	{"power.held", powered, set{"system.power.held": `0.9`}, nil},
	{"power.window_s", powered, set{"system.power.window_s": `0.1`}, nil},
	{"power.clock.MHz", powered, set{"system.power.clock.MHz": `900`}, nil},
	{"power.clock.lowest_MHz", powered, set{"system.power.clock.lowest_MHz": `300`}, nil},
	{"power.clock.knee", powered, set{"system.power.clock.knee": `0.6`}, nil},
	{"power.clock.knee_voltage", powered, set{"system.power.clock.knee_voltage": `0.7`}, nil},
	{"power.pJ_per_flop.*", powered, set{"system.power.pJ_per_flop.float16": `2`}, nil},
	{"power.pJ_per_byte", powered, set{"system.power.pJ_per_byte": `60`}, nil},
	{"power.core_pJ_per_byte", powered, set{"system.power.core_pJ_per_byte": `20`}, nil},
	{"power.link_pJ_per_byte", powered, set{"system.power.link_pJ_per_byte": `[40]`}, nil},
	{"power.host_pJ_per_byte", powered, set{"system.power.host_pJ_per_byte": `50`}, nil},
	{"power.empty_lanes", powered, set{"system.power.empty_lanes": `0.2`}, nil},
	{"power.issue", powered, set{"system.power.issue": `0.3`}, nil},
	{"power.host_W", powered, set{"system.power.host_W": `100`}, nil},
	{"power.origin", powered, set{"system.power.origin": `"measured"`}, nil},
	{"economics.per_hour.dollars", priced, set{"system.economics.per_hour.dollars": `2`}, nil},
	{"economics.per_hour.date", priced, set{"system.economics.per_hour.date": `"2026"`}, nil},
	{"economics.per_hour.source", priced, set{"system.economics.per_hour.source": `"b"`}, nil},
	{"economics.purchase.dollars", priced, set{"system.economics.purchase.dollars": `2`}, nil},
	{"economics.purchase.date", priced, set{"system.economics.purchase.date": `"2026"`}, nil},
	{"economics.purchase.source", priced, set{"system.economics.purchase.source": `"b"`}, nil},
	{"economics.dies[].mm2", priced, set{"system.economics.dies[0].mm2": `2`}, nil},
	{"economics.dies[].count", priced, set{"system.economics.dies[0].count": `2`}, nil},
	{"economics.dies[].wafer_dollars", priced, set{"system.economics.dies[0].wafer_dollars": `2`}, nil},
	{"economics.dies[].defects_per_cm2", priced, set{"system.economics.dies[0].defects_per_cm2": `2`}, nil},
	{"economics.dies[].clustering", priced, set{"system.economics.dies[0].clustering": `2`}, nil},
	{"economics.dies[].wafer_mm", priced, set{"system.economics.dies[0].wafer_mm": `200`}, nil},
	{"economics.dies[].edge_mm", priced, set{"system.economics.dies[0].edge_mm": `2`}, nil},
	{"economics.dies[].scribe_mm", priced, set{"system.economics.dies[0].scribe_mm": `2`}, nil},
	{"economics.package_dollars", priced, set{"system.economics.package_dollars": `2`}, nil},
	{"economics.memory_dollars_per_GB", priced, set{"system.economics.memory_dollars_per_GB": `2`}, nil},
	{"generation", dense, set{"system.generation": `"Hopper"`}, nil},
	{"formats", dense, set{"system.formats": `["int8"]`}, nil},
	{"exchange_remark", dense, set{"system.exchange_remark": `"slow links"`}, nil},
	{"processing_mode", dense, set{"system.processing_mode": `"no_overlap"`}, wants{mlpTime: 2*760./GB + compute(8*T, 2*T)}},
	// A gate of one second, without slowdown: the activation takes it and the traffic of two inputs
	// and one output of 32 bytes each; the multiplication and softmax are part of it and of
	// attention. Norms 40 + 34 + 18 + 40 and residuals 2·48 keep the roofline: 228 + 96 bytes in
	// each of two layers.
	{"kernels", dense, set{"system.kernels": `{"elementwise": {"silu_mul": {"latency": 1, "memory": {"axes": [[1]], "slowdown": [1]}}}}`},
		wants{"decoder_instance_vector_process_time(s)": 2 * (1 + 96/1e9 + 228./GB)}},
	// The same gate at half of its speed, or launched a second later.
	{"kernel_efficiency.*", gated, set{"system.kernel_efficiency": `{"elementwise": 0.5}`},
		wants{"decoder_instance_vector_process_time(s)": 2 * (2*(1+96/1e9) + 228./GB)}},
	{"kernel_launch", gated, set{"system.kernel_launch": `1`},
		wants{"decoder_instance_vector_process_time(s)": 2 * (1 + 1 + 96/1e9 + 228./GB)}},
	// Weights are worth 2/1.25 bytes, in place of the one that they are stored in.
	{"kernel_weight_only", weightOnly, set{"system.kernel_weight_only": `1.25`},
		wants{"decoder_instance_cube_process_time(s)": 2 * (2304/4e12 + (1.6*576+208)/1e9 + 208./GB)}},
	// Two processors on one card.
	{"procs_per_npu", exchange, set{"system.procs_per_npu": `2`}, wants{"decoder_num_npu": 1}},
	{"collective_overlap", exchange, set{"system.collective_overlap": `0.75`}, wants{epTime: 0.25 * exchanged / (4 * GB)}},
	{"collective_overlap", tensor, set{"system.collective_overlap": `0.75`}, wants{tpTime: 0.25 * reduced / (4 * GB)}},
	// Stages wait for each other whatever is hidden.
	{"collective_overlap", pipeline, set{"system.collective_overlap": `1`}, nil},

	{"matrix.*.tflops", dense, set{"system.matrix.float8.tflops": `16`}, wants{mlpCompute: compute(16*T, 2*T), "decoder_matix_flops": 16. * 1024e9 / (1 << 40)}},
	// The rate of the attention type holds for the two products of latent attention, 432 + 288
	// operations. The others are 704 of the matrix and 416 of the vector unit.
	{"matrix.*.tflops", experts, set{"system.matrix.float16.tflops": `1`}, wants{attnCompute: 2 * (704/(8*T) + 416/(2*T) + 720/(1*T))}},
	{"matrix.*.calibration_coefficient", dense, set{"system.matrix.float8.calibration_coefficient": `0.5`}, wants{mlpCompute: compute(4*T, 2*T)}},
	// Only the product with 32 outputs, 1024 operations, reaches the bound of the first row.
	{"matrix.*.gflops_efficiency", dense, set{"system.matrix.float8.gflops_efficiency": `[[null, 20, null, 0.5], [null, null, null, 0.25]]`}, wants{mlpCompute: 2 * (1024/(4*T) + 512/(2*T) + 256/(2*T))}},
	// The other product has 16 inputs, and both have 2 tokens: the first row asks for 3, the second
	// for 16 inputs.
	{"matrix.*.gflops_efficiency", dense, set{"system.matrix.float8.gflops_efficiency": `[[3, null, null, 0.5], [2, null, 16, 0.25], [null, null, null, 1]]`}, wants{mlpCompute: 2 * (1024/(8*T) + 512/(2*T) + 256/(2*T))}},
	{"vector.*.tflops", dense, set{"system.vector.float32.tflops": `4`}, wants{mlpCompute: compute(8*T, 4*T)}},
	{"vector.*.calibration_coefficient", dense, set{"system.vector.float32.calibration_coefficient": `0.5`}, wants{mlpCompute: compute(8*T, 1*T)}},
	// Only the norm, 112 operations, reaches 100.
	{"vector.*.gflops_efficiency", dense, set{"system.vector.float32.gflops_efficiency": `[[100e-9, 0.5], [0, 0.25]]`}, wants{mlpCompute: 2 * (1536/(8*T) + 112/(1*T) + 144/(0.5*T))}},

	// Weights take 2·(204 + 392) bytes, every sequence 2·10·8 of cache. The result of gate and up
	// takes 32 for every token, so that the prefill of one sequence needs 192. 4 sequences fit into
	// 2 KiB, with 1192 + 4·160 + 192 = 2024 bytes.
	{"mem1.GiB", dense.with("runtime.batch_config", `null`).with("system.mem1.GiB", `0.0001`), set{"system.mem1.GiB": `1.9073486328125e-06`}, wants{batchSize: 4}},
	{"mem1.GBps", dense, set{"system.mem1.GBps": `2`}, wants{mlpMemory: 2 * 760. / (2 * GB)}},
	{"mem1.calibration_coefficient", dense, set{"system.mem1.calibration_coefficient": `0.5`}, wants{mlpMemory: 2 * 760. / (0.5 * GB)}},
	// Only gate and up, 336 bytes, reaches 300.
	{"mem1.MB_efficiency", dense, set{"system.mem1.MB_efficiency": `[[300e-6, 0.5], [0, 0.25]]`}, wants{mlpMemory: 2 * (336/(0.5*GB) + 424/(0.25*GB))}},
	// Fused attention moves 176 of the 588 bytes.
	{"mem1.page_attention_calibration_coefficient", dense, set{"system.mem1.page_attention_calibration_coefficient": `0.5`}, wants{attnMemory: 2 * (412. + 176/0.5) / GB}},
	// Of them, 144 are read from the cache.
	{"mem1.kv_cache_calibration_coefficient", dense, set{"system.mem1.kv_cache_calibration_coefficient": `0.5`}, wants{attnMemory: 2 * (444. + 144/0.5) / GB}},
	// Latent attention that expands its keys reads 2·9 tokens of 4 + 2 elements from the cache, and
	// 812 bytes besides: latent up 32 + 144, query concat 32, fused attention 24 + 216, the others
	// 260 before and 104 behind.
	{"mem1.kv_cache_calibration_coefficient", experts.with("model.attn_type", `"mla"`), set{"system.mem1.kv_cache_calibration_coefficient": `0.5`}, wants{attnMemory: 2 * (812. + 108/0.5) / GB}},

	{"networks[].bandwidth", exchange, set{"system.networks[0].bandwidth": `8`}, wants{epTime: exchanged / (8 * GB), "decoder_network0_bw(GBps)": 8}},
	{"networks[].bandwidth", tensor, set{"system.networks[0].bandwidth": `8`}, wants{tpTime: reduced / (8 * GB)}},
	{"networks[].bandwidth", pipeline, set{"system.networks[0].bandwidth": `8`}, wants{tokenTime: 2*stage + 2*(16./(8*GB))}},
	// The cache of 2 prompts is 2 · 6 tokens of 8 elements and 2 layers, 192 bytes. Sent at 0.01
	// GB/s it takes longer than the prefill, of which the first layer hides some; requests leave no
	// faster than their cache.
	{"networks[].bandwidth", prefillJob, set{"system.networks[0].bandwidth": `0.01`}, wants{
		cacheTime: 192 / (0.01 * GB), cacheExposed: 192/(0.01*GB) - prompt, firstToken: prompt + 192/(0.01*GB), prefillRate: 2 / (192 / (0.01 * GB)),
	}},
	{"networks[].efficiency", exchange, set{"system.networks[0].efficiency": `0.5`}, wants{epTime: exchanged / (2 * GB)}},
	// Messages of 48 bytes do not reach 100.
	{"networks[].DB_efficiency", exchange, set{"system.networks[0].DB_efficiency": `[[100e-6, 1], [0, 0.25]]`}, wants{epTime: exchanged / (1 * GB)}},
	// Groups of two no longer lie on the inner network; the outer one has 1 GB/s.
	{"networks[].size", exchange, set{"system.networks[0].size": `1`}, wants{epTime: exchanged / (1 * GB)}},
	{"networks[].latency", exchange, set{"system.networks[0].latency": `1e-3`}, wants{epTime: 4*millisecond + exchanged/(4*GB), "decoder_network0_latency(s)": millisecond}},
	{"networks[].latency", pipeline, set{"system.networks[0].latency": `1e-3`}, wants{tokenTime: 2*stage + 2*(millisecond+16./(4*GB))}},
	// A group of two sends 48 · 2 · (1 - 0.5/2); the traffic of 4 output tokens leaves the offset
	// out.
	{"networks[].ops.*.op_scalar", exchange, set{"system.networks[0].ops.all2all.op_scalar": `[2, -0.5]`}, wants{epTime: exchanged * 1.5 / (4 * GB), epTraffic: exchanged * 2 * 4 / GB}},
	{"networks[].ops.*.op_scalar", tensor, set{"system.networks[0].ops.all_reduce.op_scalar": `[3, -1]`}, wants{tpTime: reduced * 1.5 / (4 * GB), tpTraffic: reduced * 3 * 4 / GB}},
	{"networks[].ops.*.op_scalar", pipeline, set{"system.networks[0].ops.p2p.op_scalar": `[3, null]`}, wants{tokenTime: 2*stage + 2*(3*16./(4*GB))}},
	// The group of two is listed; then it is not, and the lowest efficiency of the list counts.
	{"networks[].ops.*.bandwidth_eff", exchange, set{"system.networks[0].ops.all2all.bandwidth_eff": `[[2, 0.5], [4, 0.25]]`}, wants{epTime: exchanged / (2 * GB)}},
	{"networks[].ops.*.bandwidth_eff", exchange, set{"system.networks[0].ops.all2all.bandwidth_eff": `[[3, 0.5], [4, 0.25], [5, 1]]`}, wants{epTime: exchanged / (1 * GB)}},
	{"networks[].ops.*.bandwidth_eff", tensor, set{"system.networks[0].ops.all_reduce.bandwidth_eff": `[[2, 0.5]]`}, wants{tpTime: reduced / (2 * GB)}},
	{"networks[].ops.*.bandwidth_eff", pipeline, set{"system.networks[0].ops.p2p.bandwidth_eff": `[[2, 0.5]]`}, wants{tokenTime: 2*stage + 2*(16./(2*GB))}},
	// While all of it overlaps, communication takes half of the computation's time.
	{"networks[].processor_usage", exchange.with("system.collective_overlap", `1`), set{"system.networks[0].processor_usage": `0.5`}, wants{epTime: 0.5 * exchanged / (4 * GB)}},

	// Fused attention of the prefill moves 288 of the 1740 bytes; 96 of them are read from the
	// cache.
	{"mem1.page_attention_calibration_coefficient_prefill", dense, set{"system.mem1.page_attention_calibration_coefficient_prefill": `0.5`}, wants{prefillAttnMemory: 2 * (1452. + 288/0.5) / GB}},
	{"mem1.kv_cache_calibration_coefficient_prefill", dense, set{"system.mem1.kv_cache_calibration_coefficient_prefill": `0.5`}, wants{prefillAttnMemory: 2 * (1644. + 96/0.5) / GB}},

	// Three switches instead of one on the way of each of 4 exchanges.
	{"networks[].topology", exchange.with("system.networks[0].latency", `1e-3`), set{"system.networks[0].topology": `"fattree"`}, wants{epTime: 4*3*millisecond + exchanged/(4*GB)}},
	// A processor has links to 3 others and uses one.
	{"networks[].topology", exchange, set{"system.networks[0].topology": `"fullmesh"`}, wants{epTime: 3 * exchanged / (4 * GB)}},
	// Two neighbours at one hop and one processor at two: 4/3 on average.
	{"networks[].topology", four, set{"system.networks[0].topology": `"ring"`}, wants{epTime: exchanged * 4 / 3 / (4 * GB)}},

	// The measured collective takes a second; the formula is taken all the same.
	{"networks[].formula", tensor.with("system.kernels", `{"collective": {"all_reduce": {"latency": 1, "share": 1, "bytes": {"axes": [[2], [1]], "slowdown": [1]}}}}`),
		set{"system.networks[0].formula": `true`}, wants{tpTime: reduced / (4 * GB)}},
	// Two processors on two nodes: each of 4 exchanges takes 8.4 µs and one to post its message,
	// beside half of the bytes, whatever op_scalar says, at 1 GB/s.
	{"networks[].library", exchange.with("system.networks[0].size", `1`), set{"system.networks[1].library": `"nccl"`}, wants{epTime: 4*9.4e-6 + exchanged/2/(1*GB)}},

	// Of 8 collectives 4 are reduce-scatters and 4 all-gathers.
	{"networks[].ops.reduce_scatter.op_scalar", sequenceParallel, set{"system.networks[0].ops.reduce_scatter.op_scalar": `[9, -1]`}, wants{spTime: 4 * (16 + 4.5*16) / (4 * GB), spTraffic: 4. * 4 * (16 + 9*16) / GB}},
	{"networks[].ops.reduce_scatter.bandwidth_eff", sequenceParallel, set{"system.networks[0].ops.reduce_scatter.bandwidth_eff": `[[2, 0.5]]`}, wants{spTime: 4 * (16 + 16/0.5) / (4 * GB)}},
	{"networks[].ops.all_gather.op_scalar", sequenceParallel, set{"system.networks[0].ops.all_gather.op_scalar": `[9, -1]`}, wants{spTime: 4 * (16 + 4.5*16) / (4 * GB)}},
	{"networks[].ops.all_gather.bandwidth_eff", sequenceParallel, set{"system.networks[0].ops.all_gather.bandwidth_eff": `[[2, 0.5]]`}, wants{spTime: 4 * (16 + 16/0.5) / (4 * GB)}},
	{"networks[].ops.reduce_scatter.op_scalar", nested, set{"system.networks[0].ops.reduce_scatter.op_scalar": `[9, -1]`}, wants{tpTime: 4 * (4.5*16/(4*GB) + 8./GB + 16./(4*GB))}},
	{"networks[].ops.all_gather.bandwidth_eff", nested, set{"system.networks[0].ops.all_gather.bandwidth_eff": `[[2, 0.5]]`}, wants{tpTime: 4 * (16./(4*GB) + 8./GB + 16./(2*GB))}},
	{"networks[].ops.reduce_scatter.bandwidth_eff", cut, set{"system.networks[0].ops.reduce_scatter.bandwidth_eff": `[[2, 0.5]]`}, wants{epTime: 2 * (96 + 96/0.5) / (4 * GB)}},
	{"networks[].ops.all_gather.op_scalar", cut, set{"system.networks[0].ops.all_gather.op_scalar": `[9, -1]`}, wants{epTime: 2 * (4.5*96 + 96) / (4 * GB), epTraffic: 4. * 2 * (9*96 + 96) / GB}},

	{key: "mem2.GiB", base: dense.with("system.mem2", second), change: set{"system.mem2.GiB": `2`}},
	{key: "mem2.GBps", base: dense.with("system.mem2", second), change: set{"system.mem2.GBps": `2`}},
	{key: "mem2.host_GBps", base: dense.with("system.mem2", second), change: set{"system.mem2.host_GBps": `2`}},
	{key: "mem2.MB_efficiency", base: dense.with("system.mem2", second), change: set{"system.mem2.MB_efficiency": `[[0, 0.5]]`}},
	{key: "mem1.new.GBps", base: dense.with("system.mem1.new", anew), change: set{"system.mem1.new.GBps": `2`}},
	{key: "mem1.new.thread_GBps", base: dense.with("system.mem1.new", anew), change: set{"system.mem1.new.thread_GBps": `2`}},
	{key: "mem1.new.MiB", base: dense.with("system.mem1.new", anew), change: set{"system.mem1.new.MiB": `0`}},
	{key: "sources.*", base: dense, change: set{"system.sources.mem1": `"a guess"`}},
	{key: "chosen.*.runs", base: dense, change: set{"system.chosen.mem1": `{"runs": "one", "date": "2026-01-02"}`}},
	{key: "chosen.*.date", base: dense, change: set{"system.chosen.mem1": `{"runs": "one", "date": "2026-01-03"}`}},
}

const anew = `{"GBps": 1, "thread_GBps": 1}`

const second = `{"GiB": 1, "GBps": 1}`
