package question

import (
	"fmt"
	"strings"

	"throughline/deploy"
	"throughline/engine"
	"throughline/internal/document"
	"throughline/internal/fitted"
	"throughline/workload"
)

// readFitted reads what measured runs of the deployment correct, and refuses runs of another one.
func (l *Loaded) readFitted() error {
	if l.Fitted == "" {
		return nil
	}
	src, err := document.ReadFile(l.In, l.Fitted)
	if err != nil {
		return document.Unreadable(l.In, l.Fitted, err)
	}
	f, doc := fitted.Read(l.Fitted, src)
	l.Warnings = append(l.Warnings, doc.Warnings()...)
	if err := doc.Err(); err != nil || l.Shape == nil || l.Decode == nil || l.Assumptions == nil {
		return err
	}
	l.Corrected = f
	if !l.Assumptions.Engine {
		return wrong("fitted", "corrects what clients of an engine see; it needs assume physical")
	}
	if why := f.Mismatch(l.Shape.Name, l.Decode.Name, l.Stored.Format); why != "" {
		return wrong("fitted", fmt.Sprintf("%s was fitted to runs of another deployment: %s", l.Fitted, why))
	}
	if !engine.IsOpen(l.Engine) && l.Engine != f.Engine {
		return wrong("fitted", fmt.Sprintf("%s was fitted to runs of %s, not of %s", l.Fitted, f.Engine, l.Engine))
	}
	return nil
}

// Fit is what measured runs correct for requests of these lengths.
func (l *Loaded) Fit(n workload.Lengths) deploy.Fit {
	if l.Corrected == nil {
		return deploy.Fit{}
	}
	return l.Corrected.Fit(n.Input, n.Output)
}

// Engines are those of a choice: with measured runs, the one that served them.
func (l *Loaded) Engines(name string) ([]*engine.Engine, error) {
	choice, err := engine.Choices(name)
	if err == nil {
		choice, err = l.changedEngines(name, choice)
	}
	if err != nil || l.Corrected == nil {
		return choice, err
	}
	var names []string
	for _, e := range choice {
		if e.Name == l.Corrected.Engine {
			return []*engine.Engine{e}, nil
		}
		names = append(names, e.Name)
	}
	if len(choice) > 1 {
		choice, err = engine.Choices(l.Corrected.Engine) // none, which is no choice among the others
		return choice, err
	}
	return nil, wrong("fitted", fmt.Sprintf("%s was fitted to runs of %s, not of %s", l.Fitted, l.Corrected.Engine, strings.Join(names, ", ")))
}

// uncorrected: what was measured is what clients see.
func uncorrected(l *Loaded, of Command) string {
	if of&Point != 0 && !l.Clients() {
		return "bare steps are as the GPUs are known; it corrects what clients see"
	}
	return ""
}
