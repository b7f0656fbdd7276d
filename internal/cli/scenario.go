package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scenario"
)

// scenarioOptions are the flags of scenario.
type scenarioOptions struct {
	flags    *settings
	csv      bool
	markdown bool
	view     viewOptions
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
	addOutputs(cmd, "scenario", map[string]any{"csv": &o.csv, "markdown": &o.markdown, "wide": &o.view.wide})
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
	asked, wrong := o.flags.read()
	q, err := readScenario(s, name)
	if err := document.Join(wrong, err); err != nil {
		return err
	}
	rows, err := scenario.Rows(q)
	if err != nil {
		return err
	}
	var measured []scenario.Compared
	if asked.Measured != "" {
		if measured, err = readMeasured(q, rows, asked.Measured); err != nil {
			return fmt.Errorf("%s: %w", asked.Measured, err)
		}
	}
	if o.csv {
		return scenarioCSV(s, rows, measured)
	}
	return o.print(s, q, rows, measured)
}

// print shows the table, what was measured, and the answer.
func (o *scenarioOptions) print(s Streams, q *scenario.Question, rows []scenario.Row, measured []scenario.Compared) error {
	view := o.view.of(s)
	render := func(g *report.Grid) string {
		if o.markdown {
			return g.Markdown() + "\n"
		}
		return g.Render(view) + "\n"
	}
	g := report.Grid{Columns: []report.Column{{Title: "Scenario"}}}
	for _, c := range scenarioColumns {
		g.Columns = append(g.Columns, report.Column{Title: c.title, Right: true, Rank: c.rank})
	}
	for i := range rows {
		g.Row(scenarioCells(&rows[i])...)
	}
	out := ""
	if !o.markdown {
		out = view.Wrap(headOf(q))
	}
	out += render(&g)
	if len(measured) > 0 {
		out += "\n" + render(measuredGrid(measured))
	}
	if o.markdown {
		return write(s.Out, out+"\n"+scenario.Verdict(rows)+"\n")
	}
	return write(s.Out, out+view.Wrap(scenario.Verdict(rows)+"\n"))
}

// headOf says what the table is about.
func headOf(q *scenario.Question) string {
	return fmt.Sprintf("%s, %d requests of %d + %d tokens: %d tokens in, %d out; %s\n", q.Model.Name, q.Requests, q.Input, q.Output, q.Requests*q.Input, q.Requests*q.Output, runnerOf(q))
}

func measuredGrid(measured []scenario.Compared) *report.Grid {
	g := &report.Grid{Columns: []report.Column{{Title: "Scenario"}, {Title: "phase"}, {Title: "measured (s)", Right: true}, {Title: "predicted (s)", Right: true}, {Title: "error", Right: true}}}
	for i := range measured {
		c := &measured[i]
		g.Row(c.Scenario, c.Phase, fmt.Sprintf("%.4f", c.Measured), fmt.Sprintf("%.4f", c.Predicted), fmt.Sprintf("%+.1f%%", 100*c.Error()))
	}
	return g
}

// readMeasured reads the table of measured runs.
func readMeasured(q *scenario.Question, rows []scenario.Row, name string) ([]scenario.Compared, error) {
	f, err := csvfile.Open(name)
	if err != nil {
		return nil, errors.New(document.Reason(err))
	}
	defer f.Close()
	return scenario.Compare(q, rows, f)
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

// scenarioCSV prints the table, or what was measured beside what is predicted.
func scenarioCSV(s Streams, rows []scenario.Row, measured []scenario.Compared) error {
	w := csvfile.NewWriter(s.data)
	if len(measured) > 0 {
		w.Write([]string{"scenario", "phase", "measured_s", "predicted_s", "error_percent"})
		for i := range measured {
			c := &measured[i]
			w.Write([]string{c.Scenario, c.Phase, fmt.Sprintf("%.4f", c.Measured), fmt.Sprintf("%.4f", c.Predicted), fmt.Sprintf("%.1f", 100*c.Error())})
		}
		return flushed(w)
	}
	head := []string{"scenario"}
	for _, c := range scenarioColumns {
		head = append(head, c.csv)
	}
	w.Write(head)
	for i := range rows {
		w.Write(scenarioCells(&rows[i]))
	}
	return flushed(w)
}

func flushed(w *csvfile.Writer) error {
	return failed(w.Flush())
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
