package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	libraries, ranks, tokens []string
	system, model, fabric    string
	dispatch, combine        string
	csv                      bool
	view                     viewOptions
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
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return comm(s, &o) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.libraries, "library", []string{"nccl", "uccl", "deepep"}, "libraries: "+strings.Join(collective.LibraryNames(), ", "))
	f.StringSliceVar(&o.ranks, "ep", []string{"8", "16", "32", "64"}, "processors of an expert group")
	f.StringSliceVar(&o.tokens, "tokens", []string{"128", "4096"}, "tokens of a processor")
	f.StringVarP(&o.system, "system", "s", "", "system: a built-in name or a file (required)")
	f.StringVarP(&o.model, "model", "m", "DeepSeek-V3", "expert model whose tokens are sent: a built-in name or a file")
	f.StringVar(&o.fabric, "fabric", "", "network between nodes where a library has numbers of its own for it: efa (default InfiniBand or RoCE)")
	f.StringVar(&o.dispatch, "dispatch", "", "number format on the way to the experts (default fp8 with scales)")
	f.StringVar(&o.combine, "combine", "", "number format on the way back (default bf16)")
	f.BoolVar(&o.csv, "csv", false, "print CSV instead of a table")
	o.view.flags(cmd)
	complete(cmd, "library", collective.LibraryNames(), false)
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
	if err := w.Flush(); err != nil {
		return systemError{err}
	}
	return nil
}

// question reads the flags; all problems are reported at once.
func (o *commOptions) question(s Streams) (*exchange.Question, error) {
	q := &exchange.Question{Fabric: o.fabric}
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, name := range o.libraries {
		if l, ok := collective.FindLibrary(strings.TrimSpace(name)); ok {
			q.Libraries = append(q.Libraries, l)
		} else {
			note(fmt.Errorf("--library: %s", document.NotOneOf(strings.TrimSpace(name), collective.LibraryNames())))
		}
	}
	var err error
	q.Ranks, err = wholeNumbers("--ep", o.ranks, 2)
	note(err)
	q.Tokens, err = wholeNumbers("--tokens", o.tokens, 1)
	note(err)
	q.Dispatch, err = deploy.ExchangedBytes("dispatch", o.dispatch)
	note(err)
	q.Combine, err = deploy.ExchangedBytes("combine", o.combine)
	note(err)
	if fabrics := fabricsOf(q.Libraries); o.fabric != "" && !slices.Contains(fabrics, o.fabric) {
		if len(fabrics) == 0 {
			note(fmt.Errorf("--fabric: none of these libraries has numbers of its own for a network; leave it out"))
		} else {
			note(fmt.Errorf("--fabric: %s", document.NotOneOf(o.fabric, fabrics)))
		}
	}
	q.System, _, err = readSystem(s, o.system)
	note(err)
	q.Model, err = readExperts(s, o.model)
	note(err)
	if q.System != nil {
		for _, n := range q.Ranks {
			if most := q.System.MaxProcs(); n > most {
				note(fmt.Errorf("--ep: %s joins at most %d processors, not %d", q.System.Name, most, n))
			}
		}
	}
	return q, document.Join(errs...)
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
		return nil, fmt.Errorf("--model: %s has no experts, whose tokens could be sent", m.Name)
	}
	return m, nil
}

// wholeNumbers reads those of a flag, from least on.
func wholeNumbers(flag string, words []string, least int) (out []int, err error) {
	const most = 1_000_000
	var errs []error
	for _, w := range words {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < least || n > most {
			errs = append(errs, fmt.Errorf("%s: must be whole numbers from %d to %d, not %q", flag, least, most, w))
			continue
		}
		out = append(out, n)
	}
	return out, document.Join(errs...)
}
