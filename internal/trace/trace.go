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

func New(w io.Writer) *Writer {
	t := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	t.w.WriteString("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")
	return t
}

// begin starts an event; false if the file is full, except for names of processes and threads.
func (t *Writer) begin(ph byte, name, category string, pid, tid int) bool {
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
	t.line = append(t.line, ",\"cat\":"...) // which some readers ask of every event
	t.text(category)
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

// Shortest is the seconds of the shortest span: viewers show nanoseconds.
const Shortest = 1e-9

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
func (t *Writer) Process(pid int, name string) { t.named("process", pid, 0, name, pid) }

// Thread names a thread of a process, and its place among others.
func (t *Writer) Thread(pid, tid int, name string) { t.named("thread", pid, tid, name, tid) }

// named writes the name of something and its place; at time 0, since some readers sort all events.
func (t *Writer) named(what string, pid, tid int, name string, place int) {
	for _, a := range []struct {
		event string
		arg   Arg
	}{{"_name", Arg{"name", name}}, {"_sort_index", Arg{"sort_index", place}}} {
		t.begin('M', what+a.event, "__metadata", pid, tid)
		t.time("ts", 0)
		t.end([]Arg{a.arg})
	}
}

// Span is an activity of a thread. Those of one thread must follow each other or nest; what takes
// no nanosecond is left out.
func (t *Writer) Span(pid, tid int, name, category string, start, end float64, args ...Arg) {
	from := nanoseconds(start)
	if end-start < Shortest || !t.begin('X', name, category, pid, tid) {
		return
	}
	t.time("ts", from)
	t.time("dur", max(1, nanoseconds(end)-from))
	t.end(args)
}

// Mark is a place on a thread at a time.
type Mark struct {
	PID, TID int
	At       float64
}

// Flow joins the spans around marks, in the order of time, by arrows.
func (t *Writer) Flow(id int64, name string, marks ...Mark) {
	for i, m := range marks {
		ph := byte('t')
		switch i {
		case 0:
			ph = 's'
		case len(marks) - 1:
			ph = 'f'
		}
		if !t.begin(ph, name, "flow", m.PID, m.TID) {
			return
		}
		t.line = append(t.line, ",\"bp\":\"e\",\"id\":"...)
		t.line = strconv.AppendInt(t.line, id, 10)
		t.time("ts", nanoseconds(m.At))
		t.end(nil)
	}
}

// Counter is numbers that hold from a time on, drawn over each other.
func (t *Writer) Counter(pid int, name string, at float64, values ...Arg) {
	if !t.begin('C', name, "counter", pid, 0) {
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
