package report

import (
	"fmt"
	"io"
	"strings"

	"throughline/engine"
	"throughline/internal/advice"
	"throughline/internal/question"
	"throughline/internal/result"
)

func LaunchScript(w io.Writer, l *question.Loaded, c *advice.Candidate, e *engine.Engine) error {
	f, err := e.Fleet(&c.Deployment)
	if err != nil {
		return err
	}
	d := &c.Deployment
	title := []string{
		fmt.Sprintf("%s (%s) on %s: %d in, %d out, %d clients", l.Shape.Name, l.Stored, l.On(d.Procs()), l.Lengths.Input, l.Lengths.Output, c.Load.Clients),
	}
	for i := range d.Pools {
		p := &d.Pools[i]
		title = append(title, fmt.Sprintf("%s: %s", p.Role, result.Instances(p.Count, &p.Plan)))
	}
	title = append(title, fmt.Sprintf("predicted: TTFT %.0f ms, TPOT %.1f ms, %.0f output tokens/s/GPU", 1e3*c.TTFT, 1e3*c.TPOT, c.PerGPU()),
		fmt.Sprintf("%s %s", e.Title, e.Options.Version))
	_, err = io.WriteString(w, f.Script(title...))
	return err
}

// LaunchJSON writes the servers of a candidate by engine or, if one cannot run it, why.
func LaunchJSON(w io.Writer, c *advice.Candidate, engines []*engine.Engine) error {
	doc := map[string]any{}
	for _, e := range engines {
		f, err := e.Fleet(&c.Deployment)
		if err != nil {
			doc[e.Name] = map[string]string{"refused": strings.TrimSpace(err.Error())}
			continue
		}
		doc[e.Name] = f.Filled()
	}
	return WriteObject(w, doc)
}
