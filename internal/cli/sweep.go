package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/jobfile"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/scan"
	"throughline/internal/store"
	"throughline/internal/sweep"
	"throughline/internal/table"
)

func newSweep(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Scan numbers of chips and settings, on one machine or a cluster",
		Long: `Sweep answers the points of a scan into a folder or a bucket, file by file. The folder is
the only state: run again to continue, run at several places at once to share the work.

  run      answer what is missing
  status   how far it has come
  verify   read all files, and answer some points again
  show     the best point, the frontier, what matters; a table or a chart
  merge    put them together into one table
  job      print what sbatch or kubectl takes

A scan file is JSON. docs/scans.md has its keys:

  {"command": "estimate",
   "settings": {"model": "Llama-3.1-8B", "system": "H200", "batch": "32"},
   "vary": ["sys.mem1.GBps=3000:12500:20", "isl=1k:32k:x2"],
   "where": ["tpot <= 20ms"]}`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSweepRun(s), newSweepStatus(s), newSweepVerify(s), newSweepShow(s), newSweepMerge(s), newSweepJob(s))
	return cmd
}

// readScan returns the scan of a file, and the text of the file.
func readScan(name string) (*scan.Request, []byte, error) {
	src, err := readInput(name)
	if err != nil {
		return nil, nil, err
	}
	if jobfile.FormatOf(document.Parse(name, src).Keys()) == jobfile.RuntimeFormat {
		return nil, nil, fmt.Errorf("%s is a runtime file; throughline run -c %s --resume runs it, and continues after an interruption", name, name)
	}
	request, err := scan.ReadFile(name, src)
	return request, src, err
}

func newSweepRun(s Streams) *cobra.Command {
	var out output
	var flags *settings
	cmd := &cobra.Command{
		Use:   "run FILE -o DIR|s3://bucket/prefix",
		Short: "Answer the points of a scan that are missing",
		Long: `Run answers the points of a scan file into part-NNNNNN.parquet, each whole or absent. It
continues where others have stopped. Of several processes each takes its --shard first
and then whatever is missing, so that a lost one holds nobody up.

Keys of a bucket come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the files of the
AWS tools, or the role of the machine; AWS_ENDPOINT_URL names another service.

Exit codes: 0 done; 2 the input has problems, or the folder holds another scan; 3 the
results could not be written.`,
		Example: `  throughline sweep run scan.json -o results
  throughline sweep run scan.json -o s3://bucket/results --shard 3/100`,
		Args: oneArgument("the file of a scan"),
		RunE: func(cmd *cobra.Command, args []string) error { return sweepRun(cmd, s, flags, args[0], out.name) },
	}
	flags = addSettings(cmd, question.SweepRun)
	addOutputs(cmd, "sweep run", map[string]any{"output": &out})
	return cmd
}

func sweepRun(cmd *cobra.Command, s Streams, flags *settings, file, at string) error {
	ctx := cmd.Context()
	q, err := flags.read()
	number, of, wrong := shardOf(q.Shard)
	if at == "" {
		err = document.Join(err, errors.New("sweep run needs a place for the results: -o DIR or -o s3://bucket/prefix"))
	}
	request, _, bad := readScan(file)
	if err := document.Join(err, ofFlag("shard", wrong), bad); err != nil {
		return question.Once(err)
	}
	work, err := sweep.NewWork(ctx, request, at, q.PartSeconds)
	if err != nil {
		return asSystemError(err)
	}
	guarded, err := store.IsGuarded(ctx, work.In)
	if err != nil {
		return asSystemError(err)
	}
	if !guarded {
		fmt.Fprintf(s.Err, "note: %s replaces files of the same name: let one process begin the scan before others join it; parts that two of them answer are written twice, with the same content\n", work.In)
	}
	if other := work.Manifest.OtherArchitecture(); other != "" {
		fmt.Fprintf(s.Err, "note: the scan was begun on %s: last digits of points may differ from those answered here\n", other)
	}
	bar := newProgress(s.watched, work.Manifest.Parts())
	defer bar.finish()
	start, done := time.Now(), 0
	var lock sync.Mutex
	vain, err := work.Do(ctx, number, of, q.Workers(), func(parts int) {
		lock.Lock()
		defer lock.Unlock()
		done += parts
		for range parts {
			bar.tick()
		}
	})
	bar.finish()
	if err != nil {
		return asSystemError(err)
	}
	fmt.Fprintf(s.Err, "%d points in %d parts are in %s; %.1f s\n", work.Manifest.Points, work.Manifest.Parts(), work.In, time.Since(start).Seconds())
	if vain > 0 {
		fmt.Fprintf(s.Err, "answered twice: %d of them, which another process had ended before\n", vain)
	}
	return nil
}

// asSystemError makes a failure of the machine one.
func asSystemError(err error) error {
	var path *os.PathError
	var link *os.LinkError
	if errors.As(err, &path) || errors.As(err, &link) {
		return systemError{err}
	}
	return err
}

// shardOf is the share that a flag or the environment says.
func shardOf(text string) (number, of int, err error) {
	if text == "" {
		id, count := os.Getenv("SLURM_ARRAY_TASK_ID"), os.Getenv("SLURM_ARRAY_TASK_COUNT")
		if id == "" || count == "" {
			return 0, 1, nil
		}
		text = id + "/" + count
	}
	return question.ParseShard(text, os.Getenv)
}

