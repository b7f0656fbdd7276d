package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"throughline/internal/watch"
)

// addWatch lets a command answer again whenever an input file changes.
func addWatch(cmd *cobra.Command, path string, s Streams, inputs func() []string) {
	on := new(bool)
	addOutputs(cmd, path, map[string]any{"watch": on})
	once := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*on {
			return once(cmd, args)
		}
		return answerOnChange(cmd.Context(), s, inputs, func() error { return once(cmd, args) }, func(err error) int { return finish(cmd.Context(), s, cmd, err) })
	}
}

// answerOnChange answers now and after every change; an error ends only that answer.
func answerOnChange(ctx context.Context, s Streams, inputs func() []string, answer func() error, show func(error) int) error {
	var files []string
	first := true
	for {
		// Files no longer read may come back with the next change.
		for _, name := range inputs() {
			if !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		before := watch.Stat(files)
		if first && !before.Any() {
			return errors.New("--watch: there is no input file to watch: what is built in does not change (\"throughline systems show NAME --json > FILE\" makes a file of your own)")
		}
		first = false
		start := time.Now()
		err := answer()
		if ctx.Err() != nil {
			return err
		}
		status := fmt.Sprintf("answered in %v", time.Since(start).Round(time.Millisecond))
		if show(err) == exitBadInput {
			status = "no answer"
		}
		fmt.Fprintf(s.Err, "%s; watching, Ctrl-C ends\n", status)
		changed := before.Wait(ctx)
		if changed == nil {
			return nil
		}
		if isTerminal(s.watched) && s.terminal {
			fmt.Fprint(s.watched, "\x1b[H\x1b[2J\x1b[3J")
		}
		fmt.Fprintf(s.Err, "%s changed\n", strings.Join(changed, ", "))
	}
}

// watched lists the files of the question.
func (s *settings) watched() []string {
	return withoutEmpty(s.fixed().Watched()) // their problems are reported by the answer
}

func withoutEmpty(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
