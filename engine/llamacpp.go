package engine

import (
	"fmt"
	"strings"

	"throughline/deploy"
	"throughline/model"
	plain "throughline/number"
)

// llamaLayers is --gpu-layers: the layers on GPUs, and one for the output head.
func llamaLayers(u unit) int {
	return 1 + u.Shape.Layers - hostLayers(u)
}

// hostLayers are those that the host holds and runs.
func hostLayers(u unit) int {
	return int(u.Offload.Weights*float64(u.Shape.Layers) + 0.5)
}

// tensorSplit divides layers or tensors evenly.
func tensorSplit(u unit) string {
	return strings.TrimSuffix(strings.Repeat("1,", u.procs), ",")
}

func severalGPUs(u unit) bool { return u.procs > 1 }
func offloads(u unit) bool    { return u.Offload.Weights > 0 }

// Slots share the context evenly.
var llamaArgs = []arg{
	{always, "--model", text(`"$MODEL"`)},
	{always, "--gpu-layers", integer(llamaLayers)},
	{hasContext, "--ctx-size", integer(func(u unit) int { return u.MaxContext * max(1, u.batch) })},
	{batched, "--parallel", integer(func(u unit) int { return u.batch })},
	{computes, "--ubatch-size", integer(func(u unit) int { return u.tokens })},
	{func(u unit) bool { return u.tokens > llamaBatch }, "--batch-size", integer(func(u unit) int { return u.tokens })},
	{always, "--flash-attn", text("on")},
	{severalGPUs, "--split-mode", func(u unit) string {
		if u.tp > 1 {
			return "tensor"
		}
		return "layer"
	}},
	{severalGPUs, "--tensor-split", tensorSplit},
	{narrowCache, "--cache-type-k", func(u unit) string { return u.cacheType }},
	{narrowCache, "--cache-type-v", func(u unit) string { return u.cacheType }},
	{placed, "--host", text("0.0.0.0")},
	{placed, "--port", text(`"$PORT"`)},
}

// llamaBatch is the tokens that are handed over at once by default, no less than those of a step.
const llamaBatch = 2048

var llamaLimits = []limit{
	{manyNodes, text("servers of llama.cpp lie within one machine; --rpc is not priced")},
	{both(piped, func(u unit) bool { return u.tp > 1 }), text("llama.cpp splits layers or tensors over GPUs, not both")},
	{
		func(u unit) bool { return u.tp > 1 && (latent(u) || recurrent(u)) },
		text("--split-mode tensor of llama.cpp has no latent attention and no states (llm_arch_supports_sm_tensor); pp splits layers"),
	},
	{
		func(u unit) bool { return offloads(u) && u.Offload.Host == 0 },
		text("it is not known how fast the host reads its memory: mem2.host_GBps of the system file"),
	},
}

// recurrent reports whether a model keeps states in place of a cache.
func recurrent(u unit) bool {
	for kind := range 1 + len(u.Shape.Mixed) {
		if a := u.Shape.AttentionOf(kind); a.Kind == model.Mamba {
			return true
		}
	}
	return false
}

var llamaRemarks = []remark{
	{
		func(u unit) bool { return u.weights == plain.GGUF },
		func(u unit) string {
			const gib = 1 << 30
			format, _, _ := strings.Cut(u.Stored.Format, " ")
			return fmt.Sprintf("MODEL is %s-%s.gguf or the like, about %s GiB", u.Shape.Name, strings.ToUpper(format), plain.Plain(deploy.FileBytes(format, u.Shape)/gib, 3))
		},
	},
	{
		func(u unit) bool { return u.weights != plain.GGUF && u.checkpoint != "" },
		func(u unit) string {
			return fmt.Sprintf("MODEL is a GGUF file of %s in 16 bits, as convert_hf_to_gguf.py writes it", u.checkpoint)
		},
	},
	{
		offloads,
		func(u unit) string {
			return fmt.Sprintf("%d of %d layers lie in the memory of the host, which runs them when it decodes; weights for prompts cross PCIe", hostLayers(u), u.Shape.Layers)
		},
	},
	{func(u unit) bool { return u.tp > 1 }, text("--split-mode tensor is experimental")},
}
