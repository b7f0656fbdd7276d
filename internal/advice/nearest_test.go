package advice

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/test/cputime"
	"throughline/internal/test/long"
)

// TestNearestChangesHold: what is named as the change that has an answer has one when it is asked,
// in simulation where limits are of percentiles; and more GPUs are found however many it takes.
func TestNearestChangesHold(t *testing.T) {
	long.NotRacing(t)
	defer func(d time.Duration) { nearestPatience = d }(nearestPatience)
	nearestPatience = time.Minute
	for name, c := range map[string]struct {
		words map[string]string
		want  []string // settings that are named
	}{
		"17 times the GPUs": {map[string]string{"model": "Llama-3.1-70B", "system": "H100_SXM", "gpus": "8", "rate": "30", "ttft": "p99:500ms", "tpot": "p99:15ms", "weights": "bf16"}, []string{"gpus"}},
		"twice the GPUs":    {map[string]string{"model": "Llama-3.1-70B", "system": "H100_SXM", "gpus": "4", "rate": "4", "isl": "2000", "osl": "300", "ttft": "p99:1s", "tpot": "p99:25ms", "weights": "bf16"}, []string{"weights", "gpus"}},
		"too large":         {map[string]string{"model": "Llama-3.1-70B", "system": "RTX_4090", "gpus": "2"}, []string{"weights", "gpus"}},
		"already in FP8":    {map[string]string{"model": "DeepSeek-V3", "system": "H100_SXM", "gpus": "16", "rate": "8", "isl": "3000", "osl": "800", "ttft": "p99:3s", "tpot": "p99:40ms"}, []string{"gpus", "rate"}},
	} {
		p, _, err := Ask(question.NewQuery(files.Machine, question.Plan, c.words))
		if err != nil {
			t.Fatal(name, err)
		}
		watch := cputime.Now()
		if err := p.Search(context.Background()); err != nil || len(p.Ranked) > 0 {
			t.Fatal(name, "has an answer", err)
		}
		near := p.Nearest
		t.Logf("%s: %.2f s of processor time: %+v", name, (cputime.Now() - watch).Seconds(), near)
		for _, why := range p.Reasons {
			if strings.Contains(why, "it fit") {
				t.Errorf("%s: named are %+v, and a reason says %q", name, near, why)
			}
		}
		said := map[string]bool{}
		for _, n := range near {
			said[n.Setting] = true
			words := maps.Clone(c.words)
			words[n.Setting] = n.Value
			p, _, err := Ask(question.NewQuery(files.Machine, question.Plan, words))
			if err != nil {
				t.Fatal(name, n, err)
			}
			p.Options.Foremost = true // whether there is any
			if err := p.Search(context.Background()); err != nil || len(p.Ranked) == 0 {
				t.Errorf("%s: --%s %s is said to give %s, and has no answer (%v)", name, n.Setting, n.Value, n.Gives, err)
			}
		}
		for _, s := range c.want {
			if !said[s] {
				t.Errorf("%s: no value of %s is named: %+v", name, s, near)
			}
		}
	}
}
