package question

import "strings"

// Group is settings that belong together in a form.
type Group struct {
	Name     string
	Settings []string // the most asked first
}

// Groups are all settings as a form shows them: the group and the rank of a setting are its place
// here, whichever command it is of.
var Groups = []Group{
	{"deployment", strings.Fields(`model system gpus decode-system prefill-gpus pool gpus-per-node engine mode`)},
	{"requests", strings.Fields(`isl osl concurrency batch rate num-prompts lengths random-range-ratio prefix prefix-hit arrival
		trace turns think-time gsp-num-groups gsp-system-prompt-len seed
		request-rate max-concurrency random-input-len random-output-len dataset-name dataset-path
		gsp-prompts-per-group gsp-question-len gsp-output-len sharegpt-output-len sharegpt-context-len
		chat prompt-tokens requests-per-client repeated acceptance`)},
	{"limits and goal", strings.Fields(`ttft tpot objective chance part-nodes top pools max-rate goodput seek until replan phase context cold`)},
	{"parallelism", strings.Fields(`tp pp dp ep cp sp moe-tp moe-dp dense-tp head-tp prefill-plan decode-plan redundant drafts
		overlap popularity replicas routing instances`)},
	{"number formats", strings.Fields(`weights activations cache attention comm dispatch combine vector`)},
	{"memory", strings.Fields(`memory-share prefix-cache kv-tokens block-size max-context host-cache swap-gbps
		offload-weights offload-cache gpu-layers`)},
	{"engine options", strings.Fields(`max-running-requests step-tokens policy attention-backend prefill-attention-backend
		decode-attention-backend captured-batch captured-prompts chunked-prefill poll-steps wait-steps balance-steps steps-ahead
		fp8-gemm-backend moe-a2a-backend prefill-moe-a2a-backend shared-apart unprepared fills-steps warmed copied unstated`)},
	{"power and cost", strings.Fields(`price power power-limit energy-price pue carbon`)},
	{"assumptions", strings.Fields(`assume set fitted step-times steps deployment correct against exact`)},
	{"several questions", strings.Fields(`vary link where design samples optimise sensitivity points by worst`)},
	{"input and output", strings.Fields(`from kernels measured explain config simulate measurements name source timeline-every tag`)},
	{"exchange of experts", strings.Fields(`library tokens fabric`)},
	{"server", strings.Fields(`backend base-url host port served-model-name speed fault max-connections tokenizer
		disable-stream disable-ignore-eos return-logprob extra-request-body header lora-name prompt-suffix tokenize-prompt
		apply-chat-template pd-separated profile flush-cache warmup-requests retries timeout self-check`)},
	{"processes", strings.Fields(`jobs retry shard part again workers image claim`)},
}

// grouped gives settings their places in a form.
func grouped(list []Setting) []Setting {
	rank := 0
	for _, g := range Groups {
		for _, name := range g.Settings {
			for i := range list {
				if list[i].Name == name {
					list[i].Group, list[i].Rank = g.Name, rank
				}
			}
			rank++
		}
	}
	return list
}
