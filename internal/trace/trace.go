// Package trace writes timelines in the trace event format of ui.perfetto.dev and chrome://tracing
// (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), event by event.
package trace

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"strconv"
)

// MostEvents of a file. Viewers take a minute to open a million.
const MostEvents = 2_000_000

// Arg is an attribute of an event.
type Arg struct {
	Key   string
	Value any // number or text
}

// Writer writes a trace. Times are in seconds; in the file they are microseconds.
type Writer struct {
	w      *bufio.Writer
	line   []byte
	events int
	// LeftOut counts events beyond MostEvents.
	LeftOut int
}

// New starts a trace.
func New(w io.Writer) *Writer {
	t := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	t.w.WriteString("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")
	return t
}

// begin starts an event; false if the file is full, except for names of processes and threads.
func (t *Writer) begin(ph byte, name string, pid, tid int) bool {
	if ph != 'M' && t.events >= MostEvents {
		t.LeftOut++
		return false
	}
	t.line = t.line[:0]
	if t.events > 0 {
		t.line = append(t.line, ',')
	}
	t.events++
	t.line = append(t.line, "\n{\"ph\":\""...)
	t.line = append(t.line, ph)
	t.line = append(t.line, "\",\"name\":"...)
	t.text(name)
	t.line = append(t.line, ",\"pid\":"...)
	t.line = strconv.AppendInt(t.line, int64(pid), 10)
	t.line = append(t.line, ",\"tid\":"...)
	t.line = strconv.AppendInt(t.line, int64(tid), 10)
	return true
}

func (t *Writer) text(s string) {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts can always be encoded
	}
	t.line = append(t.line, quoted...)
}

// nanoseconds is the resolution of viewers. Adjacent spans stay adjacent after rounding.
func nanoseconds(seconds float64) float64 { return math.Round(seconds * 1e9) }

// time adds a key with a time in microseconds.
func (t *Writer) time(key string, nanoseconds float64) {
	t.line = append(t.line, ",\""...)
	t.line = append(t.line, key...)
	t.line = append(t.line, "\":"...)
	t.line = strconv.AppendFloat(t.line, nanoseconds/1e3, 'f', 3, 64)
}

func (t *Writer) end(args []Arg) {
	if len(args) > 0 {
		t.line = append(t.line, ",\"args\":{"...)
		for i, a := range args {
			if i > 0 {
				t.line = append(t.line, ',')
			}
			t.text(a.Key)
			t.line = append(t.line, ':')
			switch v := a.Value.(type) {
			case string:
				t.text(v)
			case int:
				t.line = strconv.AppendInt(t.line, int64(v), 10)
			case float64:
				t.line = strconv.AppendFloat(t.line, v, 'g', -1, 64)
			default:
				t.line = append(t.line, "null"...)
			}
		}
		t.line = append(t.line, '}')
	}
	t.w.Write(append(t.line, '}'))
}

// Process names a process, and its place among others.
func (t *Writer) Process(pid int, name string) {
	t.begin('M', "process_name", pid, 0)
	t.end([]Arg{{"name", name}})
	t.begin('M', "process_sort_index", pid, 0)
	t.end([]Arg{{"sort_index", pid}})
}

// Thread names a thread of a process, and its place among others.
func (t *Writer) Thread(pid, tid int, name string) {
	t.begin('M', "thread_name", pid, tid)
	t.end([]Arg{{"name", name}})
	t.begin('M', "thread_sort_index", pid, tid)
	t.end([]Arg{{"sort_index", tid}})
}

// Span is an activity of a thread. Those of one thread must follow each other or nest.
func (t *Writer) Span(pid, tid int, name, category string, start, end float64, args ...Arg) {
	if !t.begin('X', name, pid, tid) {
		return
	}
	t.line = append(t.line, ",\"cat\":"...)
	t.text(category)
	from := nanoseconds(start)
	t.time("ts", from)
	t.time("dur", max(0, nanoseconds(end)-from))
	t.end(args)
}

// Counter is numbers that hold from a time on, drawn over each other.
func (t *Writer) Counter(pid int, name string, at float64, values ...Arg) {
	if !t.begin('C', name, pid, 0) {
		return
	}
	t.time("ts", nanoseconds(at))
	t.end(values)
}

// Close ends the trace, with attributes of all of it.
func (t *Writer) Close(about ...Arg) error {
	t.w.WriteString("\n]")
	if t.LeftOut > 0 {
		about = append(about, Arg{"events_left_out", t.LeftOut})
	}
	t.line = append(t.line[:0], ",\"otherData\":{\"program\":\"throughline\""...)
	for _, a := range about {
		t.line = append(t.line, ',')
		t.text(a.Key)
		t.line = append(t.line, ':')
		switch v := a.Value.(type) {
		case int:
			t.line = strconv.AppendQuote(t.line, strconv.Itoa(v))
		case string:
			t.text(v)
		}
	}
	t.w.Write(append(t.line, "}}\n"...))
	return t.w.Flush()
}
