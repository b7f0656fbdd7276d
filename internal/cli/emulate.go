package cli

import (
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"throughline/internal/emulate"
	"throughline/internal/question"
	"throughline/internal/report"
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

` + exitHelp(),
		Example: `  throughline emulate --model Llama-3.1-8B --system H200 --engine vllm
  throughline emulate --from plan.json#1 --port 0 --speed 10
  throughline emulate --model Llama-3.1-8B --system H200 --replicas 4 --routing least-loaded --fault die:replica=1,after=60s
  throughline emulate --model Qwen3-32B --system H200 --prefill-plan tp2 --decode-plan tp4 --fault errors:0.01 --fault slow-start:30s`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := flags.fixed()
			config, deployment, remarks, err := emulate.Ask(query)
			showRemarks(s, remarks)
			if err != nil {
				return err
			}
			l, at, err := listen(s, query.Emulation.Host, query.Emulation.Port)
			if err != nil {
				return err
			}
			defer l.Close()
			e, err := emulate.New(*config)
			if err != nil {
				return err
			}
			if err := write(s.Out, fmt.Sprintf("%s\nmodel %s\nlistening on http://%s\n", report.DeploymentTitle(deployment, false), config.Model, at)); err != nil {
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

// listen opens an address and warns if others can reach it.
func listen(s Streams, host string, port int) (l net.Listener, at string, err error) {
	if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err != nil {
		return nil, "", systemError{fmt.Errorf("%w (--host, --port; --port 0 takes any port that is free)", err)}
	}
	addr := l.Addr().(*net.TCPAddr)
	at = net.JoinHostPort(host, strconv.Itoa(addr.Port))
	if !addr.IP.IsLoopback() {
		fmt.Fprintf(s.Err, "warning: whoever reaches %s over the network can send requests\n", at)
	}
	return l, at, nil
}
