package serving

import (
	"fmt"
	"strings"

	"throughline/deploy"
	"throughline/engine"
)

// Refused is a deployment that no engine of a choice can run.
type Refused struct {
	Reasons []string // per engine, prefixed with its name
}

func (r *Refused) Error() string { return strings.Join(r.Reasons, "; ") }

// Runs are the deployments as each engine of a choice runs them; a *Refused if none can.
func Runs(choice []*engine.Engine, d deploy.Deployment) ([]deploy.Deployment, error) {
	var out []deploy.Deployment
	var refused Refused
	for _, e := range choice {
		run := e.Apply(d)
		var why []string
		for i := range run.Pools {
			for _, w := range e.Refuses(&run, &run.Pools[i]) {
				if !strings.Contains(strings.Join(why, "\n"), w) {
					why = append(why, w)
				}
			}
		}
		if len(why) > 0 {
			refused.Reasons = append(refused.Reasons, fmt.Sprintf("%s: %s", e.Name, strings.Join(why, "; ")))
			continue
		}
		out = append(out, run)
	}
	if len(out) == 0 {
		return nil, &refused
	}
	return out, nil
}

// Unsupported names the engines that are left out since only others support the launch settings.
func Unsupported(choice []*engine.Engine, d *deploy.Deployment) (left []string) {
	for _, e := range choice {
		if maker, settings := e.Takes(d); len(settings) > 0 {
			left = append(left, fmt.Sprintf("%s is left out: %s", e.Name, strings.Join(append(maker, settings...), "; ")))
		}
	}
	if len(left) == len(choice) {
		return nil // which is an error of its own
	}
	return left
}

// Measured keeps deployments that compare fairly: where the attention of some is priced by measured
// kernels, others with a substitute would win or lose by that alone. left says which are out.
func Measured(runs []deploy.Deployment) (out []deploy.Deployment, left []string) {
	for i := range runs {
		if why := runs[i].StandIns(); len(why) > 0 {
			left = append(left, fmt.Sprintf("%s is left out: %s; engine %s prices it all the same", runs[i].Engine.Name, strings.Join(why, "; "), runs[i].Engine.Name))
		} else {
			out = append(out, runs[i])
		}
	}
	if len(out) == 0 {
		return runs, nil
	}
	return out, left
}
