package matrix

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// trailName is the file that lists the processes of a run: after it was killed, nothing else
// identifies those that emptied their environment.
const trailName = "state.processes"

// trailInterval is how often changes are written.
const trailInterval = 500 * time.Millisecond

// trail is processes and when each began: numbers are reused.
type trail struct {
	Boot      string        `json:"boot"`
	Processes map[int]int64 `json:"processes"`
}

// readTrail is the processes of an earlier run; nil if the machine has been restarted since.
func readTrail(dir string) map[int]int64 {
	var t trail
	src, err := os.ReadFile(filepath.Join(dir, trailName))
	if err != nil || json.Unmarshal(src, &t) != nil || t.Boot != bootID() {
		return nil
	}
	return t.Processes
}

// leaveTrail records the processes that this program starts, until stopped.
func leaveTrail(dir string, before map[int]bool) (stop func()) {
	name := filepath.Join(dir, trailName)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var written map[int]int64
		for {
			select {
			case <-end:
				os.Remove(name)
				return
			case <-time.After(trailInterval):
			}
			now := descendants(before)
			if maps.Equal(now, written) {
				continue
			}
			// Replaced at once; a machine that fails takes the processes with it.
			text, err := json.Marshal(trail{bootID(), now})
			if err == nil && os.WriteFile(name+".new", text, ownersOnly) == nil && os.Rename(name+".new", name) == nil {
				written = now
			}
		}
	}()
	return func() { close(end); <-ended }
}
