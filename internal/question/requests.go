package question

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"throughline/workload"
)

// Terms are the requests of a run, read from any files that record them, and the limits on what
// clients see. Malformed settings have been reported by then.
func (q *Question) Terms(given func(setting string) bool) (out workload.Terms, err error) {
	out.TTFT, _ = workload.ParseLimit(q.Traffic.TTFT)
	out.TPOT, _ = workload.ParseLimit(q.Traffic.TPOT)
	out.Traffic, err = q.ReadTraffic(given)
	return out, err
}

// ReadTraffic reads the requests of the question. A trace is sent in full and at its own rate
// unless a number or a rate is given.
func (q *Question) ReadTraffic(given func(setting string) bool) (workload.Traffic, error) {
	from, n := &q.Traffic, q.Lengths()
	t := workload.Traffic{
		Dataset: q.DatasetName(), Requests: from.Requests, Rate: from.Rate, Clients: q.Concurrency,
		Groups: from.Groups, Prefix: from.SharedTokens, Turns: from.Turns, Think: from.Think, HashTokens: from.BlockTokens, Seed: uint64(from.Seed),
	}
	t.Arrival, _ = workload.ParseArrival(from.Arrival) // which has been checked
	if t.Groups > 0 {
		t.Dataset = SharedPrefix
	}
	switch q.DatasetName() {
	case ShareGPT: // texts of a file, whose tokens only a server can count
		t.Turns, t.Think = 1, 0
		return t, nil
	case SharedPrefix:
		t.Groups, t.Prefix, t.Requests, t.Turns, t.Think = q.Measuring.Groups, q.Measuring.System, q.Measuring.Groups*q.PerGroup, 1, 0
		n.Input, n.Output = q.Measuring.QuestionTokens, q.Reply
	case Mooncake, TraceRequests:
		t.Turns, t.Think = 1, 0
		return t, q.openTrace(&t, given)
	}
	if file, ok := strings.CutPrefix(q.Distribution, "trace:"); ok && file != "" {
		if t.Groups == 0 {
			t.Dataset = file
		}
		var err error
		t.Recorded, err = workload.ReadLengths(q.In, file)
		return t, err
	}
	var err error
	if t.Input, err = workload.ParseLength(q.Spreading(), n.Input); err != nil {
		return t, wrong("lengths", err.Error())
	}
	t.Output, _ = workload.ParseLength(q.Spreading(), n.Output)
	return t, nil
}

// openTrace reads the requests of a file that says when they came.
func (q *Question) openTrace(t *workload.Traffic, given func(setting string) bool) (err error) {
	if t.Dataset = cmp.Or(q.Path, q.Traffic.Trace); t.Dataset == "" {
		return nil // which is reported already
	}
	if t.Trace, err = workload.OpenTrace(q.In, t.Dataset); err != nil {
		t.Trace = nil
		return err
	}
	if !given("num-prompts") {
		t.Requests = 0 // all
	}
	if math.IsInf(t.Rate, 1) {
		t.Rate = t.Trace.Rate()
	}
	if !t.Trace.Timed {
		return fmt.Errorf("%s: has no arrivals; `lengths` trace:%s takes its lengths", t.Dataset, t.Dataset)
	}
	return nil
}
