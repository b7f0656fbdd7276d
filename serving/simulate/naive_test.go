package simulate

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"throughline/deploy"
	"throughline/internal/test/long"
	"throughline/workload"
)

// naive is an engine as its description reads: every sequence is looked at in every step. Policies
// are those of the recorded runs, prefill first (A) and chunks beside decodes (B).
type naive struct {
	policy           Policy
	list             []workload.Request
	waiting, running []*naiveJob // running: in the order of admission, the partly prefilled one last
	used             int
	out              strings.Builder
}

type naiveJob struct {
	workload.Request
	id, cached, emitted, held int
	ready                     bool // its prompt is in the cache
}

func (n *naive) blocks(tokens int) int {
	return (tokens + n.policy.BlockTokens - 1) / n.policy.BlockTokens
}
func (n *naive) free() int      { return n.policy.Blocks - n.used }
func (j *naiveJob) target() int { return j.Input + j.emitted }
func (n *naive) grow(j *naiveJob, tokens int) {
	more := n.blocks(tokens) - j.held
	j.held += more
	n.used += more
}

// preempt takes the newest out.
func (n *naive) preempt() {
	j := n.running[len(n.running)-1]
	n.running = n.running[:len(n.running)-1]
	n.used -= j.held
	j.held, j.cached, j.ready = 0, 0, false
	n.waiting = append([]*naiveJob{j}, n.waiting...)
}

// decodes gives blocks to those that decode, who make room until they fit.
func (n *naive) decodes() (list []*naiveJob, preempted int) {
	for {
		need := 0
		list = list[:0]
		for _, j := range n.running {
			if !j.ready {
				continue
			}
			list = append(list, j)
			if j.cached%n.policy.BlockTokens == 0 {
				need++
			}
		}
		if need <= n.free() {
			break
		}
		n.preempt()
		preempted++
	}
	for _, j := range list {
		n.grow(j, j.cached+1)
	}
	return list, preempted
}

type naiveChunk struct {
	job    *naiveJob
	tokens int
}

func (n *naive) first() (decodes []*naiveJob, chunks []naiveChunk, preempted int) {
	tokens := 0
	for len(n.waiting) > 0 && len(n.running) < n.policy.Sequences {
		j := n.waiting[0]
		if len(chunks) > 0 && tokens+j.target() > n.policy.StepTokens {
			break
		}
		watermark := n.policy.watermark()
		if len(n.running) == 0 {
			watermark = 0
		}
		if n.free()-n.blocks(j.target()) < watermark {
			break
		}
		n.waiting = n.waiting[1:]
		n.grow(j, j.target())
		n.running = append(n.running, j)
		chunks = append(chunks, naiveChunk{j, j.target()})
		tokens += j.target()
	}
	if len(chunks) == 0 {
		decodes, preempted = n.decodes()
	}
	return decodes, chunks, preempted
}

func (n *naive) chunked() (decodes []*naiveJob, chunks []naiveChunk, preempted int) {
	decodes, preempted = n.decodes()
	budget := n.policy.StepTokens - len(decodes)
	if last := len(n.running) - 1; last >= 0 && !n.running[last].ready {
		j := n.running[last]
		tokens := min(j.target()-j.cached, budget)
		if n.blocks(j.cached+tokens)-j.held > n.free() {
			n.preempt()
			preempted++
		} else {
			n.grow(j, j.cached+tokens)
			chunks = append(chunks, naiveChunk{j, tokens})
			budget -= tokens
		}
	}
	for preempted == 0 && len(n.waiting) > 0 && budget > 0 && len(n.running) < n.policy.Sequences {
		j := n.waiting[0]
		tokens := min(j.target(), budget)
		if n.blocks(tokens) > n.free() {
			break
		}
		n.waiting = n.waiting[1:]
		n.grow(j, tokens)
		n.running = append(n.running, j)
		chunks = append(chunks, naiveChunk{j, tokens})
		budget -= tokens
	}
	return decodes, chunks, preempted
}

// run steps a second at a time until all have ended.
func (n *naive) run() string {
	next := 0
	for now := 0.0; next < len(n.list) || len(n.waiting)+len(n.running) > 0; now++ {
		if len(n.waiting)+len(n.running) == 0 {
			now = max(now, n.list[next].Arrival)
		}
		for next < len(n.list) && n.list[next].Arrival <= now {
			n.waiting = append(n.waiting, &naiveJob{Request: n.list[next], id: next})
			next++
		}
		schedule := n.chunked
		if n.policy.Prefill == deploy.First {
			schedule = n.first
		}
		decodes, chunks, preempted := schedule()
		context := 0
		for _, j := range decodes {
			context += j.cached + 1
		}
		fmt.Fprintf(&n.out, "%g: %d decode (%d)", now, len(decodes), context)
		for _, c := range chunks {
			fmt.Fprintf(&n.out, " +%d@%d", c.tokens, c.job.cached)
		}
		fmt.Fprintf(&n.out, ", %d wait, %d blocks", len(n.waiting), n.used)
		if preempted > 0 {
			fmt.Fprintf(&n.out, ", %d preempted", preempted)
		}
		n.out.WriteString("\n")
		for _, j := range decodes {
			j.cached++
			j.emitted++
		}
		for _, c := range chunks {
			whole := c.job.target()
			if c.job.cached += c.tokens; c.job.cached == whole {
				c.job.emitted++
				c.job.ready = true
			}
		}
		var left []*naiveJob
		for _, j := range n.running {
			if j.emitted == j.Output {
				n.used -= j.held
			} else {
				left = append(left, j)
			}
		}
		n.running = left
	}
	return n.out.String()
}

// TestAgainstNaive: the steps are those of an engine that looks at every sequence, where the cache
// is short and requests have to make room, too.
func TestAgainstNaive(t *testing.T) {
	preempted := 0
	long.Check(t, func(r *rapid.T) {
		p := Policy{
			Scheduling:  deploy.Scheduling{Prefill: rapid.SampledFrom([]deploy.Policy{deploy.First, deploy.Chunks}).Draw(r, "policy"), Sequences: rapid.IntRange(1, 12).Draw(r, "running")},
			Blocks:      rapid.IntRange(8, 60).Draw(r, "blocks"),
			BlockTokens: rapid.SampledFrom([]int{1, 4, 5}).Draw(r, "block"),
		}
		p.StepTokens = p.Sequences + rapid.IntRange(1, 60).Draw(r, "step")
		if p.Prefill == deploy.First {
			p.Watermark = rapid.SampledFrom([]float64{0, 0.01, 0.1}).Draw(r, "watermark")
		}
		var list []workload.Request
		at := 0.0
		room := p.Blocks * p.BlockTokens
		for range rapid.IntRange(1, 40).Draw(r, "requests") {
			at += float64(rapid.IntRange(0, 3).Draw(r, "gap"))
			input := rapid.IntRange(1, max(1, room/3)).Draw(r, "input")
			list = append(list, workload.Request{Arrival: at, Input: input, Output: rapid.IntRange(1, max(1, room/2)).Draw(r, "output")})
		}
		n := naive{policy: p, list: list}
		want := n.run()
		got, _ := drawnSteps(t, p, list)
		preempted += strings.Count(want, "preempted")
		if got != want {
			g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
			for i := range w {
				if i >= len(g) || g[i] != w[i] {
					r.Fatalf("step %d: %q, want %q", i, g[min(i, len(g)-1)], w[i])
				}
			}
			r.Fatalf("%d steps, want %d", len(g), len(w))
		}
	})
	if preempted == 0 {
		t.Error("nobody had to make room")
	}
}
