package secret

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	for name, want := range map[string]bool{
		"HF_TOKEN": true, "Authorization": true, "X-Api-Key": true, "--api-key": true, "PGPASSWORD": true, "AWS_SECRET_ACCESS_KEY": true, "API_KEYS": true, "Cookie": true, "OPENAI_API_KEY_2": true, "apikey": true, "DB_PASS": true, "--pass": true, "GITHUB_PAT": true, "PASSCODE": true,
		"TOKENIZERS_PARALLELISM": false, "MAX_TOKENS": false, "--max-num-batched-tokens": false, "CUDA_VISIBLE_DEVICES": false, "KEYBOARD": false, "X-Team": false, "BYPASS": false, "COMPAT": false, "PATH": false, "PWD": false, "OLDPWD": false, "DB_PWD": true,
	} {
		if Named(name) != want {
			t.Errorf("%s is a secret: %v", name, !want)
		}
	}
}

// TestLine: command lines are shown without what they give in secret, whichever way, and the values
// are known from then on.
func TestLine(t *testing.T) {
	for line, want := range map[string]string{
		"HF_TOKEN=hf_abcdef vllm serve m --tp 2":                             "HF_TOKEN=*** vllm serve m --tp 2",
		"serve --api-key sk-abcdef --port 1":                                 "serve --api-key *** --port 1",
		"serve --api-key=sk-abcdef":                                          "serve --api-key=***",
		`serve --api-key 'sk abcdef' x`:                                      "serve --api-key *** x",
		`curl -H "Authorization: Bearer sk-abcdef" http://h`:                 `curl -H "Authorization: ***" http://h`,
		`curl -H 'X-Api-Key: sk-abcdef' http://h`:                            `curl -H 'X-Api-Key: ***' http://h`,
		"bench --base-url http://me:hunter2@h:1/v1":                          "bench --base-url http://***@h:1/v1",
		"bench --base-url http://me:hun@ter:2@h:1/v1":                        "bench --base-url http://***@h:1/v1",
		"curl -u me:hunter2 -s http://a@h --user='me:hunter3'":               "curl -u me:*** -s http://***@h --user='me:***'",
		"docker run -u 1000:1000 x; python3 -u srv.py":                       "docker run -u 1000:1000 x; python3 -u srv.py",
		"bench --base-url http://me:h@h:1":                                   "bench --base-url http://***@h:1",
		`bench --extra '{"api_key": "sk-abcdef", "n": 1}'`:                   `bench --extra '{"api_key": ***, "n": 1}'`,
		`serve --api-key "$KEY" --max-tokens 5 --served-model-name a`:        `serve --api-key "$KEY" --max-tokens 5 --served-model-name a`,
		"export TOKENIZERS_PARALLELISM=false; python3 -m sglang.x --tp 4":    "export TOKENIZERS_PARALLELISM=false; python3 -m sglang.x --tp 4",
		"bench --header=Authorization=Bearer\\ sk-abcdef --api-key=\"a\" -x": "bench --header=Authorization=*** --api-key=*** -x",
	} {
		s := &Set{}
		if got := s.Line(line); got != want {
			t.Errorf("%s\nis shown as\n%s, want\n%s", line, got, want)
		}
	}
	s := &Set{}
	s.Line(`curl -u x -H "Authorization: Bearer sk-abcdef" http://me:hunter%212@h`)
	if got := s.Redact("sk-abcdef hunter!2 hunter%212 bWU6aHVudGVyITI= me"); got != "*** *** *** *** me" {
		t.Error(got)
	}
}

// TestWords: the same of commands in words, which may hold spaces.
func TestWords(t *testing.T) {
	s := &Set{}
	got := s.Words([]string{"serve", "--api-key", "sk-abcdef", "--tp", "2", "--header=Authorization=Bearer key of mine", "--header=X-Team=blue", "--user=me:hunter5", "--password=two words", "http://me:hunter2@h", "-u", "me:two 3", "-x"})
	want := []string{"serve", "--api-key", Mask, "--tp", "2", "--header=Authorization=" + Mask, "--header=X-Team=" + Mask, "--user=me:" + Mask, "--password=" + Mask, "http://" + Mask + "@h", "-u", "me:" + Mask, "-x"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := s.Redact("sk-abcdef|key of mine|two words|hunter2|blue"); got != "***|***|***|***|blue" {
		t.Error(got)
	}
}

// TestAdd: values are found as they are, in JSON and in addresses; those that any text has are not
// searched for.
func TestAdd(t *testing.T) {
	s := &Set{}
	s.Add(`Bearer a"b\c&d/e`)
	s.Add("true")
	if got := s.Redact(`Bearer a"b\c&d/e, a"b\c&d/e, "a\"b\\c&d/e", ?k=a%22b%5Cc%26d%2Fe, true`); got != `***, ***, "***", ?k=***, true` {
		t.Error(got)
	}
	if s.Variable("HF_HUB_TOKEN", "true") != Mask || s.Variable("MODE", "true") != "true" {
		t.Error("a short secret is shown where it is given, or a variable hidden")
	}
}

// TestFile: secrets are taken out of files of any length, wherever these are cut.
func TestFile(t *testing.T) {
	s := &Set{}
	s.Add("hf_0123456789")
	name := filepath.Join(t.TempDir(), "log")
	for shift := range 15 {
		text := strings.Repeat(".", 1<<20-shift) + "hf_0123456789" + strings.Repeat(".", 1<<20+13) + "hf_0123456789"
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.File(name); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != strings.ReplaceAll(text, "hf_0123456789", Mask) {
			t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := s.File(name + ".gone"); err != nil {
		t.Error(err)
	}
}

// TestShown: what is refused as an address may hold a password all the same.
func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"localhost:8000": "localhost:8000", "me:hunter2@h:1": "***@h:1", "//me:hunter2@h": "***@h", "http://me:hun/ter2@h/v1": "***@h/v1", "http://me:hun ter2@h": "***@h",
	} {
		if got := Shown(text); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}
