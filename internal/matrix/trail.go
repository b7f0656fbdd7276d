package matrix

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// trailName is the file that names the processes of a run. Of a run that is killed, those that have emptied their environment
// are known by nothing else.
const trailName = "state.processes"

// trailed is how often that is written, where it has changed.
const trailed = 500 * time.Millisecond

// trail is processes and when each began: another may have got its number meanwhile.
type trail struct {
	Boot      string        `json:"boot"`
	Processes map[int]int64 `json:"processes"`
}

// readTrail is the processes that a run before has started; nil where the machine has been started anew since.
func readTrail(dir string) map[int]int64 {
	var t trail
	src, err := os.ReadFile(filepath.Join(dir, trailName))
	if err != nil || json.Unmarshal(src, &t) != nil || t.Boot != bootID() {
		return nil
	}
	return t.Processes
}

// leaveTrail writes down which processes this program has started since it had those before, until it is told to stop.
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
			case <-time.After(trailed):
			}
			now := descendants(before)
			if maps.Equal(now, written) {
				continue
			}
			// In place of the old one at once; a machine that fails takes the processes with it.
			text, err := json.Marshal(trail{bootID(), now})
			if err == nil && os.WriteFile(name+".new", text, ownersOnly) == nil && os.Rename(name+".new", name) == nil {
				written = now
			}
		}
	}()
	return func() { close(end); <-ended }
}
