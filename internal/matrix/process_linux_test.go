package matrix

import (
	"os/exec"
	"strings"
	"testing"
)

// TestOrphans: grandchildren that have left their group are found: by the mark in their environment, and, where they have none,
// as orphans that this program adopts.
func TestOrphans(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	for name, command := range map[string]string{
		"session":  "setsid sleep 301 & echo all is up; exec sleep 300",
		"daemon":   "(setsid env -i sleep 301 &) ; echo all is up; exec sleep 300",
		"stubborn": `(setsid sh -c "trap '' TERM; sleep 301; sleep 301" &) ; echo all is up; exec sleep 300`,
	} {
		t.Run(name, func(t *testing.T) {
			results, said, err := runs(t, t.Context(), t.TempDir(), "servers:\n"+strings.ReplaceAll(server("s", command), "10s", "1s")+"clients:\n"+client("c", "sleep 0.3;"+printed))
			if err != nil || len(results) != 1 || results[0].Verdict != Done || !strings.Contains(strings.Join(results[0].Notes, ""), "left its process group and was ended: ") {
				t.Fatalf("%+v, %v\n%s", results, err, said)
			}
			for _, p := range processes() {
				if strings.Contains(nameOf(p.pid), "sleep 301") && !p.zombie {
					t.Errorf("%s is left", nameOf(p.pid))
				}
			}
		})
	}
}
