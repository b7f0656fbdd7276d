// Package pages tests the page in a real browser: scripts/browser.sh installs one, and axe-core,
// which looks for barriers.
package pages

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"throughline/internal/web"
)

// browser is the program to run; without one tests are skipped, and say so.
func browser(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("THROUGHLINE_BROWSER"), "chromium", "google-chrome", "chromium-browser"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("no browser: scripts/browser.sh installs one, THROUGHLINE_BROWSER names it")
	return ""
}

// served is a server and a browser that knows its key.
type served struct {
	base, first string
	ctx         context.Context

	mu   sync.Mutex
	said []string // what the console complains about, and requests that leave the server
}

func serve(t testing.TB, width, height int64) *served {
	t.Helper()
	path := browser(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	server := web.NewServer(web.Options{Log: os.Stderr, Deadline: 2 * time.Minute}) // the machine may be busy
	go server.Serve(ctx, l)
	s := &served{base: "http://" + l.Addr().String()}
	s.first = server.First(s.base)
	ctx, cancel = chromedp.NewExecAllocator(ctx, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(int(width), int(height)), chromedp.Flag("hide-scrollbars", true))
	t.Cleanup(cancel)
	s.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(s.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatal(err)
	}
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(s.ctx, log.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(s.ctx, network.Enable, network.EnableParams{}); return err },
	} {
		if err := enable(); err != nil {
			t.Fatal(err)
		}
	}
	heard, asked, printed := chromedp.Events(s.ctx, log.EntryAdded), chromedp.Events(s.ctx, network.RequestWillBeSent), chromedp.Console(s.ctx)
	go func() {
		for e, err := range heard {
			if err == nil && e.Entry != nil && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
				s.complain(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	}()
	go func() {
		for e, err := range asked {
			if err == nil && e.Request != nil && !strings.HasPrefix(e.Request.URL, s.base) && !strings.HasPrefix(e.Request.URL, "data:") {
				s.complain("a request to " + e.Request.URL)
			}
		}
	}()
	go func() {
		for m, err := range printed {
			if err == nil {
				s.complain(m.String())
			}
		}
	}()
	s.run(t, chromedp.Navigate(s.first))
	return s
}

func (s *served) complain(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, text)
}

// complaints are what was said since the last time.
func (s *served) complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.said
	s.said = nil
	return out
}

type action = chromedp.Action[chromedp.Void]

// patience is how long a step in the browser may take: the machine may be busy.
const patience = 3 * time.Minute

// run does something in the browser.
func (s *served) run(t testing.TB, actions ...action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// get is a value from the page.
func get[T any](t testing.TB, s *served, a chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for {
		v, err := chromedp.Run(ctx, a)
		switch {
		case err == nil:
			return v
		case strings.Contains(err.Error(), "context with specified id"): // between two pages there is none to ask
			time.Sleep(20 * time.Millisecond)
		default:
			t.Fatal(err)
		}
	}
}

// scheme sets what the user prefers.
func (s *served) scheme(t testing.TB, name string) {
	t.Helper()
	if _, err := chromedp.Call(s.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}); err != nil {
		t.Fatal(err)
	}
}

// open shows a page, with the parts that follow.
func (s *served) open(t testing.TB, path string) {
	t.Helper()
	s.run(t, chromedp.Navigate(s.base+path))
	s.settled(t)
}

func (s *served) settled(t testing.TB) {
	t.Helper()
	get(t, s, chromedp.Poll[bool](`document.readyState === "complete" && !document.querySelector("[data-phase]")`, chromedp.WithPollingTimeout(patience)))
}

// views are an address of each view, quick to answer, and the same with more to see.
var views = []struct{ name, path, rich string }{
	{"home", "/", ""},
	{"choose", "/choose?gpus=2&isl=256&mode=agg&model=Llama-3.1-8B&osl=32&system=H200,L40S&tpot=50ms", "/choose?gpus=32&isl=4000&model=DeepSeek-V3&osl=1000&system=H200,B200&tpot=50ms"},
	{"pinned", "/choose?gpus=2&isl=256&mode=agg&model=Llama-3.1-8B&osl=32&system=H200&pin=" + url.QueryEscape("batch=8&isl=256&model=Llama-3.1-8B&osl=32&system=H200&engine=vllm&tp=2"), ""},
	{"none", "/choose?gpus=1&model=DeepSeek-V3&system=L4", ""},
	{"wrong", "/choose?gpuz=3&model=Llama-3.1-70B&system=H201", ""},
	{"why", "/why?batch=64&model=Llama-3.1-8B&system=H200&tp=2&sys.mem1.GBps=6000", "/why?batch=64&dp=16&engine=sglang&model=DeepSeek-V3&system=H200&isl=4000&osl=1000"},
	{"load", "/load?isl=512&model=Llama-3.1-8B&num-prompts=100&osl=16&rate=20&system=H200&ttft=p99:500ms", "/load?isl=512&model=Llama-3.1-8B&osl=64&rate=40&system=H200&ttft=p99:100ms"},
	{"map", "/map?gpus=1&isl=64,128&mode=agg&model=Llama-3.1-8B&osl=4,8&system=H100_SXM&engine=vllm", "/map?gpus=2&isl=512,1024,2048,4096&mode=agg&model=Qwen3-32B&osl=128,256,512,1024&system=H100_SXM"},
	{"chips", "/chips?batch=16&model=Llama-3.1-8B&system=H200&vary=" + url.QueryEscape("sys.mem1.GBps=x0.5:x2:9,batch=1,4,16,64,128"), ""},
	{"compare", "/compare?concurrency=8&engine=vllm&isl=64&osl=16&measured=tpot%3D9ms&model=Llama-3.1-8B&system=H200&pin=" +
		url.QueryEscape("batch=8&isl=256&model=Llama-3.1-8B&osl=32&system=H200&engine=vllm&tp=2") + "&pin=" + url.QueryEscape("batch=8&isl=256&model=Llama-3.1-8B&osl=32&system=H200&engine=vllm"), ""},
	{"catalogue", "/catalogue", ""},
	{"system", "/catalogue?kind=systems&name=H200", ""},
	{"engines", "/catalogue?kind=engines", ""},
}

// TestShots takes pictures of all views where a folder is named, to be looked at.
func TestShots(t *testing.T) {
	folder := os.Getenv("THROUGHLINE_SHOTS")
	if folder == "" {
		t.Skip("THROUGHLINE_SHOTS names no folder")
	}
	for _, width := range []int64{1280, 390} {
		s := serve(t, width, 900)
		for _, v := range views {
			if only := os.Getenv("THROUGHLINE_SHOT"); only != "" && !strings.Contains(only, v.name) {
				continue
			}
			for _, of := range []string{"light", "dark"} {
				if width == 390 && of == "dark" {
					continue
				}
				s.scheme(t, of)
				s.open(t, cmp.Or(v.rich, v.path))
				s.run(t, chromedp.Sleep(200*time.Millisecond))
				shot := get(t, s, chromedp.FullScreenshot(100))
				if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", v.name, width, of)), shot, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, c := range s.complaints() {
			t.Log(c)
		}
	}
}
