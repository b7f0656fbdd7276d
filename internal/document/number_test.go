package document

import (
	"strings"
	"testing"
)

// A number is changed where it stands; everything else keeps its bytes.
func TestChangeNumber(t *testing.T) {
	src := "{ // a chip\n  \"mem\": {\"GBps\": 4.8e3, \"GiB\": 141},\n  \"nets\": [{\"size\": 8}, {\"size\": 64}]\n}"
	for path, want := range map[string]string{
		"mem.GBps":     strings.Replace(src, "4.8e3", "9600", 1),
		"nets[1].size": strings.Replace(src, "64", "128", 1),
	} {
		got, err := ChangeNumber("chip", []byte(src), path, func(was float64) float64 { return 2 * was })
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", path, err, got)
		}
	}
	for path, want := range map[string]string{
		"mem.Gbps": `chip has no number "mem.Gbps"; did you mean "mem.GBps"?`,
		"clock":    `chip has no number "clock"; it has "mem.GBps", "mem.GiB", "nets[0].size", "nets[1].size"`,
	} {
		if _, err := ChangeNumber("chip", []byte(src), path, func(was float64) float64 { return was }); err == nil || err.Error() != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
