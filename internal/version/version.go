// Package version knows which build of the program this is.
package version

import "runtime/debug"

// Number is the version of the program, written into every result.
const Number = "0.1.0"

// Revision is the commit the program was built from, if the build recorded it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
