package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"testing"
)

// TestBounded: beyond its limit a trace takes no more events, counts them, and stays a trace; what
// it holds does not grow.
func TestBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("writes two million events")
	}
	w := New(io.Discard)
	w.Process(1, "p")
	w.Thread(1, 1, "t")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range MostEvents + 10 {
		w.Span(1, 1, "s", "c", float64(i), float64(i+1))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d bytes held", grown)
	}
	if err := w.Close(); err != nil || w.LeftOut != 10+4 { // names are events too
		t.Errorf("%d left out, %v", w.LeftOut, err)
	}
}

// TestTrace: names are quoted, times are microseconds to the nanosecond, and neighbours meet after
// rounding.
func TestTrace(t *testing.T) {
	var b bytes.Buffer
	w := New(&b)
	w.Process(1, "a \"name\"\n")
	w.Thread(1, 2, "lane")
	w.Span(1, 2, "first", "c", 0, 1.0000004e-6, Arg{"text", "<x>"}, Arg{"n", 3}, Arg{"f", 0.5})
	w.Span(1, 2, "second", "c", 1.0000004e-6, 2.5e-6)
	w.Counter(1, "kv", 1, Arg{"percent", 12.5})
	if err := w.Close(Arg{"left_out", 2}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceEvents []struct {
			Ph, Name string
			Ts, Dur  float64
			Args     map[string]any
		}
		OtherData map[string]string
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, &b)
	}
	e := got.TraceEvents
	if len(e) != 7 || e[0].Args["name"] != "a \"name\"\n" || e[4].Dur != 1 || e[5].Ts != 1 || e[5].Dur != 1.5 || e[6].Ts != 1e6 || e[4].Args["text"] != "<x>" {
		t.Errorf("%s", &b)
	}
	if got.OtherData["left_out"] != "2" {
		t.Errorf("%v", got.OtherData)
	}
}
