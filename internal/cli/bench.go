package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"throughline/engine"
	"throughline/internal/bench"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/runs"
	"throughline/internal/secret"
	"throughline/internal/sentence"
	"throughline/serving/simulate"
)

type benchOptions struct {
	flags                   *settings
	query                   question.Question
	json, details, quiet    bool
	outputFile, requestsOut output
	table                   output
	force                   bool
}

func newBench(s Streams) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench --backend BACKEND --base-url URL",
		Short: "Send requests to a server, and measure what its clients see",
		Long: `Bench sends requests to a server and measures what its clients see: a server with the
API of OpenAI (/v1/completions, /v1/chat/completions) or SGLang's (/generate). Options
and report are those of sglang.bench_serving; throughline simulate predicts the same
figures, with the same keys.

Requests come at a rate (--request-rate), from clients that wait for their answers
(--max-concurrency), or from a trace (--trace). Times count from when a request was
due, whether or not a connection or a client was free then. --rate, --concurrency, --isl
and --osl stand for --request-rate, --max-concurrency, --random-input-len and
--random-output-len.

Ctrl-C prints what was measured until then.

` + exitHelp(),
		Example: `  throughline bench --backend vllm --base-url http://127.0.0.1:8000 --num-prompts 64 --max-concurrency 16 --isl 512 --osl 64
  throughline bench --backend sglang-oai --base-url http://127.0.0.1:8000 --num-prompts 40 --request-rate 20 --osl 32 --goodput ttft:2000 tpot:50
  throughline bench --self-check --max-concurrency 100 --random-output-len 5`,
		Args: goodputWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := o.prepare(s)
			if err != nil {
				return err
			}
			if o.query.SelfCheck {
				return o.selfCheck(cmd.Context(), s)
			}
			return answerError(s, o.run(cmd.Context(), s, options))
		},
	}
	o.flags = addSettings(cmd, question.Bench)
	addOutputs(cmd, "bench", map[string]any{"json": &o.json, "requests-out": &o.requestsOut, "output-file": &o.outputFile, "append-run": &o.table,
		"output-details": &o.details, "disable-tqdm": &o.quiet, "force": &o.force})
	return cmd
}

// goodputWord matches what may follow --goodput, as vllm bench serve takes it.
var goodputWord = regexp.MustCompile(`^[a-z0-9]+:[0-9.]+[a-z]*$`)

// goodputWords appends arguments to --goodput and rejects others.
func goodputWords(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if !cmd.Flags().Changed("goodput") || !goodputWord.MatchString(arg) {
			return onlyFlags("")(cmd, []string{arg})
		}
		if err := cmd.Flags().Set("goodput", arg); err != nil {
			return err
		}
	}
	return nil
}

// answerError prints an error that is an answer: about the server or the limits, not the usage.
func answerError(s Streams, err error) error {
	if errors.Is(err, bench.ErrServer) || errors.Is(err, simulate.ErrLimits) {
		fmt.Fprintln(s.Err, "throughline:", err)
		return exitError{exitNoPlan}
	}
	return err
}

// prepare reads all flags and files and reports all their problems.
func (o *benchOptions) prepare(s Streams) (*bench.Options, error) {
	var err error
	o.query, err = o.flags.read()
	q := &o.query
	errs := []error{err, q.Check(question.Bench), checkOutputs(append(q.Files(), q.Path), &o.requestsOut, &o.outputFile, &o.table), o.checkTable()}
	note := func(err error) { errs = append(errs, err) }
	address, user := o.address()
	headers, secrets := headers(q.Headers, user, os.Getenv)
	out := &bench.Options{BaseURL: address, Model: q.Served, Headers: headers, Secrets: secrets, Protocol: q.Protocol, LoRA: question.Words(q.Adapters), KeepText: o.details}
	if q.Extra != "" {
		_ = json.Unmarshal([]byte(q.Extra), &out.Extra) // problems were reported before
	}
	out.Terms, err = q.Terms(o.flags.given)
	out.Backend = q.Backend
	note(err)
	if q.DatasetName() == question.ShareGPT && q.Path != "" {
		out.Conversations, err = bench.ReadConversations(files.Machine, q.Path, out.Traffic.Seed)
		note(err)
	}
	good, _ := question.GoodputOf(q.Good)
	out.Limits = simulate.Limits(good)
	if q.Good == "" {
		out.Limits = simulate.Limits{TTFT: out.TTFT.Seconds, TPOT: out.TPOT.Seconds}
	}
	if err := document.Join(errs...); err != nil {
		return nil, question.Once(err)
	}
	o.flags.note(s, &question.Loaded{Question: *q})
	return out, nil
}

