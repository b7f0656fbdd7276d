package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"throughline/collective"
	"throughline/deploy"
	"throughline/internal/document"
	"throughline/internal/exchange"
	"throughline/internal/question"
	"throughline/internal/table"
	"throughline/model"
)

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
	t := table.Of(exchange.Columns, rows)
	if o.csv {
		return failed(t.Write(s.data, table.CSV))
	}
	return write(s.Out, t.Pick(exchange.Shown...).Render(o.view.of(s))+"\n")
}

// question reads the flags and reports all their problems.
func (o *commOptions) question(s Streams) (*exchange.Question, error) {
	query, err := o.flags.read()
	errs := []error{err}
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
				note(ofFlag("ep", fmt.Errorf("%s joins at most %d processors, not %d", q.System.Name, most, n)))
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
