package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestGolden: an answer that moved is shown with its reason and a command that asks for it, and the
// exit code says so.
func TestGolden(t *testing.T) {
	t.Chdir(t.TempDir())
	src := `{"throughline": "0.1.0"}` + "\n" + `{"ask": {"model": "Llama-3.1-8B", "system": "H200", "phase": "decode"}, "figures": {"step decode s": 0.001}}` + "\n"
	if err := os.WriteFile("before.jsonl", []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) (int, string) {
		var out, messages bytes.Buffer
		code := Run(t.Context(), append([]string{"validate", "golden"}, args...), Streams{Out: &out, Err: &messages})
		return code, out.String() + messages.String()
	}
	code, said := ask("before.jsonl", "--out", "now.jsonl")
	for _, want := range []string{"0 of 1 answers of throughline 0.1.0", "facts: ", "hardware/kernels/H200.json", "throughline estimate --model=Llama-3.1-8B --phase=decode --system=H200"} {
		if code != exitLimits || !strings.Contains(said, want) {
			t.Errorf("exit code %d, without %q: %s", code, want, said)
		}
	}
	if code, said := ask("now.jsonl"); code != exitOK || !strings.HasPrefix(said, "1 of 1 answers") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, said := ask("absent.jsonl"); code != exitBadInput || !strings.Contains(said, "absent.jsonl") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, _ := ask("now.jsonl", "--out", "now.jsonl"); code != exitBadInput {
		t.Errorf("a result replaces what is read: exit code %d", code)
	}
}
