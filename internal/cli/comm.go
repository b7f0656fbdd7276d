package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"throughline/collective"
	"throughline/deploy"
	"throughline/internal/csvfile"
	"throughline/internal/document"
	"throughline/internal/exchange"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/model"
)

// commOptions are the flags of comm.
type commOptions struct {
	flags *settings
	csv   bool
	view  viewOptions
}

func newComm(s Streams) *cobra.Command {
	var o commOptions
	cmd := &cobra.Command{
		Use:   "comm --system SYSTEM",
		Short: "Show how long libraries take to exchange the tokens of experts",
		Long: `Comm shows how long communication libraries take to send tokens to the processors of
their experts (dispatch) and to bring back the results (combine), for every size of an
expert group and number of tokens of a processor.

  nccl    an all-to-all of one copy for each expert of a token
  uccl    UCCL-EP, the kernels of DeepEP driven by the CPU; --fabric efa for AWS
  deepep  DeepEP: up to 256 tokens the low-latency kernels, which send to each expert; above
          them the normal ones, which send once to each node; as measured where they were
  plain   the formula of the networks alone, for hardware without a library

avg is the mean over ranks and max the slowest rank, each ± its deviation between rounds;
the total is that of the two slowest. The spread comes from one published run of NCCL and
UCCL (docs/communication.md). The basis is measured, fitted, or estimated where neither
the system nor the size was measured.`,
		Example: `  throughline comm --library nccl,uccl,deepep --tokens 128,4096 --ep 8,16,32,64 --system H100_SXM
  throughline comm --library uccl --fabric efa --system H200 --ep 16,32 --csv > exchange.csv
  throughline comm --library plain --system SOW-U1-POR --ep 32 --tokens 256`,
		Args: onlyFlags(""),
		RunE: func(*cobra.Command, []string) error { return comm(s, &o) },
	}
	o.flags = addSettings(cmd, question.Comm)
	addOutputs(cmd, "comm", map[string]any{"csv": &o.csv, "wide": &o.view.wide})
	return cmd
}

func comm(s Streams, o *commOptions) error {
	q, err := o.question(s)
	if err != nil {
		return err
	}
	rows, err := exchange.Rows(q)
	if err != nil {
		return err
	}
	if o.csv {
		return commCSV(s, rows)
	}
	g := report.Grid{Columns: []report.Column{
		{Title: "library"}, {Title: "mode", Rank: 2}, {Title: "ep", Right: true}, {Title: "tokens", Right: true},
		{Title: "dispatch avg ms", Rank: 4}, {Title: "dispatch max ms", Rank: 1}, {Title: "combine avg ms", Rank: 4},
		{Title: "combine max ms", Rank: 1}, {Title: "total ms", Right: true}, {Title: "basis", Rank: 3},
	}}
	for i := range rows {
		r := &rows[i]
		g.Row(r.Library, r.Mode, strconv.Itoa(r.Ranks), strconv.Itoa(r.Tokens),
			plusMinus(r.Dispatch.Mean, r.Dispatch.MeanDeviation), plusMinus(r.Dispatch.Slowest, r.Dispatch.SlowestDeviation),
			plusMinus(r.Combine.Mean, r.Combine.MeanDeviation), plusMinus(r.Combine.Slowest, r.Combine.SlowestDeviation),
			fmt.Sprintf("%.3f", 1e3*r.Total()), r.Basis.String())
	}
	return write(s.Out, g.Render(o.view.of(s))+"\n")
}

func plusMinus(seconds, deviation float64) string {
	if deviation == 0 {
		return fmt.Sprintf("%.3f", 1e3*seconds)
	}
	return fmt.Sprintf("%.3f ± %.3f", 1e3*seconds, 1e3*deviation)
}

// commCSV prints the rows for other programs. What follows the total is not in the tables that people pass around: the
// deviations, and what the times rest on.
func commCSV(s Streams, rows []exchange.Row) error {
	w := csvfile.NewWriter(s.data)
	w.Write([]string{"library", "ep", "tokens", "dispatch_avg_ms", "dispatch_max_ms", "combine_avg_ms", "combine_max_ms", "total_ms",
		"dispatch_avg_deviation_ms", "dispatch_max_deviation_ms", "combine_avg_deviation_ms", "combine_max_deviation_ms", "mode", "basis"})
	for i := range rows {
		r := &rows[i]
		line := []string{r.Library, strconv.Itoa(r.Ranks), strconv.Itoa(r.Tokens)}
		for _, v := range []float64{r.Dispatch.Mean, r.Dispatch.Slowest, r.Combine.Mean, r.Combine.Slowest, r.Total(),
			r.Dispatch.MeanDeviation, r.Dispatch.SlowestDeviation, r.Combine.MeanDeviation, r.Combine.SlowestDeviation} {
			line = append(line, strconv.FormatFloat(1e3*v, 'f', 3, 64))
		}
		w.Write(append(line, r.Mode, r.Basis.String()))
	}
	return failed(w.Flush())
}

// question reads the flags; all problems are reported at once.
func (o *commOptions) question(s Streams) (*exchange.Question, error) {
	asked, err := o.flags.read()
	errs := []error{err}
	note := func(err error) { errs = append(errs, err) }
	q := &exchange.Question{Fabric: asked.Exchange.Fabric, Ranks: question.Numbers(asked.Exchange.Ranks), Tokens: question.Numbers(asked.Exchange.Tokens)}
	for _, name := range question.Words(asked.Exchange.Libraries) {
		if l, ok := collective.FindLibrary(name); ok {
			q.Libraries = append(q.Libraries, l)
		}
	}
	q.Dispatch, err = deploy.ExchangedBytes("dispatch", asked.Formats.Dispatch)
	note(err)
	q.Combine, err = deploy.ExchangedBytes("combine", asked.Formats.Combine)
	note(err)
	if q.Fabric != "" && !slices.Contains(fabricsOf(q.Libraries), q.Fabric) {
		note(ofFlag("fabric", fmt.Errorf("none of these libraries has numbers of its own for %s; leave it out", q.Fabric)))
	}
	q.System, _, err = readSystem(s, asked.System)
	note(err)
	q.Model, err = readExperts(s, asked.Model)
	note(err)
	if q.System != nil {
		for _, n := range q.Ranks {
			if most := q.System.MaxProcs(); n > most {
				note(ofFlag("ep", fmt.Errorf("%s joins at most %d processors, not %d", q.System.Name, most, n)))
			}
		}
	}
	return q, question.Once(document.Join(errs...))
}

// fabricsOf are the networks that some of the libraries have numbers of their own for.
func fabricsOf(libraries []*collective.Library) (out []string) {
	for _, l := range libraries {
		for _, name := range l.FabricNames() {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// readExperts reads the model whose tokens are sent.
func readExperts(s Streams, ref string) (*model.Model, error) {
	f, err := question.Find("model", ref, model.Catalogue, "")
	if err != nil {
		return nil, err
	}
	m, _, doc := model.Read(f.Name, f.Source)
	warn(s, doc.Warnings())
	if err := doc.Err(); err != nil {
		return nil, err
	}
	if !m.IsMoE() {
		return nil, ofFlag("model", fmt.Errorf("%s has no experts, whose tokens could be sent", m.Name))
	}
	return m, nil
}
