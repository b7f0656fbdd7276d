package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"throughline/assume"
	"throughline/hardware"
	"throughline/internal/document"
	"throughline/internal/explain"
	"throughline/internal/point"
	"throughline/internal/report"
	"throughline/op"
	"throughline/workload"
)

// explainOptions are the flags of the explain command.
type explainOptions struct {
	point       point.Point
	ttft, tpot  float64
	seek, until string
	from        string
	json        bool
	view        viewOptions
}

func newExplain(s Streams) *cobra.Command {
	o := explainOptions{point: point.Default()}
	cmd := &cobra.Command{
		Use:   "explain --model MODEL --system SYSTEM",
		Short: "Explain one deployment: its operators, memory, sensitivities and next limits",
		Long: `Explain takes the deployment that the flags fix, as estimate does, and tells why it
takes the time it takes:

  the operators in their order, their shapes, times and bounds
  what the memory holds
  what 10% more of each number of the hardware would change
  what a growing batch meets next
  with --seek and --until, which value of a number of the system reaches a goal

What clients see is shown first; the step that is explained is that of the decode, unless
--phase says otherwise or the goal is the time to the first token.

A goal is tpot=20ms, ttft=500ms, step=20ms, throughput=5000, memory=10GiB (left free)
or batch=64 (the largest that fits). A number is named by its path in the system file,
like mem1.GBps, mem1.GiB, matrix.float8.tflops or networks[0].bandwidth; values from a
thousandth to a thousand times the present one are looked at.`,
		Example: `  throughline explain --model llama_3_8b --system H200 --batch 32
  throughline explain --model llama_3_8b --system H200 --batch 32 --tpot 10
  throughline explain --model qwen3_32b_flash --system H100_SXM --tp 4 --batch 64 --seek mem1.GBps --until tpot=5ms
  throughline explain --model qwen3_32b_flash --system H100_SXM --tp 4 --seek matrix.bfloat16.tflops --until ttft=20ms --json`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return explainPoint(cmd, s, o) },
	}
	pointFlags(cmd, &o.point)
	f := cmd.Flags()
	addFrom(cmd, &o.from)
	f.Float64Var(&o.ttft, "ttft", 0, "limit on the time to the first token, in ms")
	f.Float64Var(&o.tpot, "tpot", 0, "limit on the time per output token, in ms")
	f.StringVar(&o.seek, "seek", "", "number of the system to change until a goal is reached")
	f.StringVar(&o.until, "until", "", "the goal: "+strings.Join(explain.Metrics(), ", ")+" = a value")
	f.BoolVar(&o.json, "json", false, "print one JSON object instead of tables")
	o.view.flags(cmd)
	complete(cmd, "until", goals())
	completePaths(cmd, &o.point)
	return cmd
}

func goals() []string {
	var out []string
	for _, m := range explain.Metrics() {
		out = append(out, m+"=")
	}
	return out
}

// completePaths offers the numbers of the system that is named.
func completePaths(cmd *cobra.Command, p *point.Point) {
	err := cmd.RegisterFlagCompletionFunc("seek", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		src, ok := hardware.Catalogue.Find(p.System)
		if !ok {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		sys, _ := hardware.Read(p.System, src)
		return explain.Paths(sys), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag does not exist
	}
}

func explainPoint(cmd *cobra.Command, s Streams, o explainOptions) error {
	goal, errs := o.check(cmd)
	answer, err := estimatePoint(cmd, s, &o.point, o.from)
	if err == nil && goal != nil && o.point.Phase == "" && answer.Seen == nil && answer.Deployment.Assume.Engine {
		errs = append(errs, fmt.Errorf("--until %s: clients are not served", o.until))
	}
	if err == nil && o.seek != "" {
		err = explain.CheckPath(answer.Phases[0].Problem.System, o.seek)
	}
	if err := document.Join(append(errs, err)...); err != nil {
		return point.Once(err)
	}
	limits := workload.Limits{}
	if o.ttft > 0 {
		limits.TTFT = &o.ttft
	}
	if o.tpot > 0 {
		limits.TPOT = &o.tpot
	}
	// What clients see is explained by the decode step, unless a goal is about the first token.
	explained := op.Decode
	if goal != nil {
		if phase, about := goal.Phase(); about {
			explained = phase
		}
	}
	why := make([]*explain.Explanation, len(answer.Phases))
	for i := range answer.Phases {
		phase := answer.Phases[i].Phase
		if o.point.Clients() && phase != explained {
			continue
		}
		if why[i], err = explain.Of(answer, i, limits); err != nil {
			return err
		}
		if goal != nil && goal.Suits(answer, phase) {
			if why[i].Seek, err = explain.Seek(answer, i, o.seek, goal); err != nil {
				return err
			}
		}
	}
	if o.json {
		err = report.WriteObject(s.data, report.ExplainedJSON(answer, why))
	}
	first := true
	for i := 0; i < len(why) && err == nil && !o.json; i++ {
		if why[i] == nil {
			continue
		}
		if !first {
			fmt.Fprintln(s.Out)
		}
		first = false
		err = report.WriteExplanation(s.Out, o.view.of(s), answer, i, why[i])
	}
	if err != nil {
		return systemError{err}
	}
	return nil
}

// check reads the flags that only explain has. A goal that is known of one phase only asks for it.
func (o *explainOptions) check(cmd *cobra.Command) (*explain.Goal, []error) {
	var errs []error
	for _, l := range []struct {
		flag  string
		value float64
	}{{"ttft", o.ttft}, {"tpot", o.tpot}} {
		if cmd.Flags().Changed(l.flag) && !(l.value > 0) {
			errs = append(errs, fmt.Errorf("--%s must be greater than 0 ms, not %g", l.flag, l.value))
		}
	}
	if (o.seek == "") != (o.until == "") {
		errs = append(errs, errors.New("--seek names a number of the system and --until a goal: one needs the other, like --seek mem1.GBps --until tpot=20ms"))
	}
	if o.until == "" {
		return nil, errs
	}
	goal, err := explain.ParseGoal(o.until)
	if err != nil {
		return nil, append(errs, err)
	}
	if phase, times := goal.Phase(); times && !o.point.Clients() {
		list, err := o.point.Phases()
		if reference := strings.HasPrefix(o.point.Assume, assume.Reference.Name); err == nil && (!reference || !slices.Contains(list, phase)) {
			errs = append(errs, fmt.Errorf("--until %s: a bare %s step has no %s, which clients see; leave --phase out, or ask for step=", o.until, o.point.Phase, goal.Metric()))
		}
	}
	return goal, errs
}
