package engine_test

import (
	"testing"

	"throughline/engine"
	"throughline/internal/test/golden"
	"throughline/internal/test/questions"
)

// TestSums: how engines run drawn deployments, how each of their servers is started, and why other
// engines refuse them.
func TestSums(t *testing.T) {
	sums := golden.Sums{}
	for _, s := range questions.Deployments(t, 400, 34) {
		d := &s.Deployment
		of := d.Engine.Name
		sums.Fields(of+" engine", d.Engine)
		sums.Fields(of+" acceptance", d.Acceptance)
		sums.Fields("notes", engine.Notes(d))
		for _, e := range engine.All() {
			chip, settings := e.Takes(d)
			sums.Fields(e.Name+" takes", [][]string{chip, settings})
			fleet, err := e.Fleet(d)
			if err != nil {
				sums.Fields(e.Name+" refuses", err.Error())
			} else {
				sums.Fields(e.Name+" servers", fleet.Servers)
				sums.Fields(e.Name+" router", fleet.Router)
				sums.Fields(e.Name+" script", fleet.Filled().Script("A title"))
			}
			if d.Split() {
				sums.Fields(e.Name+" pairs", e.Pairs(&d.Pools[0].Plan, &d.Pools[1].Plan))
			}
			for i := range d.Pools {
				pool := &d.Pools[i]
				sums.Fields(e.Name+" behaviour", e.Behaviour(d, pool))
				sums.Fields(e.Name+" refusals", e.Refuses(d, pool))
				sums.Fields(e.Name+" sequences", e.Sequences(d, pool))
				if e.Runs(d, pool) {
					sums.Fields(e.Name+" launch", e.Launch(d, pool))
				}
			}
		}
		for i := range d.Pools {
			sums.Fields(of+" plan", d.Pools[i].Plan)
		}
	}
	sums.Check(t, "testdata/sums.tsv")
}
