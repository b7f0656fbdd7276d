package cli

import (
	"io"

	"github.com/spf13/cobra"

	"throughline/internal/axis"
	"throughline/internal/document"
	"throughline/internal/exchange"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/table"
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
	several, err := scan.FromWords(files.Machine, question.Comm, o.flags.words())
	if err := document.Join(emptyOutputs(cmd.Flags()), err, o.out.check(), checkTableForm(&o.out)); err != nil {
		return question.Once(err)
	}
	if several == nil {
		several = &scan.Scan{Of: question.Comm, Words: o.flags.words(), Design: axis.Grid, In: files.Machine}
	}
	rows, remarks, err := exchange.Answer(several)
	showRemarks(s, remarks)
	if err != nil {
		return err
	}
	t, shown := exchange.Table(several, rows)
	if o.out.name != "" {
		return writeFiles(cmd.Context(), s, report.File{Name: o.out.name, Write: func(w io.Writer) error { return t.Write(w, table.FormOf(o.out.name)) }})
	}
	if o.csv {
		return failed(t.Write(s.data, table.CSV))
	}
	return write(s.Out, t.Pick(shown...).Render(o.view.of(s))+"\n")
}
