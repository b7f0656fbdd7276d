package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"throughline/internal/test/questions"
)

const (
	drawn = 300
	seed  = 20260101
	// traced and planned: one in this many drawn deployments also has a timeline, or a plan.
	traced, planned = 6, 10
)

// allQuestions returns the slowest ones first.
func allQuestions() []question {
	out := fixedQuestions()
	for i, line := range questions.Plans() {
		out = append(out, question{fmt.Sprintf("plan %02d", i), func(a *asker) { a.plan(questions.Parse(line)) }})
	}
	for i, d := range questions.Draw(drawn, seed) {
		out = append(out, question{fmt.Sprintf("draw %03d", i), func(a *asker) { a.deployment(&d, i%traced == 0) }})
		if i%planned == 0 {
			out = append(out, question{fmt.Sprintf("plan of draw %03d", i), func(a *asker) { a.plan(d.Plan()) }})
		}
	}
	return out
}

// deployment asks all commands about a deployment.
func (a *asker) deployment(d *questions.Deployment, traced bool) {
	settings := d.AllSettings()
	files := []string{"--op-details=ops.csv"}
	if traced {
		files = append(files, "--trace-out=trace.json")
	}
	args := func(command string, s questions.Settings, more ...string) []string {
		return append(append([]string{command, "--json"}, s.Args()...), more...)
	}
	a.ask("estimate", settings.String(), args("estimate", settings, files...)...)
	a.keepFile("operators", "ops.csv", func(src []byte) json.RawMessage { return rows(src, nil) })
	if traced {
		a.keepFile("timeline", "trace.json", timeline)
	}
	steps := settings.Without("concurrency")
	a.ask("estimate steps", steps.String(), args("estimate", steps, "--phase=both")...)
	a.ask("explain", settings.String(), args("explain", settings)...)
	const measured = "--measured=tpot=25ms,ttft=600ms"
	a.ask("compare", settings.String(), args("compare", settings, measured)...)
	a.ask("simulate", d.ToSimulate().String(), args("simulate", d.ToSimulate())...)
	a.files(d, settings.String())
}

// files asks the commands that read a deployment from a file.
func (a *asker) files(d *questions.Deployment, words string) {
	table := d.ServingTable()
	a.validate("validate serving", words, table, "serving", a.write("runs.csv", []byte(table)))
	a.ask("run", words, "run", "--json", "--assume=physical", "-c", a.writeJSON("runtime.json", d.RuntimeFile()))
	answer, _ := a.ask("matrix", words, "matrix", "--json", "-c", a.writeJSON("matrix.json", d.MatrixFile()), "-o", "results")
	answer.Answer = predictions(answer.Answer)
	// Messages about processes are not part of an answer.
	answer.Said = slices.DeleteFunc(answer.Said, func(line string) bool { return !strings.Contains(line, ": ") || strings.HasPrefix(line, "[") })
}

// keepFile keeps a file that the last command wrote, if any.
func (a *asker) keepFile(command, name string, read func([]byte) json.RawMessage) {
	if src, err := os.ReadFile(a.path(name)); err == nil {
		a.keep(command, &Answer{Asked: command, Answer: read(src)})
	}
}

// validate asks for the totals of a table of measurements, and for the prediction of each row.
func (a *asker) validate(command, words, table string, args ...string) {
	a.ask(command, words, append(append([]string{"validate"}, args...), "--out=predicted.csv")...)
	a.keepFile(command+" rows", "predicted.csv", func(src []byte) json.RawMessage { return rows(src, header(table)) })
}

// plan asks for the best deployments, and all commands about the first of them.
func (a *asker) plan(q questions.Settings) {
	_, out := a.ask("plan", q.String(), append([]string{"plan", "--json"}, q.Args()...)...)
	a.write("plan.json", out)
	var answer planAnswer
	if json.Unmarshal(out, &answer) != nil || len(answer.Ranked) == 0 {
		return
	}
	const first = "first row of the plan"
	for _, command := range []string{"estimate", "explain"} {
		a.ask(command, first, command, "--json", "--from=plan.json#1")
	}
	a.ask("simulate", first, "simulate", "--json", "--from=plan.json#1", "--num-prompts=200")
	if len(answer.Ranked) > 1 {
		a.ask("diff", "of the first two rows of the plan", "diff", "--json", "plan.json#1", "plan.json#2")
	}
	a.files(answer.first(), first)
}

// planAnswer is the relevant part of the answer of plan.
type planAnswer struct {
	Question map[string]string
	Ranked   []struct {
		Mode, Engine string
		Concurrency  int
		Prefill      questions.Layout
		Decode       struct {
			questions.Layout
			Drafts int
		}
	}
}

// first returns the deployment of the first row.
func (p *planAnswer) first() *questions.Deployment {
	row := &p.Ranked[0]
	d := &questions.Deployment{Decode: row.Decode.Layout}
	for _, name := range []string{"model", "system", "weights", "cache", "isl", "osl", "decode-system"} {
		d.Settings = d.With(name, p.Question[name])
	}
	d.Settings = d.With("engine", row.Engine).With("concurrency", strconv.Itoa(row.Concurrency))
	if row.Decode.Drafts > 0 {
		d.Settings = d.With("drafts", strconv.Itoa(row.Decode.Drafts))
	}
	if row.Mode == "disagg" {
		d.Prefill = &row.Prefill
	}
	return d
}
