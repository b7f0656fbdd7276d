package hardware

import (
	"embed"

	"throughline/internal/catalogue"
	"throughline/internal/names"
)

//go:embed catalogue/*.json kernels/*.json
var files embed.FS

// Kernels are the built-in calibrated kernels, by the name of the chip they were measured on.
var Kernels = catalogue.Set{What: "kernel", Files: files, Folder: "kernels"}

var Catalogue = catalogue.Set{What: "system", Files: files, Match: func(name string) (string, bool) {
	found, ok := names.System(name)
	return found.Name, ok && found.Note == ""
}}
