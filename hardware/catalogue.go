package hardware

import (
	"embed"

	"throughline/internal/catalogue"
)

//go:embed catalogue/*.json
var files embed.FS

// Catalogue is the system files that are built into the program.
var Catalogue = catalogue.Set{Files: files}