// address returns that of the server without the path prefix, and the user apart.
func (o *benchOptions) address() (string, *url.Userinfo) {
	q := &o.query
	if q.BaseURL != "" {
		u, err := url.Parse(q.BaseURL)
		if err != nil {
			return "", nil // reported before
		}
		user := u.User
		u.User = nil
		return strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1"), "/"), user
	}
	port := q.Port
	if b, ok := engine.FindBackend(q.Backend); ok {
		port = cmp.Or(port, b.Port)
	}
	return "http://" + net.JoinHostPort(q.Host, strconv.Itoa(port)), nil
}

// headers returns those of every request: the key from the environment, as sglang.bench_serving
// sends it, the user of the address, and the given ones. All of them are secret.
func headers(given string, user *url.Userinfo, env func(string) string) (http.Header, *secret.Set) {
	out, secrets := http.Header{}, &secret.Set{}
	if key := env("OPENAI_API_KEY"); key != "" {
		out.Set("Authorization", "Bearer "+key)
	} else if key := env("API_KEY"); key != "" {
		out.Set("Authorization", key)
	}
	if user != nil {
		password, _ := user.Password()
		out.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
		secrets.Add(password)
	}
	for _, word := range append(question.Words(env(bench.HeaderVariable)), question.Words(given)...) {
		key, value, _ := strings.Cut(word, "=")
		out.Set(strings.TrimSpace(key), value)
	}
	for _, values := range out {
		secrets.Add(values[0])
	}
	return out, secrets
}

func (o *benchOptions) run(ctx context.Context, s Streams, options *bench.Options) error {
	details := &bench.Details{}
	if o.details {
		options.Each = chain(options.Each, details.Add)
	}
	if o.requestsOut.name == "" {
		return o.measure(ctx, s, options, details)
	}
	var measured error
	// What was measured before Ctrl-C is written, too.
	err := report.WriteFiles(context.WithoutCancel(ctx), report.File{Name: o.requestsOut.name, Write: func(w io.Writer) error {
		b := bufio.NewWriter(w)
		rows := bench.RowsTo(o.requestsOut.name, b)
		options.Each = chain(options.Each, rows.Add)
		// Failed requests have rows as well.
		var exit exitError
		if measured = o.measure(ctx, s, options, details); measured != nil && !errors.Is(measured, context.Canceled) && !errors.As(measured, &exit) {
			return measured
		}
		if err := rows.Flush(); err != nil {
			return err
		}
		return b.Flush()
	}})
	if measured == nil && err != nil {
		return systemError{err}
	}
	return measured
}

// benchPatience is how long an interrupted run may take to print what it measured: thousands of
// streams end at that moment.
const benchPatience = 2 * time.Second

// measure prints what clients see, up to Ctrl-C if that comes first.
func (o *benchOptions) measure(ctx context.Context, s Streams, options *bench.Options, details *bench.Details) error {
	each := options.Each
	if o.query.Traffic.MaxRate {
		options.Each = nil // files are those of the rate that is found
	}
	watched := watchBench(s, o.quiet, options)
	defer watched.finish()
	b, err := bench.New(ctx, options)
	if err != nil {
		return err
	}
	defer b.Close()
	s.linger(benchPatience)
	rate := options.Traffic.Rate
	var r *bench.Report
	if o.query.Traffic.MaxRate {
		r, err = b.MaxRate(ctx, rate, func(text string) { watched.finish(); fmt.Fprintln(s.Err, "tried", text) })
		if r != nil {
			rate, options.Each = r.Seen.Traffic.Rate, each
		}
	}
	if err == nil && (r == nil || each != nil) {
		r, err = b.Run(ctx, rate)
	}
	watched.finish()
	if r == nil {
		return err
	}
	return errors.Join(o.show(s, r, details), err)
}

func (o *benchOptions) show(s Streams, r *bench.Report, details *bench.Details) error {
	fields := r.Fields()
	if o.query.Tag != "" {
		fields.Set("tag", o.query.Tag)
	}
	if r.Seen.Requests == 0 && !r.Interrupted {
		fmt.Fprintln(s.Err, "throughline: no request was answered\n"+strings.Join(r.Wrong(), "\n"))
		return errors.Join(o.append(fields, details), exitError{exitNoPlan})
	}
	var err error
	if o.json {
		var text []byte
		if text, err = fields.JSON(); err == nil {
			err = write(s.data, string(text))
		}
	} else {
		v := viewOptions{}.of(s)
		err = write(s.Out, sentence.Text(v, sentence.Load(&sentence.Loaded{Seen: &r.Seen}))+r.Block()+v.Wrap(strings.Join(r.Notes(), "\n")+"\n"))
	}
	if err = errors.Join(err, o.append(fields, details), o.appendRun(s, r, fields)); err == nil && r.TooManyFailed() && !r.Interrupted {
		fmt.Fprintf(s.Err, "throughline: %d of %d requests failed\n", r.Failed, r.Sent())
		return exitError{exitNoPlan}
	}
	if err != nil || r.Interrupted {
		return err
	}
	return limitsError(&r.Seen)
}

