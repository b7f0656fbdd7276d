package scan

import (
	"throughline/internal/document"
)

func ReadFile(name string, src []byte) (*Request, error) {
	doc := document.Parse(name, src)
	var r Request
	doc.Decode(&r)
	return &r, doc.Err()
}
