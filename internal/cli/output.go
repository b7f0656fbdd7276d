package cli

import (
	"fmt"
	"os"
)

// checkOutput refuses to write over what a command reads, or over a folder. An empty name is none.
func checkOutput(flag, name string, inputs ...string) error {
	out, err := os.Stat(name)
	if name == "" || err != nil {
		return nil // nothing there yet; what else is wrong shows when it is written
	}
	if out.IsDir() {
		return fmt.Errorf("%s: %s is a folder", flag, name)
	}
	for _, in := range inputs {
		if info, err := os.Stat(in); err == nil && os.SameFile(out, info) {
			return fmt.Errorf("%s: %s is read by this command; give the result another name", flag, name)
		}
	}
	return nil
}
