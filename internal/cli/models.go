package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"throughline/internal/catalogue"
	"throughline/internal/document"
	"throughline/internal/files"
	"throughline/internal/question"
	"throughline/internal/report"
	"throughline/internal/shell"
	"throughline/internal/table"
	"throughline/model"
)

func newModels(s Streams) *cobra.Command {
	var asJSON bool
	var view viewOptions
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the built-in models, show one, import a config.json",
		Long: `Models lists the built-in models. The columns:

  attention      kind, query/key-value heads × head size; MLA: heads × cached latent + rotary part;
                 1:4 compressed past, top 2048 sparse, window 128 sliding; several kinds are counted by layer
  experts        routed experts per token, of how many, + shared experts
  total, active  parameters, with embedding and output head
  KV/token       KV cache bytes per token of a long sequence, at 1 byte per element`,
		Example: `  throughline models
  throughline models show DeepSeek-V3
  throughline models show DeepSeek-V3 --json > my_model.json
  throughline models import DeepSeek-V3/config.json -o my_model.json`,
		Args: subcommandOf(model.Catalogue),
		RunE: func(*cobra.Command, []string) error { return show(s, view, asJSON, report.Models) },
	}
	addOutputs(cmd, "models", map[string]any{"json": &asJSON, "wide": &view.wide})
	cmd.AddCommand(newShow(cmd, model.Catalogue, "a built-in model, a model file or a Hugging Face config.json", `  throughline models show Qwen3-32B
  throughline models show Qwen3-32B --json > my_model.json
  throughline models show DeepSeek-V3/config.json`, func(ref string, asJSON bool) error { return showModel(s, ref, asJSON) }), newModelsImport(s))
	return cmd
}

// newShow shows a file of a catalogue, or what may stand in its place.
func newShow(of *cobra.Command, set catalogue.Set, what, example string, show func(ref string, asJSON bool) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show NAME|FILE",
		Short:             "Show " + what,
		Example:           example,
		Args:              oneArgument("the name of a built-in " + strings.TrimSuffix(of.Name(), "s") + " or a file"),
		ValidArgsFunction: completeNames(set),
		RunE:              func(_ *cobra.Command, args []string) error { return show(args[0], asJSON) },
	}
	addOutputs(cmd, of.Name()+" show", map[string]any{"json": &asJSON})
	return cmd
}

func showModel(s Streams, ref string, asJSON bool) error {
	file, err := findFile(ref, model.Catalogue)
	if err != nil {
		return err
	}
	src := file.Source
	loaded, doc := model.Load(file.Name, src)
	warn(s, doc.Warnings())
	if err := doc.Err(); err != nil {
		return err
	}
	if asJSON {
		if model.IsHuggingFace(model.Parse(file.Name, src).Keys()) {
			src = loaded.File.Encode()
		}
		return write(s.data, string(src))
	}
	return write(s.Out, report.Model(table.View{Width: s.Width}, loaded)+fmt.Sprintf("To change it: throughline models show %s --json > my_model.json\n", shell.Quote(ref)))
}

func newModelsImport(s Streams) *cobra.Command {
	var out output
	var force bool
	var flags *settings
	cmd := &cobra.Command{
		Use:   "import CONFIG.JSON",
		Short: "Turn a Hugging Face config.json into a model file",
		Long: `Import turns the config.json of a Hugging Face repository into a model file. It names
what the simulation leaves out, on stderr and in the sources of the file.

A config.json also works as it is, wherever a model file does. Import it to change
something.`,
		Example: `  throughline models import DeepSeek-V3/config.json -o my_model.json
  throughline models import --name my-model --source me/my-model - < config.json`,
		Args: oneArgument("a config.json, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := flags.read()
			if err := document.Join(err, out.check(args[0])); err != nil {
				return err
			}
			f, err := importModel(s, args[0], q.Name, q.Source)
			switch {
			case err != nil:
				return err
			case out.name == "":
				return write(s.data, string(f.Encode()))
			}
			return writeFiles(cmd.Context(), s, report.Bytes(out.name, f.Encode()))
		},
	}
	flags = addSettings(cmd, question.Import)
	addOutputs(cmd, "models import", map[string]any{"output": &out, "force": &force})
	return cmd
}

// importModel converts a config.json to a model file, with an optional name and source.
func importModel(s Streams, file, name, source string) (*model.File, error) {
	file, src, err := readConfig(s, file)
	if err != nil {
		return nil, err
	}
	if keys := model.Parse(file, src).Keys(); keys != nil && !model.IsHuggingFace(keys) {
		return nil, fmt.Errorf("%s is not a Hugging Face config.json: it has none of the keys model_type, architectures, hidden_size", file)
	}
	loaded, doc := model.Load(file, src)
	warn(s, doc.Warnings())
	if err := doc.Err(); err != nil {
		return nil, err
	}
	f := &loaded.File
	f.Name = cmp.Or(name, f.Name)
	if source != "" {
		f.Sources["*"] = source
	}
	return f, nil
}

// readConfig reads what a model may be given as, or stdin for "-".
func readConfig(s Streams, name string) (string, []byte, error) {
	if name == "-" {
		src, err := document.ReadAll(s.In)
		if err != nil {
			return name, nil, document.Unreadable(files.Machine, "standard input", err)
		}
		return name, src, nil
	}
	f, err := findFile(name, model.Catalogue)
	return f.Name, f.Source, err
}

// findFile resolves the file that an argument names.
func findFile(ref string, set catalogue.Set) (catalogue.File, error) {
	f, err := set.Locate(ref, catalogue.Places{In: files.Machine})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*catalogue.NoConfig)) {
		err = document.Unreadable(files.Machine, ref, err)
	}
	return f, err
}

// subcommandOf rejects an argument that is no subcommand; with a built-in name, `show` was most
// likely meant.
func subcommandOf(set catalogue.Set) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			if _, ok := set.Name(args[0]); ok {
				return fmt.Errorf("did you mean \"%s show %s\"?", cmd.CommandPath(), args[0])
			}
		}
		return knownCommand(cmd, args)
	}
}

func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s needs %s", cmd.Name(), what)
		case len(args) > 1:
			return fmt.Errorf("%s takes one argument, but there is also %q", cmd.Name(), args[1])
		case args[0] == "":
			return errors.New("the name is empty: " + cmd.Name() + " needs " + what)
		}
		return nil
	}
}

func show[T table.Any](s Streams, view viewOptions, asJSON bool, read func() (T, error)) error {
	t, err := read()
	switch {
	case err != nil:
		return err
	case asJSON:
		return failed(t.Write(s.data, table.JSON))
	}
	return write(s.Out, t.Render(view.of(s))+"\n")
}

func write(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return failed(err)
}
