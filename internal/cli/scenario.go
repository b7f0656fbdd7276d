package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/report"
	"throughline/internal/scenario"
)

// scenarioOptions are the flags of scenario.
type scenarioOptions struct {
	csv  bool
	view viewOptions
}

func newScenario(s Streams) *cobra.Command {
	var o scenarioOptions
	cmd := &cobra.Command{
		Use:   "scenario FILE",
		Short: "Compare where prefill and decode of a batch run: the GPU, the CPU, another GPU",
		Long: `Scenario predicts how long a batch of requests takes with its prefill on one system and
its decode on another or the same, and says whether it is worth it. The file names the
model, the requests and pairs of systems; "throughline init --scenario" writes one.

The engine of a file is transformers, by default: Hugging Face's library, which launches
every kernel by itself and copies the cache at every step; or none, fused kernels without
any time of a host. docs/scenario.md compares with measurements.`,
		Example: `  throughline scenario configs/gpt2_scenario.json
  throughline scenario configs/gpt2_scenario.json --csv > scenarios.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runScenario(s, &o, args[0]) },
	}
	addOutputs(cmd, "scenario", map[string]any{"csv": &o.csv, "wide": &o.view.wide})
	return cmd
}

// scenarioColumns are those of the table, with the digits of the numbers. People pass such tables around: they are those of the
// script that prints them.
var scenarioColumns = []struct {
	title, csv string
	rank       int
	digits     int
	of         func(*scenario.Row) float64
}{
	{"Prefill Time (s)", "prefill_time_s", 0, 4, func(r *scenario.Row) float64 { return r.Prefill }},
	{"Prefill Tput (t/s)", "prefill_tput_tps", 3, 2, (*scenario.Row).PromptRate},
	{"KV Tx Time (s)", "kv_tx_time_s", 1, 4, func(r *scenario.Row) float64 { return r.Transfer }},
	{"Decode Time (s)", "decode_time_s", 0, 4, func(r *scenario.Row) float64 { return r.Decode }},
	{"Decode Tput (t/s)", "decode_tput_tps", 3, 2, (*scenario.Row).OutputRate},
	{"Total Time (s)", "total_time_s", 0, 4, (*scenario.Row).Total},
	{"Overall Tput (t/s)", "overall_tput_tps", 2, 2, (*scenario.Row).Rate},
}

func runScenario(s Streams, o *scenarioOptions, name string) error {
	q, err := readScenario(s, name)
	if err != nil {
		return err
	}
	rows, err := scenario.Rows(q)
	if err != nil {
		return err
	}
	if o.csv {
		return scenarioCSV(s, rows)
	}
	view := o.view.of(s)
	g := report.Grid{Columns: []report.Column{{Title: "Scenario"}}}
	for _, c := range scenarioColumns {
		g.Columns = append(g.Columns, report.Column{Title: c.title, Right: true, Rank: c.rank})
	}
	for i := range rows {
		g.Row(scenarioCells(&rows[i])...)
	}
	head := fmt.Sprintf("%s, %d requests of %d + %d tokens: %d tokens in, %d out; %s\n", q.Model.Name, q.Requests, q.Input, q.Output, q.Requests*q.Input, q.Requests*q.Output, runnerOf(q))
	return write(s.Out, view.Wrap(head)+g.Render(view)+"\n"+view.Wrap(scenario.Verdict(rows)+"\n"))
}

// runnerOf says what runs the model.
func runnerOf(q *scenario.Question) string {
	if q.Framework == nil {
		return "fused kernels, no time of a host"
	}
	return q.Framework.Title
}

func scenarioCells(r *scenario.Row) []string {
	cells := []string{r.Pair.Name}
	for _, c := range scenarioColumns {
		cells = append(cells, fmt.Sprintf("%.*f", c.digits, c.of(r)))
	}
	return cells
}

func scenarioCSV(s Streams, rows []scenario.Row) error {
	w := csvfile.NewWriter(s.data)
	head := []string{"scenario"}
	for _, c := range scenarioColumns {
		head = append(head, c.csv)
	}
	w.Write(head)
	for i := range rows {
		w.Write(scenarioCells(&rows[i]))
	}
	if err := w.Flush(); err != nil {
		return systemError{err}
	}
	return nil
}

// readScenario reads a scenario file.
func readScenario(s Streams, name string) (*scenario.Question, error) {
	src, err := document.ReadFile(name)
	if err != nil {
		return nil, document.Unreadable(name, err)
	}
	q, warnings, err := scenario.Read(name, src)
	warn(s, warnings)
	return q, err
}