func newSweepStatus(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "status DIR|s3://bucket/prefix",
		Short:   "Say how far a scan has come",
		Example: `  throughline sweep status results`,
		Args:    oneArgument("the folder of a scan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			work, err := sweep.Opened(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			status, err := work.Status(cmd.Context())
			if err != nil {
				return asSystemError(err)
			}
			text := fmt.Sprintf("%d of %d parts are there, of %d points\n", status.Done, status.Parts, status.Points)
			if n := len(status.Missing); n > 0 {
				text += fmt.Sprintf("missing: %s and %d more\n", scan.PartName(status.Missing[0]), n-1)
			}
			if status.Unsure > 0 {
				text += fmt.Sprintf("under way, or given up by a process that went down: %d\n", status.Unsure)
			}
			return write(s.Out, text)
		},
	}
}

func newSweepVerify(s Streams) *cobra.Command {
	var flags *settings
	cmd := &cobra.Command{
		Use:     "verify DIR|s3://bucket/prefix",
		Short:   "Read all parts of a scan, and answer some points again",
		Example: `  throughline sweep verify results --again 1000`,
		Args:    oneArgument("the folder of a scan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := flags.read()
			if err != nil {
				return err
			}
			work, err := sweep.Opened(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			v, err := work.Verify(cmd.Context(), q.Again)
			if err != nil {
				return err
			}
			return write(s.Out, fmt.Sprintf("%d parts with %d rows are whole; %d points, answered again, are the same\n", v.Parts, v.Rows, v.Again))
		},
	}
	flags = addSettings(cmd, question.SweepVerify)
	return cmd
}

func newSweepShow(s Streams) *cobra.Command {
	var c curve
	c.out, c.charts = &output{}, &charts{}
	cmd := &cobra.Command{
		Use:   "show DIR|s3://bucket/prefix",
		Short: "Say what follows from a scan",
		Long: `Show reads all parts of a scan that is done, and answers as the same question on the command
line would: the best point, the frontier, how much each axis matters, a table, charts.`,
		Example: `  throughline sweep show results
  throughline sweep show results --chart heatmap=heat.svg`,
		Args: oneArgument("the folder of a scan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sheet, err := c.charts.plan(nil, nil, c.out)
			if err := document.Join(emptyOutputs(cmd.Flags()), err, checkTableForm(c.out)); err != nil {
				return question.Once(err)
			}
			work, err := sweep.Opened(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			r := report.NewScan(work.Scan)
			err = work.Points(cmd.Context(), func(p *sweep.Point) error {
				if r.Add(p); len(r.Points) > report.MostPoints {
					return fmt.Errorf("%s has more than the %d rows that fit into memory; keep best:N or frontier, or ask a database", args[0], report.MostPoints)
				}
				return nil
			})
			if err != nil {
				return err
			}
			r.Left, r.Some = work.Manifest.Points-len(r.Points), work.Keep != sweep.Keep{}
			r.Finish()
			return c.show(cmd.Context(), s, r, sheet)
		},
	}
	addOutputs(cmd, "sweep show", c.charts.with("sweep show", map[string]any{"json": &c.json, "wide": &c.view.wide, "out": c.out}))
	return cmd
}

func newSweepMerge(s Streams) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:     "merge DIR|s3://bucket/prefix -o FILE",
		Short:   "Put the parts of a scan together into one table",
		Example: `  throughline sweep merge results -o results.parquet`,
		Args:    oneArgument("the folder of a scan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out.name == "" {
				return errors.New("sweep merge needs a file for the table: -o FILE.parquet")
			}
			if err := document.Join(out.check(), checkTableForm(&output{name: out.name})); err != nil {
				return err
			}
			work, err := sweep.Opened(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var broken error
			err = writeFiles(cmd.Context(), s, report.File{Name: out.name, Write: func(w io.Writer) error {
				_, broken = work.Merge(cmd.Context(), w, table.FormOf(out.name))
				return broken
			}})
			if broken != nil {
				return broken
			}
			return err
		},
	}
	addOutputs(cmd, "sweep merge", map[string]any{"output": &out})
	return cmd
}

func newSweepJob(s Streams) *cobra.Command {
	var out output
	var flags *settings
	cmd := &cobra.Command{
		Use:   "job slurm|k8s FILE -o DIR|s3://bucket/prefix",
		Short: "Print what sbatch or kubectl takes to run a scan on a cluster",
		Long: `Job prints a script for sbatch, an array whose tasks are requeued when a node is lost, or a
Job for kubectl apply -f -, whose indices are started again when they fail. Workers need
no connection to each other: they share the folder or the bucket of the results.`,
		Example: `  throughline sweep job slurm scan.json -o /shared/results --workers 40 | sbatch
  throughline sweep job k8s scan.json -o s3://bucket/results --image registry/throughline | kubectl apply -f -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := flags.read()
			if err != nil {
				return err
			}
			if len(args) != 2 || schedulers[args[0]] == nil || out.name == "" {
				return errors.New("sweep job needs slurm or k8s, the file of a scan and -o: throughline sweep job slurm scan.json -o /shared/results")
			}
			request, src, err := readScan(args[1])
			var asked *scan.Scan
			if err == nil {
				asked, err = scan.New(files.Machine, request)
			}
			if err == nil && args[0] == "slurm" { // whose workers have the files of this machine
				err = sweep.Check(asked)
			}
			if err != nil {
				return err
			}
			text, err := schedulers[args[0]](&sweepJob{File: args[1], Source: src, Results: out.name, Workers: q.Several.Workers, Image: q.Image, Claim: q.Claim})
			if err != nil {
				return err
			}
			return write(s.Out, text)
		},
	}
	flags = addSettings(cmd, question.SweepJob)
	addOutputs(cmd, "sweep job", map[string]any{"output": &out})
	return cmd
}
