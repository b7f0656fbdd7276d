//go:build unix

package matrix

import (
	"archive/zip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// contents are the files below a folder, those within workbooks, too.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		src, err := os.ReadFile(path)
		out[path] = string(src)
		if z, bad := zip.OpenReader(path); bad == nil {
			defer z.Close()
			for _, f := range z.File {
				r, err := f.Open()
				if err != nil {
					return err
				}
				text, err := io.ReadAll(r)
				if err != nil {
					return err
				}
				out[path+"/"+f.Name] = string(text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSecrets: no key, token or password reaches a file or what is said, also where servers and
// clients print it; the files are the owner's alone.
func TestSecrets(t *testing.T) {
	t.Setenv("OWN_API_KEY", "own-key-5f1c")
	there := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer there.Close()
	address := strings.Replace(there.URL, "://", "://me:p@ss-77aa@", 1)
	text := "servers:\n" +
		server("s", `echo "started with $HF_TOKEN and $OWN_API_KEY"; : --api-key sk-11bb22; WANDB_API_KEY=wb-33cc44 sh -c 'echo $WANDB_API_KEY'; printf 'knows lt-66%s\n' aa77; `+up, "    environment: {HF_TOKEN: 'hf_\"55dd66', MODE: plain}\n    url: '"+address+"'\n") +
		server("bad", `echo "no such token: $HF_TOKEN"; exit 3`, "    environment: {HF_TOKEN: 'hf_\"55dd66'}\n") +
		server("later", `: --api-key lt-66aa77; `+up) + // the first has printed it before this one is started
		server("stays", `(setsid sh -c 'sleep 303; : --api-key sk-11bb22' &); `+up) +
		"clients:\n" + client("c", `echo "asks $MATRIX_URL with $X_SECRET"; echo "{\"completed\": 1, \"key\": \"$X_SECRET\"}" > "$MATRIX_RESULT"; `+printed, "    environment: {X_SECRET: value-99ee}\n") +
		"  - name: b\n    bench: {backend: vllm, header: 'Authorization=Bearer bb-00ff11, X-Team=team-22ab'}\n    servers: [s]\n"
	dir := filepath.Join(t.TempDir(), "results")
	_, said, err := runFile(t, t.Context(), dir, text, func(r *Runner) {
		r.Bench = func(options map[string]Word, result string) []string {
			if h, ok := options["header"]; ok {
				t.Errorf("everybody can read %q on the command line", h)
			}
			return []string{"sh", "-c", `echo $0 $@ "$THROUGHLINE_BENCH_HEADER" >&2; case "$THROUGHLINE_BENCH_HEADER" in *bb-00ff11*) exit 1; esac; exit 7`, "--base-url=" + string(options["base-url"])}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	all := contents(t, dir)
	all["said"] = said
	for _, secret := range []string{"own-key-5f1c", "ss-77aa", "sk-11bb22", "wb-33cc44", "55dd66", "value-99ee", "bb-00ff11", "team-22ab", "lt-66aa77"} {
		for name, text := range all {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s has %s: …%s…", name, secret, text[max(0, at-60):min(len(text), at+40)])
			}
		}
	}
	for _, want := range []string{"HF_TOKEN='***' MODE=plain echo", "--api-key ***", "http://***@127.0.0.1", "its last words: no such token: ***"} {
		if !strings.Contains(said, want) {
			t.Errorf("not said: %s\n%s", want, said)
		}
	}
	if log := all[filepath.Join(dir, "logs", "s__c.server.log")]; !strings.HasPrefix(log, "started with *** and ***\n***\nknows ***\n") {
		t.Errorf("the log is %q", log)
	}
	for name := range all {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Base(name) != lockName {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
}

// TestBadState: a state that is not this program's is refused.
func TestBadState(t *testing.T) {
	for _, text := range []string{`{"mark":"x","done":[null]}`, `{"mark":"","done":[]}`, `[]`, `{"mark":1}`, ``, `{"mark":"x","done":{}}`} {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, stateName), []byte(text), 0o666)
		if _, _, err := runFile(t, t.Context(), dir, "clients:\n"+client("c", "true")); err == nil || !strings.Contains(err.Error(), "is not what this program writes") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
