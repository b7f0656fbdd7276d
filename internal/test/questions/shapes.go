package questions

// shape is what a draw needs of a built-in model to be valid.
type shape struct {
	name           string
	heads, layers  int
	experts, width int     // routed experts and the width of each; 0: a dense model
	drafts         int     // tokens that its own layers may draft
	gigabytes      float64 // of the weights as published
	billions       float64 // parameters
	brief          bool    // takes requests of 2048 tokens at most
}

// shapes are models of every kind of attention and of feed-forward layers.
var shapes = []shape{
	{"Llama-3.1-8B", 32, 32, 0, 0, 0, 16, 8, false},
	{"Llama-3.1-70B", 64, 80, 0, 0, 0, 141, 70.6, false},
	{"Llama-3.1-405B", 128, 126, 0, 0, 0, 812, 406, false},
	{"Llama-2-7B", 32, 32, 0, 0, 0, 13.5, 6.7, true},
	{"gpt_3_175b", 96, 96, 0, 0, 0, 350, 175, true},
	{"Qwen2.5-7B", 28, 28, 0, 0, 0, 15.2, 7.6, false},
	{"Qwen3-32B", 64, 64, 0, 0, 0, 65.6, 32.8, false},
	{"Qwen3.5-27B", 24, 64, 0, 0, 1, 54, 26.9, false},
	{"LFM2.5-1.2B", 32, 16, 0, 0, 0, 2.4, 1.2, false},
	{"DeepSeek-V2-Lite", 16, 27, 64, 1408, 0, 31.4, 15.7, false},
	{"DeepSeek-V3", 128, 61, 256, 2048, 3, 673, 671, false},
	{"DeepSeek-V3", 128, 61, 256, 2048, 3, 673, 671, false}, // twice: it has the most ways to be deployed
	{"DeepSeek-V3.2", 128, 61, 256, 2048, 3, 674, 672, false},
	{"DeepSeek-V4-Flash", 64, 43, 256, 2048, 1, 160, 284, false},
	{"GLM-4.5", 96, 92, 160, 1536, 1, 706, 353, false},
	{"GLM-4.5-Air", 96, 46, 128, 1408, 1, 214, 107, false},
	{"GLM-5.2", 64, 78, 256, 2048, 1, 1487, 743, false},
	{"Kimi-K2-Instruct", 64, 61, 384, 2048, 0, 1030, 1026, false},
	{"Kimi-K2.5", 64, 61, 384, 2048, 0, 590, 1026, false},
	{"LFM2.5-8B-A1B", 32, 24, 32, 1792, 0, 16.6, 8.3, false},
	{"Llama-4-Scout-17B-16E", 40, 48, 16, 8192, 0, 216, 108, false},
	{"MiMo-V2-Flash", 64, 48, 256, 2048, 0, 315, 309, false},
	{"MiniMax-M1", 64, 80, 32, 9216, 0, 912, 456, false},
	{"MiniMax-M2", 48, 62, 256, 1536, 3, 230, 229, false},
	{"MiniMax-M3", 64, 60, 128, 3072, 0, 852, 426, false},
	{"Mixtral-8x7B", 32, 32, 8, 14336, 0, 93.4, 46.7, false},
	{"Qwen3-235B-A22B", 64, 94, 128, 1536, 0, 470, 235, false},
	{"Qwen3-30B-A3B", 32, 48, 128, 768, 0, 61, 30.5, false},
	{"Qwen3-Next-80B-A3B", 16, 48, 512, 512, 0, 160, 79.7, false},
	{"Qwen3.5-122B-A10B", 32, 48, 256, 1024, 1, 244, 122, false},
	{"gpt-oss-120b", 64, 36, 128, 2880, 0, 65, 117, false},
	{"gpt-oss-20b", 64, 24, 32, 2880, 0, 13.8, 20.9, false},
}

// chip is what a draw needs of a built-in system.
type chip struct {
	name    string
	gib     float64
	most    int    // processors that its networks join, and draws take
	nvidia  bool   // TensorRT-LLM runs on it
	formats string // of weights that its matrix units compute
}

const (
	hopper    = "bf16 fp8 fp8_block int8 w8a8 int4 w4a8"
	blackwell = "bf16 fp8 fp8_block mxfp8 nvfp4 mxfp4 int4"
)

var chips = []chip{
	{"H100_SXM", 79.65, 64, true, hopper},
	{"H200", 140.4, 64, true, hopper},
	{"H200", 140.4, 64, true, hopper}, // twice: most measurements are from it
	{"H20_96G", 95.58, 32, true, hopper},
	{"H20_141G", 140.4, 32, true, hopper},
	{"H800", 79.65, 64, true, hopper},
	{"A100_SXM", 80, 32, true, "bf16 int8 int4"},
	{"L40S", 44.99, 16, true, "bf16 fp8 int8 int4"},
	{"B200", 179, 32, true, blackwell},
	{"B300", 268, 32, true, blackwell},
	{"GB200_NVL72", 185, 64, true, blackwell},
	{"GB300_NVL72", 277, 64, true, blackwell},
	{"RTX_PRO_6000", 95.6, 8, true, "bf16 fp8 nvfp4"},
	{"MI300X", 192, 16, false, "bf16 fp8"},
	{"MI355X", 288, 16, false, "bf16 fp8 mxfp4"},
	{"Ascend_910C", 64, 64, false, "bf16 int8"},
	{"TPU_v6e", 32, 64, false, "bf16 int8"},
	{"SOW-U1-POR", 72, 64, false, "fp8"},
}

// bytesOf is the bytes of a weight in a format.
var bytesOf = map[string]float64{
	"bf16": 2, "fp8": 1, "fp8_block": 1, "mxfp8": 1.03, "int8": 1, "w8a8": 1, "int4": 0.52, "w4a8": 0.52, "nvfp4": 0.57, "mxfp4": 0.54,
}

// knob is a scheduling setting of an engine, and values to try.
type knob struct{ name, values string }

var knobs = map[string][]knob{
	"sglang": {
		{"step-tokens", "2048 4096 16384"}, {"max-running-requests", "8 32 256"}, {"poll-steps", "1 4 10"},
		{"captured-batch", "16 64 160"}, {"captured-prompts", "512 4096"},
	},
	"vllm":   {{"step-tokens", "1024 4096 16384"}, {"max-running-requests", "8 64 256"}, {"captured-batch", "64 512"}, {"captured-prompts", "512"}},
	"trtllm": {{"step-tokens", "2048 16384"}, {"max-running-requests", "16 128"}, {"wait-steps", "2 10"}, {"captured-batch", "32 256"}},
	"none":   {{"step-tokens", "512 8192"}, {"max-running-requests", "16 128"}, {"wait-steps", "4"}, {"poll-steps", "3"}},
	"any":    {{"step-tokens", "4096 8192"}, {"max-running-requests", "64"}},
}

// engines are those of draws, as often as they are drawn.
var engines = []string{"sglang", "sglang", "vllm", "vllm", "trtllm", "trtllm", "none", "any", "sglang@0.4.6", "sglang@0.4.8", "sglang@0.5.10", "vllm@0.9", "vllm@0.20"}
