package web

import (
	"compress/gzip"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"unicode"
)

// policy lets a page load what the server itself sends, and nothing run that stands inside it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guarded lets requests through that call the server by its name and know its key, and keeps it
// alive whatever they do.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "private, no-cache")
		defer s.caught(w, r)
		switch {
		case !s.hosts[hostOf(r.Host)]:
			http.Error(w, fmt.Sprintf("403: this server is not called %q", r.Host), http.StatusForbidden)
		case s.introduced(w, r):
		case !s.knows(r):
			s.fail(w, r, http.StatusForbidden, errors.New("the key is missing: open the address that the terminal shows, or send it as Authorization: Bearer"))
		default:
			c := compressed(w, r)
			defer c.Close()
			next.ServeHTTP(c, r)
		}
	})
}

// hostOf is a host without its port and brackets.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// introduced takes the key out of the first address and keeps it in a cookie.
func (s *Server) introduced(w http.ResponseWriter, r *http.Request) bool {
	given := r.URL.Query().Get("key")
	if given == "" || r.Method != http.MethodGet || !s.matches(given) {
		return false
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	to := *r.URL
	q := to.Query()
	q.Del("key")
	to.RawQuery = q.Encode()
	redirect(w, to.RequestURI())
	return true
}

// redirect leads to another page of this server, whatever the address looks like: browsers leave
// out controls in it, and take backslashes for slashes.
func redirect(w http.ResponseWriter, to string) {
	to = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, to)
	w.Header().Set("Location", "/"+strings.TrimLeft(to, "/\\ "))
	w.WriteHeader(http.StatusSeeOther)
}

func (s *Server) matches(key string) bool {
	return subtle.ConstantTimeCompare([]byte(key), []byte(s.key)) == 1
}

func (s *Server) knows(r *http.Request) bool {
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return s.matches(key)
	}
	c, err := r.Cookie(s.cookie)
	return err == nil && s.matches(c.Value)
}

// caught answers a request that failed by a mistake of the program, under a number that the log
// has, too.
func (s *Server) caught(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil || v == http.ErrAbortHandler {
		return
	}
	id := secretText(6)
	if s.log != nil {
		fmt.Fprintf(s.log, "failure %s: %s %s: %v\n%s", id, r.Method, r.URL.Path, v, debug.Stack())
	}
	s.fail(w, r, http.StatusInternalServerError, fmt.Errorf("the program has a mistake; its log has more under %s", id))
}

// compressing writes what the client takes compressed.
type compressing struct {
	http.ResponseWriter
	zip   *gzip.Writer
	begun bool
}

var zips = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compressed(w http.ResponseWriter, r *http.Request) *compressing {
	c := &compressing{ResponseWriter: w}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		c.zip = zips.Get().(*gzip.Writer)
		c.zip.Reset(w)
	}
	return c
}

func (c *compressing) WriteHeader(status int) {
	if c.begun {
		return
	}
	c.begun = true
	h := c.Header()
	kind := h.Get("Content-Type")
	text := strings.HasPrefix(kind, "text/") && kind != eventStream || strings.HasPrefix(kind, "application/json") || kind == "image/svg+xml"
	if c.zip != nil && text && status != http.StatusNotModified && status != http.StatusSeeOther {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		h.Del("Content-Length")
	} else {
		c.drop()
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressing) drop() {
	if c.zip != nil {
		zips.Put(c.zip)
		c.zip = nil
	}
}

func (c *compressing) Write(p []byte) (int, error) {
	if !c.begun {
		c.WriteHeader(http.StatusOK)
	}
	if c.zip != nil {
		return c.zip.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// Flush sends what there is.
func (c *compressing) Flush() {
	if c.zip != nil && c.begun {
		c.zip.Flush()
	}
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Close ends the compressed text, where there is any.
func (c *compressing) Close() {
	if c.zip != nil && c.begun {
		c.zip.Close()
	}
	c.drop()
}
