package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"throughline/internal/document"
	"throughline/internal/picture"
	"throughline/internal/report"
)

// outputFlag controls how or where a command shows its answer.
type outputFlag struct {
	name, short string
	doc         string
	initial     string                     // default of a word
	words       func(path string) []string // that a command takes, for completion
	docs        map[string]string          // doc of commands that differ, by path
	needs       []string                   // one of these flags
	without     []string                   // none of these flags
}

const (
	printJSONDoc = "print one JSON object instead of a table"
	writeOutDoc  = "write the table with its predictions to this file"
	chartFileDoc = "file of the chart, .svg or .png"
	manyOutDoc   = "file of the table of several questions, by its name: .csv, .parquet, .json, .jsonl"
)

var outputFlags = []outputFlag{
	{name: "json", doc: printJSONDoc, docs: map[string]string{
		"plan": "print JSON instead of tables", "explain": "print one JSON object instead of tables", "run": "print the results as JSON instead of a table",
		"simulate": "print one JSON object, with the keys of the result file of sglang.bench_serving",
		"bench":    "print one JSON object, with the keys of the result file of sglang.bench_serving",
		"matrix":   "print the results as JSON instead of a table",
		"models":   "print the list as JSON", "systems": "print the list as JSON", "models show": "print the model file itself", "systems show": "print the system file itself",
		"version": "print version, commit, Go, system and processor as JSON"}},
	{name: "csv", doc: "print CSV instead of a table"},
	{name: "wide", doc: "show all columns of the tables, also where they do not fit the terminal", without: []string{"json", "csv"}},
	{name: "columns", words: anyField, doc: "fields to show instead of the usual ones; help lists them", without: []string{"json"},
		docs: map[string]string{"run": "fields to show in the terminal instead of the usual ones; help lists them"}},
	{name: "markdown", doc: "print tables as Markdown"},
	{name: "chart", doc: "draw charts, each command those it has", words: func(path string) []string { return chartKinds[path] }, docs: chartDocs()},
	{name: "output", short: "o", doc: "file of the results", docs: map[string]string{
		"estimate": "write the results of --points to this file instead of standard output", "calibrate": "file of the calibrated system (required)", "calibrate serving": "file of what the runs correct", "calibrate power": "file of the system with its power",
		"models import": "write to this file instead of standard output", "run": "folder of the results, instead of the one the file names",
		"matrix":    "folder of the results, logs and the state (required)",
		"sweep run": "folder of the results, or s3://bucket/prefix (required)", "sweep job": "folder of the results that all workers see, or s3://bucket/prefix (required)", "sweep merge": "file of the table, .parquet, .csv or .jsonl (required)",
		"explain": chartFileDoc, "plan": chartFileDoc, "simulate": chartFileDoc, "sweep show": chartFileDoc,
		"validate ops": chartFileDoc, "validate forward": chartFileDoc, "validate steps": chartFileDoc, "validate serving": chartFileDoc, "validate published": chartFileDoc, "validate power": chartFileDoc, "validate energy": chartFileDoc}},
	{name: "size", initial: defaultSize, doc: "size of charts: width, or width x height", needs: []string{"chart"}},
	{name: "scale", initial: "1", doc: "pixels of a PNG for each unit of its size, such as 2 for sharp screens", needs: []string{"chart"}},
	{name: "theme", initial: themes[0], words: func(string) []string { return themes }, doc: "colours of charts: light, dark, or auto: as the viewer of an SVG prefers", needs: []string{"chart"}},
	{name: "html", doc: "write a report with tables and charts to this file, which needs no other"},
	{name: "x", initial: picture.UsualX, words: anyField, doc: "field along the x axis of lines and heatmap", needs: []string{"chart", "html"}},
	{name: "y", initial: picture.UsualY, words: anyField, doc: "field that lines and heatmap show", needs: []string{"chart", "html"}},
	{name: "by", initial: picture.UsualBy, words: anyField, doc: "field of which each value has a line, or a row of a heatmap", needs: []string{"chart", "html"}},
	{name: "out", doc: writeOutDoc, docs: map[string]string{"validate requests": "file for the figures of all runs", "validate golden": "file for the answers of this version",
		"estimate": manyOutDoc, "simulate": manyOutDoc, "comm": manyOutDoc, "sweep show": manyOutDoc,
		"plan": "file of the ranked deployments and the frontier, by its name: " + strings.Join(planForms(), ", ")}},
	{name: "requests-out", doc: "CSV file of all requests; of simulate Parquet where its name ends in .parquet", docs: map[string]string{"bench": "file of all requests: CSV, Parquet where its name ends in .parquet, or with .jsonl in its name JSON lines with the times of all chunks"}},
	{name: "output-file", doc: "append the result to this file, as one line of JSON with the keys of sglang.bench_serving"},
	{name: "append-run", doc: "append the run to this CSV table, with what --deployment says was measured: throughline validate serving, calibrate serving and compare --measured read it"},
	{name: "output-details", doc: "lengths, times, texts and errors of all requests in that line, too", needs: []string{"output-file"}},
	{name: "disable-tqdm", doc: "show no progress, also on a terminal"},
	{name: "timeline-out", doc: "file of running and waiting requests and of the KV cache over time: CSV, or Parquet where its name ends in .parquet"},
	{name: "steps-out", doc: "CSV file of all steps; of simulate Parquet where its name ends in .parquet", docs: map[string]string{"validate requests": "file for all steps as they were replayed"}},
	{name: "trace-out", doc: "JSON file of the timeline, for ui.perfetto.dev or chrome://tracing"},
	{name: "op-details", doc: "CSV file of the operators of the steps",
		docs: map[string]string{"run": "write a table of the operators of every run, and their sums into the other tables"}},
	{name: "xlsx", doc: "write a workbook of all runs: pivots of the whole machine and per package, charts, tables, raw data"},
	{name: "force", doc: "let the result replace a file that is read", docs: map[string]string{"init": "replace an existing file"},
		needs: []string{"output", "out", "requests-out", "timeline-out", "steps-out", "trace-out", "op-details", "xlsx", "chart", "html"}},
	{name: "scenario", doc: "write a scenario file instead, for throughline scenario"},
	{name: "category", doc: "start every row of the tables with its category"},
	{name: "resume", doc: "keep the runs that are done in the folder of the results, so that the same command, started again, continues after an interruption"},
	{name: "long", doc: "write one table with a row per run instead of three with a column per run"},
	{name: "format", words: func(string) []string { return formatNames() }, doc: "forms of the tables: " + strings.Join(formatNames(), ", ") + " (default wide)"},
	{name: "gzip", doc: "compress the tables (.csv.gz, .jsonl.gz)"},
	{name: "explain-rejected", doc: "say what ruled plans out, and what would have let them through", docs: map[string]string{
		"plan": "say what ruled out the deployments that practitioners would try, such as tp8 and DEP16, and what would let them through"}},
	{name: "launch", doc: "row to say the launch of: 3, or f4 for one of the frontier (default 1)"},
	{name: "launch-for", words: func(string) []string { return launchEngines() }, doc: "engine to launch it with, in place of the one of the row; all: every one"},
	{name: "launch-format", initial: launchFormats[0], words: func(string) []string { return launchFormats },
		doc: "commands: the arguments below the tables; sh: nothing but a script that starts all servers and the router; json: the same as data; matrix: a file for throughline matrix that measures the ranked rows of one node"},
	{name: "listen", initial: "127.0.0.1:8080", doc: "address and port to listen on; port 0: any that is free"},
	{name: "tls-cert", doc: "file of the certificate, for addresses of other machines"},
	{name: "tls-key", doc: "file of its key"},
	{name: "insecure", doc: "let other machines ask without encryption"},
	{name: "hostname", doc: "names by which browsers may call the page, besides those of this machine"},
	{name: "watch", doc: "answer again whenever an input file changes, until Ctrl-C"},
	{name: "add", doc: "files of models and systems that questions to a server may name, by their names with or without the folder; may be repeated"},
	{name: "measured", needs: []string{"xlsx"}},
	{name: "simulate", needs: []string{"xlsx"}},
	{name: "timeline-every", needs: []string{"timeline-out"}}, // these three are settings, documented in their table
}

