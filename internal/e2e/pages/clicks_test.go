package pages

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"throughline/internal/test/long"
)

// clickable does one of the things that can be done on a page, by a number, and says which: links
// that stay here, words of the question, menus, sliders, buttons. Files are left out.
const clickable = `(n => {
	const all = [...document.querySelectorAll('a[href^="/"], summary, select[data-go], input[type=range], button:not([data-language])')].filter(e => {
		const to = e.getAttribute("href") ?? "";
		return !to.startsWith("/api/") && !/^\/\w+\/[\w.]+\?/.test(to) && e.type !== "submit" && e.getBoundingClientRect().width > 0;
	});
	if (!all.length) { location.assign("/"); return "nothing"; }
	const e = all[n % all.length];
	if (e.localName === "select") { e.selectedIndex = n % e.options.length; e.dispatchEvent(new Event("change", {bubbles: true})); }
	else if (e.type === "range") { e.value = n % 101; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); }
	else if (e.ownerSVGElement) e.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, shiftKey: n % 5 === 0}));
	else e.click();
	return e.localName + " " + (e.getAttribute("href") ?? e.id ?? "").slice(0, 80);
})`

// TestClicks: whoever clicks about, for a while or, at full length, for an hour, finds no page that
// complains, and the server keeps neither memory nor goroutines.
func TestClicks(t *testing.T) {
	lasts := 20 * time.Second
	if long.Mode() {
		lasts = time.Hour
	}
	if text := os.Getenv("THROUGHLINE_CLICKS"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, 1280, 900)
	draw := rand.New(rand.NewPCG(1, 2))
	var heaps, routines []float64
	began, clicks := time.Now(), 0
	starts := []string{views[1].path, views[5].path, views[2].path, "/"}
	for time.Since(began) < lasts {
		if clicks%40 == 0 { // not for ever on the same page
			s.open(t, starts[clicks/40%len(starts)])
		}
		did := get(t, s, chromedp.Evaluate[string](fmt.Sprintf("%s(%d)", clickable, draw.IntN(1<<20))))
		clicks++
		s.run(t, chromedp.Sleep(150*time.Millisecond))
		s.settled(t)
		for _, c := range s.complaints() {
			if !strings.Contains(c, "status of 400") { // a question may have no answer
				t.Errorf("click %d, %s: %s", clicks, did, c)
			}
		}
		if clicks%10 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heaps, routines = append(heaps, float64(m.HeapAlloc)/(1<<20)), append(routines, float64(runtime.NumGoroutine()))
		}
	}
	n := len(heaps)
	t.Logf("%d clicks in %v; MiB %.0f, goroutines %.0f", clicks, time.Since(began).Round(time.Second), heaps, routines)
	if n < 8 {
		return // too few to tell
	}
	// What is kept is full in the second half: its last quarter holds as much as the one before.
	for _, one := range []struct {
		name  string
		list  []float64
		least float64 // of what changes by chance
	}{{"MiB", heaps, 24}, {"goroutines", routines, 40}} {
		if earlier, later := mean(one.list[n/2:3*n/4]), mean(one.list[3*n/4:]); lasts >= 10*time.Minute && later > 1.25*earlier+one.least {
			t.Errorf("%s grow from %.0f to %.0f", one.name, earlier, later)
		}
	}
}

func mean(list []float64) (sum float64) {
	for _, v := range list {
		sum += v / float64(len(list))
	}
	return sum
}
