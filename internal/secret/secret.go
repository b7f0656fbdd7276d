// Package secret keeps keys and passwords out of what is written and printed: it recognises
// settings that hold them, and replaces their values wherever they appear.
package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mask stands in the place of a secret.
const Mask = "***"

// shortest is the length from which a value is searched for: shorter ones, such as "1" or "true",
// are found in any text, and are only hidden where they are given.
const shortest = 6

// endings of words that name a secret: HF_TOKEN, X-Api-Key, PGPASSWORD, DB_PASS, but neither
// TOKENIZERS_PARALLELISM nor BYPASS.
var endings = regexp.MustCompile(`(?i)(token|keys?|secrets?|passwords?|passwd|pwd|passphrase|passcode|credentials?|authorization|auth|cookies?|^pass|^pat)$`)

// folders are the variables in which a shell keeps its folder and the one before.
var folders = []string{"PWD", "OLDPWD"}

// Named reports whether a variable, a header or an option holds a secret.
func Named(name string) bool {
	return !slices.Contains(folders, name) && slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), endings.MatchString)
}

// Set is values to hide.
type Set struct {
	values   []string
	replacer *strings.Replacer
}

// Add adds a value; of one like "Bearer KEY", also the key by itself.
func (s *Set) Add(value string) {
	value = strings.TrimSpace(value)
	if _, key, ok := strings.Cut(value, " "); ok {
		s.Add(key)
	}
	if len(value) < shortest {
		return
	}
	forms := []string{value, inJSON(value), url.QueryEscape(value), url.PathEscape(value)}
	for _, form := range forms {
		if !slices.Contains(s.values, form) {
			s.values = append(s.values, form)
		}
	}
	// The longest first: one may be a part of another.
	slices.SortStableFunc(s.values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range s.values {
		pairs = append(pairs, v, Mask)
	}
	s.replacer = strings.NewReplacer(pairs...)
}

// inJSON is a text as it stands between the quotes of JSON.
func inJSON(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return text
	}
	return strings.Trim(strings.TrimSpace(b.String()), `"`)
}

// Variable adds the value of a secret setting by its name, and returns what may be shown.
func (s *Set) Variable(name, value string) string {
	if Named(name) {
		s.Add(value)
		return Mask
	}
	return s.Line(value)
}

// Environment adds the secrets among variables like NAME=value.
func (s *Set) Environment(all []string) {
	for _, v := range all {
		name, value, _ := strings.Cut(v, "=")
		s.Variable(name, value)
	}
}

// userinfo is the user and password of an address, which end at its last @.
var userinfo = regexp.MustCompile(`(\b[A-Za-z][A-Za-z0-9+.-]*://)([^\s/?#'"]+)@`)

// URL adds the password of an address, and returns the address without it.
func (s *Set) URL(address string) string {
	return userinfo.ReplaceAllStringFunc(address, func(found string) string {
		m := userinfo.FindStringSubmatch(found)
		user, password, ok := strings.Cut(m[2], ":")
		if !ok {
			password = user // a key in place of a user
		}
		s.Add(password)
		plain, err := url.PathUnescape(password)
		name, err2 := url.PathUnescape(user)
		if err == nil && err2 == nil {
			s.Add(plain)
			s.Add(base64.StdEncoding.EncodeToString([]byte(name + ":" + plain)))
		}
		return m[1] + Mask + "@"
	})
}

// Shown is what may be shown of a malformed address: nothing before its last @.
func Shown(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return Mask + address[i:]
	}
	return address
}

// login is the password of a user, as given to curl; two numbers are a user and a group.
var login = regexp.MustCompile(`((?:^|\s)(?:-u|--user|--proxy-user)[\s=]+["']?[^\s:"'/]+:)([^\s"']*[^\s"'0-9][^\s"']*)`)

func (s *Set) login(line string) string {
	return login.ReplaceAllStringFunc(line, func(found string) string {
		m := login.FindStringSubmatch(found)
		s.Add(m[2])
		return m[1] + Mask
	})
}

// given is a setting within a line: its name, a separator, and its value, possibly in quotes.
var given = regexp.MustCompile(`(-{0,2}[A-Za-z][\w.-]*)(["']?\s*[=:]\s*|\s+)("(?:[^"\\]|\\.)*"|'[^']*'|(?:(?i:bearer|basic|token)\\?\s+)?[^\s"';&|]+)`)

// Line adds the secrets in a command line, as assignments, options, headers or in addresses, and
// returns the line without them.
func (s *Set) Line(line string) string {
	line = s.login(s.URL(line))
	var out strings.Builder
	for line != "" {
		m := given.FindStringSubmatchIndex(line)
		if m == nil {
			break
		}
		name, between, value := line[m[2]:m[3]], line[m[4]:m[5]], line[m[6]:m[7]]
		option := strings.HasPrefix(name, "-")
		if !Named(name) || strings.TrimSpace(between) == "" && !option || strings.HasPrefix(strings.Trim(value, `"`), "$") {
			out.WriteString(line[:m[5]]) // the value may be a name itself
			line = line[m[5]:]
			continue
		}
		end := m[7]
		if strings.Contains(between, ":") && value[0] != '"' && value[0] != '\'' { // a header goes on to the end of its quotes
			if n := strings.IndexAny(line[m[6]:], "\"'\n"); n >= 0 {
				end = m[6] + n
			} else {
				end = len(line)
			}
		}
		s.Add(strings.Trim(line[m[6]:end], `"'`))
		out.WriteString(line[:m[6]] + Mask)
		line = line[end:]
	}
	return s.Redact(out.String() + line)
}

// Words adds the secrets in the words of a command, headers included, and hides them.
func (s *Set) Words(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		name, value, assigned := strings.Cut(w, "=")
		header, content, _ := strings.Cut(value, "=")
		switch {
		case assigned && Named(name):
			s.Add(value)
			out[i] = name + "=" + Mask
		case assigned && strings.TrimLeft(name, "-") == "header":
			s.Add(content)
			out[i] = name + "=" + header + "=" + Mask
		case i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=") && Named(words[i-1]):
			s.Add(w)
			out[i] = Mask
		case i > 0 && !strings.Contains(words[i-1], "=") && login.MatchString(words[i-1]+" "+w):
			user, password, _ := strings.Cut(w, ":")
			s.Add(password)
			out[i] = user + ":" + Mask
		default:
			out[i] = s.Line(w)
		}
	}
	return out
}

func (s *Set) Redact(text string) string {
	if s == nil || s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// File hides the secrets in a file, which only its owner may read then. It may be missing.
func (s *Set) File(name string) error {
	in, err := os.Open(name)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(name), ".redacted-*") // readable by its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	if err := s.copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}

// copy copies a stream of any length without the secrets.
func (s *Set) copy(to io.Writer, from io.Reader) error {
	const chunk = 1 << 20
	longest := 1
	if len(s.values) > 0 {
		longest = len(s.values[0])
	}
	buf, held := make([]byte, chunk+longest), 0
	for {
		n, err := io.ReadFull(from, buf[held:])
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return err
		}
		text := s.Redact(string(buf[:held+n]))
		send := len(text)
		if !last {
			send = max(0, send-longest+1) // the rest may be the beginning of a secret
		}
		if _, err := io.WriteString(to, text[:send]); err != nil || last {
			return err
		}
		held = copy(buf, text[send:])
	}
}
