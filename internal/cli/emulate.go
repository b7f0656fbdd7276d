package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/document"
	"throughline/internal/emulate"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/serving/simulate"
)

func newEmulate(s Streams) *cobra.Command {
	var flags *settings
	cmd := &cobra.Command{
		Use:   "emulate --model MODEL --system SYSTEM",
		Short: "Answer requests over HTTP in the time that a deployment would take",
		Long: `Emulate is a server of a language model without the model, for tests of gateways,
autoscalers and dashboards. It answers as OpenAI, vLLM and SGLang do (/v1/completions,
/v1/chat/completions, /v1/models, /generate, /health, /metrics), and every token comes
when throughline simulate says: requests wait, share steps and end as the scheduler of
the engine puts them together. --speed 10 lets time pass ten times as fast.

The deployment is given as to simulate; --from plan.json#1 takes the first row of what
throughline plan --json wrote. --replicas, --prefill-plan and --decode-plan make several
servers behind one address. --fault lets things go wrong: a share of errors, connections
that are cut, replicas that stand still, start late or fail.

It prints "listening on" and its address, and serves until Ctrl-C or SIGTERM; running
streams end with an error event then. It listens on this machine alone unless --host says
otherwise.

Exit codes: 130 after Ctrl-C; 143 after SIGTERM; 2 the input has problems; 3 it could not
listen.`,
		Example: `  throughline emulate --model Llama-3.1-8B --system H200 --engine vllm
  throughline emulate --from plan.json#1 --port 0 --speed 10
  throughline emulate --model Llama-3.1-8B --system H200 --replicas 4 --routing least-loaded --fault die:replica=1,after=60s
  throughline emulate --model Qwen3-32B --system H200 --prefill-plan tp2 --decode-plan tp4 --fault errors:0.01 --fault slow-start:30s`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, title, err := emulation(s, flags)
			if err != nil {
				return err
			}
			q, _ := flags.read() // which has been checked
			host := q.Emulation.Host
			l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(q.Emulation.Port)))
			if err != nil {
				return systemError{fmt.Errorf("%w (--host, --port; --port 0 takes any port that is free)", err)}
			}
			defer l.Close()
			addr := l.Addr().(*net.TCPAddr)
			at := net.JoinHostPort(host, strconv.Itoa(addr.Port))
			if !addr.IP.IsLoopback() {
				fmt.Fprintf(s.Err, "warning: whoever reaches %s over the network can send requests\n", at)
			}
			e, err := emulate.New(*config)
			if err != nil {
				return err
			}
			if err := write(s.Out, fmt.Sprintf("%s\nmodel %s\nlistening on http://%s\n", title, config.Model, at)); err != nil {
				return err
			}
			s.linger(2 * emulate.GraceTime)
			if err := e.Serve(cmd.Context(), l); err != nil {
				return systemError{err}
			}
			return cmd.Context().Err()
		},
	}
	flags = addSettings(cmd, question.Emulate)
	return cmd
}

// emulation is what the flags ask for, and the title of the deployment.
func emulation(s Streams, flags *settings) (*emulate.Config, string, error) {
	q, err := ask(flags)
	errs := []error{err, q.Check(question.Emulate)}
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	set := scheduling(&q, note)
	n := q.Lengths()
	if strings.HasPrefix(q.Distribution, "trace:") {
		note(ofFlag("lengths", errors.New("of answers are fixed, uniform:R or lognormal:S here, not those of a trace")))
		q.Distribution = ""
	}
	answers, _ := simulate.ParseLength(q.Distribution, n.Output) // which has been checked
	faults, err := emulate.ParseFaults(question.Words(q.Emulation.Faults))
	note(ofFaults(err))
	n.Input, n.Output, n.Cached = max(1, n.Input), answers.Average(), 0
	got, err := serve(s, flags, &q, n, set, document.Join(errs...), func(int) error { return nil })
	if err != nil {
		return nil, "", err
	}
	if err := emulate.CheckFaults(faults, emulate.Replicas(&got.options)); err != nil {
		return nil, "", ofFaults(err)
	}
	d := &got.deployment
	return &emulate.Config{
		Simulation: got.options, Model: cmp.Or(q.Emulation.Served, d.Model.Name), Context: got.longest, Answers: answers, Speed: q.Emulation.Speed,
		Faults: faults, Connections: q.Emulation.Connections, Seed: uint64(q.Traffic.Seed),
	}, report.DeploymentTitle(d, false), nil
}

// ofFaults makes problems those of the flag of faults.
func ofFaults(err error) error {
	var all *document.Error
	if !errors.As(err, &all) {
		return ofFlag("fault", err)
	}
	var errs []error
	for _, p := range all.Problems {
		errs = append(errs, ofFlag("fault", errors.New(p.Message)))
	}
	return document.Join(errs...)
}
