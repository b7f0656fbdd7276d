package kernel

import (
	"encoding/json"
	"strings"
)

// AddTo is a system file with the set as its last key. The rest stays as it was written, comments included.
func (s *Set) AddTo(system []byte) ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	text := string(system)
	body := strings.TrimRight(text[:max(0, strings.LastIndex(text, "}"))], " \t\r\n")
	// On a line of its own the comma is safe from a comment at the end of the last one.
	comma := ","
	if strings.HasSuffix(body, ",") {
		comma = ""
	}
	return []byte(body + "\n    " + comma + "\"kernels\": " + string(b) + "\n}\n"), nil
}
