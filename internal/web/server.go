// Package web is the page of the program: views of answers in a browser, and the same answers as
// JSON for other programs. It opens no files and writes none.
package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"throughline"
	"throughline/internal/validate"
)

type Options struct {
	Key   string            // that requests must know; empty: one drawn at random
	Files map[string][]byte // that questions may name, besides what is built in
	Hosts []string          // names by which it may be called, besides those of the machine itself
	Log   io.Writer         // where failures of its own are told
	// Deadline of an answer; 0: ten seconds. Simulated searches have a longer one.
	Deadline time.Duration
}

// Server answers requests.
type Server struct {
	key          string
	cookie       string
	hosts        map[string]bool
	log          io.Writer
	files        map[string][]byte
	deadline     time.Duration
	work         *work
	drawn        *recent[drawing]
	answered     *recent[*systemPlan] // by its words, for the same question with another row open or pinned
	uploads      *recent[upload]
	receiving    chan struct{}                   // uploads under way
	cells        *recent[cells]                  // of maps that are images
	measuredRuns *recent[[]*validate.Row]        // of files, by their names and questions
	glances      *recent[*glance]                // by the words of their deployments
	known        *recent[*throughline.Estimated] // deployments that are pinned or changed, by their words
}

// Bounds of what requests may take.
const (
	usualDeadline = 10 * time.Second
	longDeadline  = 10 * time.Minute
	headerTime    = 5 * time.Second
	idleTime      = time.Minute
	readTime      = time.Minute
	writeTime     = time.Minute            // for what is written at once
	endTime       = 500 * time.Millisecond // for open requests when the server ends
	mostHeader    = 64 << 10
	mostText      = 1 << 20 // of pasted text and questions
	mostUpload    = 64 << 20
	keptUploads   = 32
	keptDrawings  = 64
	keptPlans     = 16
	keptKnown     = 64
	keptGlances   = 16
	keptCells     = 16
	keptRuns      = 8
	mostOpen      = 512 // connections
)

func NewServer(o Options) *Server {
	s := &Server{key: o.Key, cookie: "throughline", log: o.Log, files: o.Files, hosts: map[string]bool{}, deadline: o.Deadline}
	if s.key == "" {
		s.key = secretText(24)
	}
	if s.deadline == 0 {
		s.deadline = usualDeadline
	}
	for _, h := range append([]string{"localhost", "127.0.0.1", "::1"}, o.Hosts...) {
		s.hosts[strings.ToLower(h)] = true
	}
	cores := runtime.GOMAXPROCS(0)
	s.work = newWork(cores, 4*cores)
	s.answered = newRecent[*systemPlan](keptPlans)
	s.measuredRuns = newRecent[[]*validate.Row](keptRuns)
	s.cells = newRecent[cells](keptCells)
	s.glances = newRecent[*glance](keptGlances)
	s.known = newRecent[*throughline.Estimated](keptKnown)
	s.receiving = make(chan struct{}, cores)
	s.drawn, s.uploads = newRecent[drawing](keptDrawings), newRecent[upload](keptUploads)
	return s
}

// secretText is random text of so many bytes.
func secretText(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// First is the address to open, with the key that its browser then keeps.
func (s *Server) First(base string) string { return strings.TrimSuffix(base, "/") + "/?key=" + s.key }

// Serve answers requests on a listener until the context ends, and open ones a moment longer.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if a, ok := l.Addr().(*net.TCPAddr); ok { // cookies know no ports, and there may be two servers
		s.cookie = fmt.Sprintf("throughline-%d", a.Port)
	}
	h := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, ReadTimeout: readTime, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(&bounded{Listener: l, free: make(chan struct{}, mostOpen)}) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if err := h.Shutdown(patient); errors.Is(err, context.DeadlineExceeded) {
		h.Close()
	}
	return ctx.Err()
}

// bounded closes connections beyond a number at once.
type bounded struct {
	net.Listener
	free chan struct{}
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.free <- struct{}{}:
			return &counted{Conn: c, of: b}, nil
		default:
			c.Close()
		}
	}
}

// counted gives its place back once.
type counted struct {
	net.Conn
	of   *bounded
	once sync.Once
}

// Write gives up on clients that take nothing for long.
func (c *counted) Write(p []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(writeTime))
	return c.Conn.Write(p)
}

func (c *counted) Close() error {
	c.once.Do(func() { <-c.of.free })
	return c.Conn.Close()
}

// Handler answers all requests, guarded.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/{file}", assets())
	mux.HandleFunc("GET /{$}", s.home)
	for _, v := range views {
		mux.HandleFunc("GET /"+v.path, s.view(v))
		mux.HandleFunc("GET /"+v.path+"/{file}", s.file(v))
	}
	mux.HandleFunc("GET /why/frame", s.frame)
	mux.HandleFunc("GET /map/cell", s.cell)
	mux.HandleFunc("GET /load/curve", s.curve)
	mux.HandleFunc("GET /load/requests", s.requests)
	mux.HandleFunc("POST /uploads", s.receive)
	mux.HandleFunc("POST /catalogue", s.paste)
	s.programs(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.missing(w, r, mux) })
	return s.guarded(http.NewCrossOriginProtection().Handler(mux))
}

// missing answers a request that nothing is there for: there is no such page, or the page is asked
// for in another way.
func (s *Server) missing(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := *r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "/" {
			methods = append(methods, method)
		}
	}
	if methods == nil {
		s.fail(w, r, http.StatusNotFound, errors.New("there is no such page"))
		return
	}
	allowed := strings.Join(methods, ", ")
	w.Header().Set("Allow", allowed)
	s.fail(w, r, http.StatusMethodNotAllowed, fmt.Errorf("this page takes %s, not %s", allowed, r.Method))
}