func anyField(string) []string { return report.FieldNames() }

// addOutputs defines the output flags of a command, in the order of the table.
func addOutputs(cmd *cobra.Command, path string, refs map[string]any) {
	for i := range outputFlags {
		o := &outputFlags[i]
		ref, ok := refs[o.name]
		if !ok {
			continue
		}
		doc := o.doc
		if other := o.docs[path]; other != "" {
			doc = other
		}
		switch v := ref.(type) {
		case *bool:
			cmd.Flags().BoolVar(v, o.name, false, doc)
		case *string:
			cmd.Flags().StringVar(v, o.name, o.initial, doc)
		case *[]string:
			cmd.Flags().StringSliceVar(v, o.name, nil, doc)
		case *output:
			v.flag = "--" + o.name
			v.force, _ = refs["force"].(*bool)
			if o.short != "" {
				v.flag = "-" + o.short
			}
			cmd.Flags().StringVarP(&v.name, o.name, o.short, "", doc)
		default:
			panic(fmt.Sprintf("%s %s: %T", path, o.name, ref))
		}
	}
}

func emptyOutputs(flags *pflag.FlagSet) error {
	var errs []error
	for i := range outputFlags {
		f := flags.Lookup(outputFlags[i].name)
		if f != nil && f.Changed && slices.Contains([]string{"", "[]"}, strings.TrimSpace(f.Value.String())) {
			errs = append(errs, ofFlag(f.Name, errors.New("is empty; give a value, or leave it out")))
		}
	}
	return document.Join(errs...)
}

