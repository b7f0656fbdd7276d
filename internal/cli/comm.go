package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"throughline/collective"
	"throughline/deploy"
	"throughline/internal/axis"
	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/exchange"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/table"
	"throughline/model"
)

type commOptions struct {
	flags *settings
	csv   bool
	view  viewOptions
	out   output
}

func newComm(s Streams) *cobra.Command {
	var o commOptions
	cmd := &cobra.Command{
		Use:   "comm --system SYSTEM",
		Short: "Show how long libraries take to exchange the tokens of experts",
		Long: `Comm shows how long communication libraries take to send tokens to the GPUs of
their experts (dispatch) and to bring back the results (combine), for every size of an
expert group and number of tokens of a GPU.

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
		RunE: func(cmd *cobra.Command, _ []string) error { return comm(cmd, s, &o) },
	}
	o.flags = addSettings(cmd, question.Comm)
	addOutputs(cmd, "comm", map[string]any{"csv": &o.csv, "wide": &o.view.wide, "out": &o.out})
	return cmd
}

func comm(cmd *cobra.Command, s Streams, o *commOptions) error {
	asked, err := scan.FromWords(files.Machine, question.Comm, o.flags.words())
	if err := document.Join(emptyOutputs(cmd.Flags()), err, o.out.check(), checkTableForm(&o.out)); err != nil {
		return question.Once(err)
	}
	if asked == nil {
		asked = &scan.Scan{Of: question.Comm, Words: o.flags.words(), Design: axis.Grid}
	}
	var rows []exchange.Row
	var errs []error
	values := make([]scan.Value, len(asked.Axes))
	for i := range asked.Len() {
		asked.At(i, values)
		q, err := o.question(s, asked.WordsAt(values))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for k := range asked.Axes {
			q.Place = append(q.Place, values[k].Text)
		}
		more, err := exchange.Rows(q)
		rows, errs = append(rows, more...), append(errs, err)
	}
	if err := question.Once(document.Join(errs...)); err != nil {
		return err
	}
	t, shown := table.Of(exchange.Columns, rows), exchange.Shown
	for k := len(asked.Axes) - 1; k >= 0; k-- {
		name := asked.Axes[k].Name
		t.Columns = slices.Insert(slices.Clone(t.Columns), 0, table.TextColumn(name, func(r *exchange.Row) string { return r.Place[k] }))
		shown = slices.Insert(slices.Clone(shown), 0, name)
	}
	if o.out.name != "" {
		return writeFiles(cmd.Context(), s, report.File{Name: o.out.name, Write: func(w io.Writer) error { return t.Write(w, table.FormOf(o.out.name)) }})
	}
	if o.csv {
		return failed(t.Write(s.data, table.CSV))
	}
	return write(s.Out, t.Pick(shown...).Render(o.view.of(s))+"\n")
}

// question reads some words and reports all their problems.
func (o *commOptions) question(s Streams, words map[string]string) (*exchange.Question, error) {
	query := question.NewQuery(files.Machine, question.Comm, words)
	errs := []error{query.Wrong}
	var err error
	note := func(err error) { errs = append(errs, err) }
	q := &exchange.Question{Fabric: query.Exchange.Fabric, Ranks: question.Numbers(query.Exchange.Ranks), Tokens: question.Numbers(query.Exchange.Tokens)}
	for _, name := range question.Words(query.Exchange.Libraries) {
		if l, ok := collective.FindLibrary(name); ok {
			q.Libraries = append(q.Libraries, l)
		}
	}
	q.Dispatch, err = deploy.ExchangedBytes("dispatch", query.Formats.Dispatch)
	note(err)
	q.Combine, err = deploy.ExchangedBytes("combine", query.Formats.Combine)
	note(err)
	if q.Fabric != "" && !slices.Contains(fabricsOf(q.Libraries), q.Fabric) {
		note(ofFlag("fabric", fmt.Errorf("none of these libraries has numbers of its own for %s; leave it out", q.Fabric)))
	}
	q.System, _, err = readSystem(s, query.System)
	note(err)
	q.Model, err = readExperts(s, query.Model)
	note(err)
	if q.System != nil {
		for _, n := range q.Ranks {
			if most := q.System.MaxProcs(); n > most {
				note(ofFlag("ep", fmt.Errorf("%s joins at most %d GPUs, not %d", q.System.Name, most, n)))
			}
		}
	}
	return q, question.Once(document.Join(errs...))
}

// fabricsOf lists the networks that a library has its own figures for.
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
	f, err := question.Find("model", ref, model.Catalogue, catalogue.Places{In: files.Machine})
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
