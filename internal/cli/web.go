package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"throughline/internal/web"
)

type webOptions struct {
	listen    string
	cert, key string
	insecure  bool
	hosts     []string
	add       []string
}

func newWeb(s Streams) *cobra.Command {
	var o webOptions
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Show answers in a browser: plans, reasons, load, maps, comparisons",
		Long: `Web starts a page on this machine and prints its address. The page asks what the
commands ask: Choose is plan, Why is explain, Load is simulate, Map is a scan, Compare is
diff and compare. Each page shows the line for a terminal with the same answer, and
/api/v1/ answers programs with the bytes of --json.

The address carries a key, which the browser keeps and other users of the machine do not
know; programs send it as "Authorization: Bearer KEY". THROUGHLINE_KEY sets it. No request
opens a file: models and systems of your own are named by --add when the page starts.

Other machines reach the page by --listen, which needs a certificate (--tls-cert, --tls-key)
or --insecure. Ctrl-C ends it.`,
		Example: `  throughline web
  throughline web --listen 127.0.0.1:9000 --add systems/my_chip.json --add models/my_model.json`,
		Args: onlyFlags(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, address, err := o.open(s)
			if err != nil {
				return err
			}
			options, err := o.read()
			if err != nil {
				listener.Close()
				return err
			}
			options.Log = s.Err
			page := web.NewServer(options)
			fmt.Fprintf(s.Out, "%s\n", page.First(address))
			s.linger(time.Second)
			return page.Serve(cmd.Context(), listener)
		},
	}
	addOutputs(cmd, "web", map[string]any{"listen": &o.listen, "tls-cert": &o.cert, "tls-key": &o.key, "insecure": &o.insecure, "hostname": &o.hosts, "add": &o.add})
	return cmd
}

// open starts to listen, and returns the address for browsers.
func (o *webOptions) open(s Streams) (net.Listener, string, error) {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, "", ofFlag("listen", fmt.Errorf("must be an address and a port like 127.0.0.1:8080, not %q", o.listen))
	}
	ip := net.ParseIP(host)
	far := !(host == "localhost" || ip != nil && ip.IsLoopback())
	secure := o.cert != "" || o.key != ""
	switch {
	case far && !secure && !o.insecure:
		return nil, "", ofFlag("listen", fmt.Errorf("%s is open to other machines: give --tls-cert and --tls-key, or --insecure", o.listen))
	case far && !secure:
		fmt.Fprintln(s.Err, "warning: other machines reach this page, and all they send can be read on the way")
	case far && ip != nil && ip.IsUnspecified() && len(o.hosts) == 0:
		fmt.Fprintln(s.Err, "note: --hostname NAME says by which names browsers may call the page")
	}
	var settings *tls.Config
	if secure {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, "", ofFlag("tls-cert", err)
		}
		settings = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, "", ofFlag("listen", fmt.Errorf("%s cannot be used: %w; --listen 127.0.0.1:0 takes any port that is free", o.listen, errors.Unwrap(err)))
	}
	address := "http://" + l.Addr().String()
	if settings != nil {
		l, address = tls.NewListener(l, settings), "https://"+l.Addr().String()
	}
	return l, address, nil
}

// read collects what the server is told at its start.
func (o *webOptions) read() (web.Options, error) {
	out := web.Options{Key: os.Getenv("THROUGHLINE_KEY"), Hosts: o.hosts}
	if host, _, err := net.SplitHostPort(o.listen); err == nil {
		out.Hosts = append(out.Hosts, host)
	}
	const leastKey = 16
	if out.Key != "" && len(out.Key) < leastKey {
		return out, fmt.Errorf("THROUGHLINE_KEY has %d characters; %d are the least that cannot be guessed", len(out.Key), leastKey)
	}
	var err error
	out.Files, err = addedFiles(o.add)
	return out, err
}
