// Package cloud is a stand-in for S3, for tests.
package cloud

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Service is as much of S3 as a store uses, with one bucket of the name bucket.
type Service struct {
	lock    sync.Mutex
	objects map[string][]byte
	guarded bool // refuses a second object of a name
	refused map[string]int
}

// New is an empty bucket; guarded: it refuses a second object of a name.
func New(guarded bool) *Service {
	return &Service{objects: map[string][]byte{}, guarded: guarded, refused: map[string]int{}}
}

// Start serves the bucket, and points the environment of a test at it.
func (s *Service) Start(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
}

// Object is the content of an object.
func (s *Service) Object(key string) []byte {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.objects[key]
}

// Keys of all objects, in order.
func (s *Service) Keys() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Refused is how often objects were refused whose keys contain a text.
func (s *Service) Refused(part string) (n int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for key, times := range s.refused {
		if strings.Contains(key, part) {
			n += times
		}
	}
	return n
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("location"):
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case key == "" && r.Method == http.MethodHead:
	case key == "" && r.Method == http.MethodGet:
		s.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodPut:
		if _, there := s.objects[key]; there && s.guarded && r.Header.Get("If-None-Match") == "*" {
			s.refused[key]++
			w.WriteHeader(http.StatusPreconditionFailed)
			fmt.Fprint(w, `<Error><Code>PreconditionFailed</Code></Error>`)
			return
		}
		data, err := body(r)
		if err != nil { // of a client that was killed: an object is whole or absent
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.objects[key] = data
		w.Header().Set("ETag", `"x"`)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		data, there := s.objects[key]
		if !there {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
			return
		}
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.Write(data)
	}
}

func (s *Service) list(w io.Writer, prefix string) {
	type object struct{ Key string }
	out := struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}{}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(key, prefix) {
			out.Contents = append(out.Contents, object{key})
		}
	}
	xml.NewEncoder(w).Encode(out)
}

// body is the content of a request, which may come in signed chunks, the last of which is empty.
func body(r *http.Request) (out []byte, err error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	for in := bufio.NewReader(r.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, bad := strconv.ParseInt(size, 16, 64)
		if bad != nil {
			return nil, bad
		}
		if n == 0 {
			return out, nil
		}
		chunk := make([]byte, n)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		out = append(out, chunk...)
		if _, err := in.ReadString('\n'); err != nil {
			return nil, err
		}
	}
}
