// Package version knows which build of the program this is.
package version

import (
	"runtime"
	"runtime/debug"
)

// Number is the version of the program, written into every result. A release sets it to its tag by
// the linker.
var Number = "0.2.0-dev"

// revision is the commit of a release, which the linker sets.
var revision string

// Build is what the program says of itself.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// This is the running program.
func This() Build {
	return Build{Version: Number, Revision: Revision(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// Revision is the commit the program was built from, if the build recorded it.
func Revision() string {
	if revision != "" {
		return revision
	}
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
