package workload

import "math"

// ShareGPT is the distribution of lengths that benchmarks draw from ShareGPT_V3.
const ShareGPT = "sharegpt"

// shareGPT is the tokens of answers that a share of them does not exceed: 4,491 of 5,000 drawn
// first turns that vLLM's benchmark takes, which are 4 to 1024 tokens long and 2048 at most with
// their answers (vllm/benchmarks/datasets.py, is_valid_sequence). Counted by Qwen's tokenizer in
// results/dataset_stats.json of github.com/IsseiHasegawa/vLLM-experiment. Prompts are spread alike:
// their mean square is 2.2 times that of their mean, and 2.1 times that of answers.
var shareGPT = [...]struct{ share, tokens float64 }{
	{0, 4}, {0.05, 7}, {0.1, 11}, {0.15, 14}, {0.2, 19}, {0.25, 25}, {0.3, 34}, {0.35, 48}, {0.4, 71}, {0.45, 95}, {0.5, 124}, {0.55, 161},
	{0.6, 201}, {0.65, 233}, {0.7, 268}, {0.75, 306}, {0.8, 351}, {0.85, 402}, {0.9, 491}, {0.95, 635}, {0.99, 793}, {0.999, 1256}, {1, 1707},
}

// shareGPTMean and shareGPTSquares are the mean of them, and their mean square over its square.
var shareGPTMean, shareGPTSquares = func() (float64, float64) {
	const parts = 10_000
	var sum, squares float64
	for i := range parts {
		v := shareGPTAt((float64(i) + 0.5) / parts)
		sum += v
		squares += v * v
	}
	return sum / parts, squares / parts / (sum / parts * sum / parts)
}()

// shareGPTAt is the tokens that a share does not exceed, between two of the table in proportion to
// their logarithms.
func shareGPTAt(share float64) float64 {
	i := 0
	for i < len(shareGPT)-2 && share > shareGPT[i+1].share {
		i++
	}
	a, b := shareGPT[i], shareGPT[i+1]
	return a.tokens * math.Pow(b.tokens/a.tokens, (share-a.share)/(b.share-a.share))
}