// isSetting reports whether a flag is in the table of settings; other commands may have an output
// flag of the same name.
func isSetting(f *pflag.Flag) bool {
	_, ok := f.Value.(*settingFlag)
	return ok
}

// noteOutputs reports output flags that have no effect beside the others.
func noteOutputs(cmd *cobra.Command, s Streams) {
	flags := cmd.Flags()
	flags.Visit(func(f *pflag.Flag) {
		if setting, ok := f.Value.(*settingFlag); ok && setting.times > 1 && setting.List == "" {
			fmt.Fprintf(s.Err, "note: --%s is given %d times; the last one counts\n", f.Name, setting.times)
		}
	})
	for i := range outputFlags {
		o := &outputFlags[i]
		if !flags.Changed(o.name) || o.doc != "" && isSetting(flags.Lookup(o.name)) {
			continue
		}
		needs := slices.DeleteFunc(slices.Clone(o.needs), func(name string) bool { return flags.Lookup(name) == nil })
		if len(needs) > 0 && !slices.ContainsFunc(needs, flags.Changed) {
			fmt.Fprintf(s.Err, "note: --%s has no effect without --%s\n", o.name, strings.Join(needs, " or --"))
		}
		for _, name := range o.without {
			if flags.Changed(name) {
				fmt.Fprintf(s.Err, "note: --%s has no effect with --%s\n", o.name, name)
				break
			}
		}
	}
}

type output struct {
	flag  string // as written on the command line
	name  string
	force *bool // whether it may be an input
}

// check refuses to overwrite a folder or, without force, an input.
func (o *output) check(inputs ...string) error {
	if o.name == "-" {
		return fmt.Errorf("%s: - is no file; /dev/stdout writes to standard output", o.flag)
	}
	out, err := os.Stat(o.name)
	if o.name == "" || err != nil {
		return nil // nothing there yet; other problems show when it is written
	}
	if out.IsDir() {
		return fmt.Errorf("%s: %s is a folder", o.flag, o.name)
	}
	for _, in := range inputs {
		in = strings.TrimPrefix(in, "trace:")
		if info, err := os.Stat(in); err == nil && info.Mode().IsRegular() && os.SameFile(out, info) && !(o.force != nil && *o.force) {
			return fmt.Errorf("%s: %s is read by this command; give the result another name, or --force to replace it", o.flag, o.name)
		}
	}
	return nil
}

// unlike rejects two outputs in one file, one of which would be lost.
func (o *output) unlike(other *output) error {
	if o.name == "" || other.name == "" {
		return nil
	}
	info, err := os.Stat(o.name)
	if err == nil && !info.Mode().IsRegular() {
		return nil // a device takes both
	}
	others, otherErr := os.Stat(other.name)
	if filepath.Clean(o.name) == filepath.Clean(other.name) || err == nil && otherErr == nil && os.SameFile(info, others) {
		return fmt.Errorf("%s and %s: both write %s; give each its own file", other.flag, o.flag, o.name)
	}
	return nil
}

// checkOutputs rejects outputs that overwrite inputs or each other.
func checkOutputs(inputs []string, outputs ...*output) error {
	var errs []error
	for i, out := range outputs {
		errs = append(errs, out.check(inputs...))
		for _, other := range outputs[:i] {
			errs = append(errs, out.unlike(other))
		}
	}
	return document.Join(errs...)
}
