package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/validate"
)

func newValidateRequests(s Streams) *cobra.Command {
	var show validation
	var steps output
	var flags *settings
	cmd := &cobra.Command{
		Use:   "requests DIR",
		Short: "Replay recorded runs of a serving engine, request by request",
		Long: `Requests replays runs of an engine that logged every request and every step. The folder
holds runs.csv, requests.csv, steps.csv and step_times.csv, plain or .gz. --steps says
where the times of steps come from:

  recorded  every step starts and ends when it did; what it does is compared with what
            was recorded. Of steps.csv nothing but t_start and t_end decides
  run       the table of measured steps, scaled by kind of step to the run
  table     the table of measured steps
  own       the estimate for a system; nothing is taken from the runs

It prints the median and the 90th percentile over runs of the error of each figure, and
writes run,metric,measured,predicted,error_percent (--out).`,
		Example: `  throughline validate requests engine --steps recorded
  throughline validate requests engine --steps own --system H200 --out predicted.csv`,
		Args: oneArgument("a folder of recorded runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := flags.read()
			if err := document.Join(err, show.out.check(q.System), steps.check(q.System), steps.unlike(&show.out)); err != nil {
				return err
			}
			flags.note(s, &question.Loaded{Question: q})
			r, err := validate.Requests(cmd.Context(), args[0], validate.RequestsOptions{Steps: q.StepSource, System: q.System, Assume: q.Assume})
			if err != nil {
				return err
			}
			if err := writeRequests(cmd.Context(), s, r, show.out.name, steps.name); err != nil {
				return err
			}
			if err := write(s.Out, show.wrap(s, replayText(r, q.StepSource))+show.render(s, r.SpreadTable())); err != nil {
				return err
			}
			if len(r.Metrics) == 0 {
				return exitError{exitNoPlan}
			}
			return nil
		},
	}
	flags = addSettings(cmd, question.Requests)
	addOutputs(cmd, "validate requests", map[string]any{"out": &show.out, "steps-out": &steps, "force": &show.charts.force, "markdown": &show.markdown})
	return cmd
}

// writeRequests writes the files that are named, and warns of what is left out.
func writeRequests(ctx context.Context, s Streams, r *validate.RequestsReport, figures, steps string) error {
	var files []report.File
	if figures != "" {
		files = append(files, report.File{Name: figures, Write: r.WriteCSV})
	}
	if steps != "" {
		files = append(files, report.File{Name: steps, Write: r.WriteSteps})
	}
	if err := report.WriteFiles(ctx, files...); err != nil {
		return systemError{err}
	}
	if r.Unlisted > 0 {
		fmt.Fprintf(s.Err, "warning: runs.csv does not list %d runs of the other tables; these are left out\n", r.Unlisted)
	}
	for _, why := range r.Unpredicted {
		fmt.Fprintln(s.Err, "warning: not predicted:", why)
	}
	return nil
}

// replayText tells how many steps are those that were recorded.
func replayText(r *validate.RequestsReport, steps string) string {
	switch {
	case steps != "recorded":
		return ""
	case !r.Compared:
		return fmt.Sprintf("%d steps replayed; what the recorded ones did is not told\n", len(r.Predicted))
	}
	text := fmt.Sprintf("%d of %d steps equal\n", r.Equal, r.Steps)
	if len(r.Differences) > 0 {
		text += strings.Join(r.Differences, "\n") + "\n"
	}
	return text
}