// checkTable finds what prevents appending to the table of runs, before there is a run.
func (o *benchOptions) checkTable() error {
	deployment, err := runs.Deployment(question.Words(o.query.MeasuredOn))
	switch {
	case err != nil:
		return nil // reported before
	case o.table.name == "" && len(deployment) > 0:
		return ofFlag("deployment", errors.New("is for the table of --append-run, which is not given"))
	case o.table.name == "":
		return nil
	}
	var errs []error
	for _, name := range []string{"model", "system"} {
		if deployment[name] == "" {
			errs = append(errs, ofFlag("append-run", fmt.Errorf("the table has the %s that was measured: give --deployment model=…,system=…,engine=…,tp=…", name)))
		}
	}
	_, _, err = runs.Header(o.table.name)
	return errors.Join(append(errs, err)...)
}

func (o *benchOptions) appendRun(s Streams, r *bench.Report, fields simulate.Fields) error {
	if o.table.name == "" {
		return nil
	}
	if r.Interrupted || r.TooManyFailed() {
		why := "the run was interrupted"
		if !r.Interrupted {
			why = "too many requests of the run failed"
		}
		fmt.Fprintf(s.Err, "%s: %s, and it is not appended\n", o.table.name, why)
		return nil
	}
	text, err := fields.JSON()
	if err != nil {
		return err
	}
	list, err := runs.Results(text)
	if err != nil {
		return err
	}
	row, err := runs.Of(list[0])
	if err != nil {
		return err
	}
	deployment, _ := runs.Deployment(question.Words(o.query.MeasuredOn)) // checked before
	maps.Copy(row, deployment)
	lost, err := runs.Append(o.table.name, row)
	if len(lost) > 0 {
		fmt.Fprintf(s.Err, "%s: has no column for %s\n", o.table.name, strings.Join(lost, ", "))
	}
	return failed(err)
}

func (o *benchOptions) append(fields simulate.Fields, details *bench.Details) error {
	if o.outputFile.name == "" {
		return nil
	}
	if o.details {
		fields = append(fields, details.Fields()...)
	}
	text, err := fields.Line()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(o.outputFile.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return systemError{err}
	}
	_, err = f.Write(text) // in one write: lines of several programs do not mix
	return failed(errors.Join(err, f.Close()))
}

// selfCheck measures the load generator against a server of its own.
func (o *benchOptions) selfCheck(ctx context.Context, s Streams) error {
	streams, tokens := cmp.Or(o.query.Concurrency, 1000), cmp.Or(o.query.Output, 100)
	line := func(format string, args ...any) error {
		return write(s.Out, viewOptions{}.of(s).Wrap(fmt.Sprintf(format, args...)+"\n"))
	}
	if err := line("%d streams of %d tokens, one every 100 ms, of a server in this program, on %d processors. Others hold programs up for %.2f ms on this machine.",
		streams, tokens, runtime.GOMAXPROCS(0), 1e3*bench.HeldUp()); err != nil {
		return err
	}
	for _, c := range []struct {
		name      string
		staggered bool
	}{{"at times of their own", true}, {"all at once", false}} {
		r, err := bench.SelfCheck(ctx, streams, tokens, c.staggered)
		if err != nil {
			return err
		}
		d := &r.Reading
		if err := line("%s: chunks are read p50 %.2f ms, p99 %.2f ms, at most %.2f ms after they were written (%d of them)", c.name, 1e3*d.Quantile(0.5), 1e3*d.Quantile(0.99), 1e3*d.Max, d.Weight); err != nil {
			return err
		}
	}
	return nil
}

// benchWatch shows the progress of a run on a terminal.
type benchWatch struct {
	stop chan struct{}
	done chan struct{}
}

// How often the line is drawn, and how far back it looks.
const (
	benchDrawn = 200 * time.Millisecond
	benchShown = 10 // of these
)

// watchBench draws a line until finished, on terminals only.
func watchBench(s Streams, quiet bool, options *bench.Options) *benchWatch {
	w := &benchWatch{stop: make(chan struct{}, 1), done: make(chan struct{})}
	if quiet || !isTerminal(s.watched) {
		close(w.done)
		return w
	}
	options.Live = &bench.Live{}
	go func() {
		defer close(w.done)
		past := []bench.Glance{options.Live.Snapshot()}
		tick := time.NewTicker(benchDrawn)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				fmt.Fprint(s.watched, "\r\x1b[K")
				return
			case <-tick.C:
			}
			now := options.Live.Snapshot()
			fmt.Fprint(s.watched, "\r", now.Line(past[0], options.Traffic.Count()), "\x1b[K")
			if past = append(past, now); len(past) > benchShown {
				past = past[1:]
			}
		}
	}()
	return w
}

// finish erases the line.
func (w *benchWatch) finish() {
	select {
	case w.stop <- struct{}{}:
	default:
	}
	<-w.done
}
