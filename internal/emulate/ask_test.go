package emulate

import (
	"strings"
	"testing"

	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/workload"
)

// TestAsk: an emulation is what its words say: the name that requests give, the context, answers,
// speed, faults of replicas that there are.
func TestAsk(t *testing.T) {
	ask := func(more ...string) (*Config, error) {
		t.Helper()
		words := map[string]string{"model": "Llama-3.1-8B", "system": "H200", "engine": "vllm"}
		for i := 0; i < len(more); i += 2 {
			words[more[i]] = more[i+1]
		}
		config, deployment, _, err := Ask(question.NewQuery(files.Held(nil), question.Emulate, words))
		if err == nil && deployment.Model.Name != "Llama-3.1-8B" {
			t.Errorf("%v: a deployment of %s", more, deployment.Model.Name)
		}
		return config, err
	}
	plain, err := ask("isl", "100", "osl", "50", "seed", "7", "speed", "20", "max-connections", "9", "served-model-name", "mine", "replicas", "2", "fault", "die:replica=1,after=60s,errors:0.5")
	if err != nil {
		t.Fatal(err)
	}
	if plain.Model != "mine" || plain.Seed != 7 || plain.Speed != 20 || plain.Connections != 9 || len(plain.Faults) != 2 || Replicas(&plain.Simulation) != 2 {
		t.Errorf("%+v", plain)
	}
	if plain.Answers != (workload.Length{Mean: 50, Kind: "fixed"}) || plain.Context < 100_000 {
		t.Errorf("answers %+v, a context of %d", plain.Answers, plain.Context)
	}
	drawn, err := ask("osl", "50", "lengths", "uniform:0.5")
	if err != nil || drawn.Answers.Kind != "uniform" || drawn.Model != "Llama-3.1-8B" {
		t.Errorf("%+v, %v", drawn, err)
	}
	for _, c := range [][]string{
		{"there is no replica 2; the last one is 1", "replicas", "2", "fault", "die:replica=2,after=60s"},
		{"fault", "fault", "errors:2"},
		{"of answers are fixed, uniform:R, lognormal:S or sharegpt here, not those of a trace", "lengths", "trace:x.csv"},
		{"speed", "speed", "0"},
	} {
		if config, err := ask(c[1:]...); err == nil || config != nil || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%v: %v", c[1:], err)
		}
	}
}
