package questions

import (
	"testing"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/test/builtin"
	"throughline/serving"
	"throughline/workload"
)

// Served is a deployment behind an engine, and the load of its clients.
type Served struct {
	deploy.Deployment
	Load workload.Load
}

// Deployments are those of drawn questions that an engine runs on a chip whose facts stay as they
// are, behind the engines that are asked for or every one that can.
func Deployments(t testing.TB, n int, seed uint64) (out []Served) {
	t.Helper()
	kept := builtin.Kept(t)
	for _, d := range Draw(n, seed) {
		words := map[string]string{}
		for _, w := range d.AllSettings().Without("decode-system") {
			words[w.Name] = w.Value
		}
		words["system"] = kept.Name
		q := question.NewFixedQuery(files.Machine, question.Estimate, words)
		q.GPUs = 1 // the layout says how many there are
		l, err := q.Load()
		if q.Wrong != nil || err != nil {
			continue
		}
		asked, errs := l.Deploy(&q.Question)
		choice, err := engine.Choices(q.Engine)
		if len(errs) > 0 || err != nil {
			continue
		}
		for i := range asked.Pools {
			asked.Pools[i].System = kept
		}
		runs, err := serving.Runs(choice, asked)
		if err != nil {
			continue
		}
		for _, run := range runs {
			out = append(out, Served{run, workload.Load{Lengths: l.Lengths, Clients: d.Clients(), Requests: 10}})
		}
	}
	return out
}
