package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// output is the file that a command writes its result to.
type output struct {
	flag  string // as it is written on the command line
	name  string
	force bool
}

// flags adds the flag that names the file, and the one that lets it be an input.
func (o *output) flags(cmd *cobra.Command, name, short, doc string) {
	o.flag = "--" + name
	if short != "" {
		o.flag = "-" + short
	}
	cmd.Flags().StringVarP(&o.name, name, short, "", doc)
	cmd.Flags().BoolVar(&o.force, "force", false, "let the result replace a file that is read")
}

// check refuses to write over what a command reads, unless that is wanted, or over a folder.
func (o *output) check(inputs ...string) error {
	out, err := os.Stat(o.name)
	if o.name == "" || err != nil {
		return nil // nothing there yet; what else is wrong shows when it is written
	}
	if out.IsDir() {
		return fmt.Errorf("%s: %s is a folder", o.flag, o.name)
	}
	for _, in := range inputs {
		in = strings.TrimPrefix(in, "trace:")
		if info, err := os.Stat(in); err == nil && info.Mode().IsRegular() && os.SameFile(out, info) && !o.force {
			return fmt.Errorf("%s: %s is read by this command; give the result another name, or --force to replace it", o.flag, o.name)
		}
	}
	return nil
}

// unlike refuses two outputs in one file, of which one would be lost.
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
