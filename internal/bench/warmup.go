package bench

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"

	"throughline/workload"
)

// By default a token has four characters of English (platform.openai.com/tokenizer).
const usualPerChar = 0.25

// warmOutput is the most output tokens of warm-up requests, as in sglang.bench_serving.
const warmOutput = 32

// warmKey marks prompts of the warm-up, so that no measured one begins like them.
const warmKey = 1 << 62

// warmUp sends the first requests, which are not measured.
func (b *Bench) warmUp(ctx context.Context) error {
	if b.o.OnlyIDs && !b.backend.TakesIDs() {
		return fmt.Errorf("backend %s takes no token ids", b.backend.Name)
	}
	if b.o.Warmup == 0 {
		if !b.prompts.ids {
			b.note("no request was sent before the run: prompts are one token a word, and answers of files one token for four characters, as nothing tells better")
		}
		return b.flush(ctx)
	}
	input, output := b.o.lengths()
	if b.prompts.ids {
		f := b.probe(ctx, b.prompt(&workload.Request{Input: input}, warmKey), true, 1).failure
		switch {
		case f == nil:
		case strings.HasPrefix(f.Kind, "HTTP 4") && !f.again && !b.o.OnlyIDs:
			b.prompts.ids = false
			b.note(fmt.Sprintf("prompts are words: the server takes no token ids (%s)", f.Error()))
		default:
			return b.unready(ctx, f)
		}
	}
	if !b.prompts.ids {
		if f := b.gauge(ctx, input); f != nil {
			return b.unready(ctx, f)
		}
	}
	var wg sync.WaitGroup
	results := make([]probed, b.o.Warmup)
	for i := range results {
		wg.Go(func() {
			results[i] = b.probe(ctx, b.prompt(&workload.Request{Input: input}, warmKey+3+uint64(i)), b.prompts.ids, min(output, warmOutput))
		})
	}
	wg.Wait()
	for i := range results {
		if results[i].failure == nil {
			return b.flush(ctx)
		}
	}
	return b.unready(ctx, results[0].failure)
}

func (b *Bench) note(text string) { b.notes = append(b.notes, text) }

// unready is the error of a warm-up that failed.
func (b *Bench) unready(ctx context.Context, f *Failure) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s: the warm-up failed: %s", ErrServer, b.client.url, f.Error())
}

// flush empties the prefix cache of the server.
func (b *Bench) flush(ctx context.Context) error {
	if !b.o.Flush {
		return nil
	}
	if b.backend.Flush == "" {
		return fmt.Errorf("backend %s has no way to flush its cache", b.backend.Name)
	}
	if err := b.client.ask(ctx, http.MethodPost, b.backend.Flush, nil); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrServer, b.backend.Flush, err)
	}
	return nil
}

// prompt of a request, in JSON, as this server takes it.
func (b *Bench) prompt(r *workload.Request, own uint64) []byte {
	parts := segments(r, own)
	if b.prompts.ids {
		return b.prompts.appendIDs(make([]byte, 0, 6*r.Input+2), parts)
	}
	return transcript(b.backend.API, []said{{"user", b.prompts.text(parts)}})
}

// probed is the answer to a warm-up request.
type probed struct {
	tokens  int // of the prompt, by usage
	failure *Failure
}

func (b *Bench) probe(ctx context.Context, prompt []byte, ids bool, output int) probed {
	lora := ""
	if len(b.o.LoRA) > 0 {
		lora = b.o.LoRA[0]
	}
	a := answer{most: b.bodies.mostTokens(output)}
	f := b.client.send(ctx, b.bodies.write(prompt, ids, output, lora), &a)
	return probed{a.prompt, f}
}

// gauge finds the tokens per word, and what the server adds to each prompt, by two prompts.
func (b *Bench) gauge(ctx context.Context, input int) *Failure {
	if len(b.o.Conversations) > 0 {
		return b.gaugeTexts(ctx)
	}
	sizes := [2]int{32, max(512, input)} // few words show what is added, many the mean tokens of one
	var got [2]probed
	for i, n := range sizes {
		got[i] = b.probe(ctx, b.prompt(&workload.Request{Input: n}, warmKey+1+uint64(i)), false, 1)
		if got[i].failure != nil {
			return got[i].failure
		}
	}
	if got[0].tokens == 0 || got[1].tokens <= got[0].tokens {
		b.note("the server counts no tokens of prompts: each word is taken as one")
		return nil
	}
	b.prompts.perWord = float64(got[1].tokens-got[0].tokens) / float64(sizes[1]-sizes[0])
	b.prompts.fixed = math.Max(0, float64(got[0].tokens)-b.prompts.perWord*float64(sizes[0]))
	b.note(fmt.Sprintf("prompts are words of %.3f tokens each, and %.0f tokens that the server adds, by its usage", b.prompts.perWord, b.prompts.fixed))
	return nil
}

// gauged is how many texts of a file are used to find the tokens per character.
const gauged = 4

// gaugeTexts finds the tokens per character in the texts of a file.
func (b *Bench) gaugeTexts(ctx context.Context) *Failure {
	var tokens, characters float64
	for i := range b.o.Conversations[:min(gauged, len(b.o.Conversations))] {
		text := b.o.Conversations[i].Prompt
		p := b.probe(ctx, transcript(b.backend.API, []said{{"user", text}}), false, 1)
		if p.failure != nil {
			return p.failure
		}
		tokens += float64(p.tokens)
		characters += float64(len(text))
	}
	if tokens == 0 {
		b.note("the server counts no tokens of prompts: those of a file are taken as one for four characters")
		return nil
	}
	b.perChar = tokens / characters
	b.note(fmt.Sprintf("a token has %.2f characters, by the server's usage of %d prompts: answers of the file are as long", 1/b.perChar, min(gauged, len(b.o.Conversations))))
	return nil
}
