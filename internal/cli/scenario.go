package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/scenario"
	"throughline/internal/table"
)

type scenarioOptions struct {
	flags *settings
	csv   bool
	view  viewOptions
}

func newScenario(s Streams) *cobra.Command {
	var o scenarioOptions
	cmd := &cobra.Command{
		Use:   "scenario FILE",
		Short: "Compare systems that prefill and decode a batch, each or both",
		Long: `Scenario predicts how long a batch of requests takes with its prefill on one system and
its decode on another or the same, and says whether it is worth it. The file names the
model, the requests and pairs of systems; "throughline init --scenario" writes one.

The engine of a file is transformers, by default: Hugging Face's library, which launches
every kernel by itself and copies the cache at every step; or none, fused kernels without
any time of a host. docs/scenario.md compares with measurements.`,
		Example: `  throughline scenario configs/gpt2_scenario.json
  throughline scenario configs/gpt2_scenario.json --csv > scenarios.csv`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error { return runScenario(s, &o, args[0]) },
	}
	o.flags = addSettings(cmd, question.Scenario)
	addOutputs(cmd, "scenario", map[string]any{"csv": &o.csv, "markdown": &o.view.markdown, "wide": &o.view.wide})
	return cmd
}

func runScenario(s Streams, o *scenarioOptions, name string) error {
	query, wrong := o.flags.read()
	q, err := readScenario(s, name)
	if err := document.Join(wrong, err); err != nil {
		return err
	}
	rows, err := scenario.Rows(q)
	if err != nil {
		return err
	}
	var measured []scenario.Compared
	if query.Measured != "" {
		if measured, err = readMeasured(q, rows, query.Measured); err != nil {
			return fmt.Errorf("%s: %w", query.Measured, err)
		}
	}
	t, beside := table.Of(scenario.Columns, rows), table.Of(scenario.ComparedColumns, measured)
	switch {
	case o.csv && len(measured) > 0:
		return failed(beside.Write(s.data, table.CSV))
	case o.csv:
		return failed(t.Write(s.data, table.CSV))
	}
	return write(s.Out, scenarioText(o.view.of(s), q, t, beside)+o.view.of(s).Wrap(scenario.Verdict(rows)+"\n"))
}

// scenarioText renders the table and what was measured; Markdown stands alone.
func scenarioText(v table.View, q *scenario.Question, t, beside table.Any) string {
	out := t.Render(v) + "\n"
	if !v.Markdown {
		out = v.Wrap(requestsLine(q)) + out
	}
	if beside.Len() > 0 {
		out += "\n" + beside.Render(v) + "\n"
	}
	if v.Markdown {
		out += "\n"
	}
	return out
}

func requestsLine(q *scenario.Question) string {
	return fmt.Sprintf("%s, %d requests of %d + %d tokens: %d tokens in, %d out; %s\n", q.Model.Name, q.Requests, q.Input, q.Output, q.Requests*q.Input, q.Requests*q.Output, frameworkTitle(q))
}

func readMeasured(q *scenario.Question, rows []scenario.Row, name string) ([]scenario.Compared, error) {
	f, err := csvfile.Open(files.Machine, name)
	if err != nil {
		return nil, errors.New(document.Reason(err))
	}
	defer f.Close()
	return scenario.Compare(q, rows, f)
}

func frameworkTitle(q *scenario.Question) string {
	if q.Framework == nil {
		return "fused kernels, no time of a host"
	}
	return q.Framework.Title
}

func readScenario(s Streams, name string) (*scenario.Question, error) {
	src, err := readInput(name)
	if err != nil {
		return nil, err
	}
	q, warnings, err := scenario.Read(files.Machine, name, src)
	warn(s, warnings)
	return q, err
}
