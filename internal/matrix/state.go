package matrix

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"throughline/internal/atomicfile"
	"throughline/internal/bench"
)

// Names within the folder of results.
const (
	stateName = "state.json"
	lockName  = "state.lock"
	logsName  = "logs"
)

// ownersOnly is the mode of what may hold secrets: commands, and all that servers print.
const ownersOnly = 0o600

var errBusy = errors.New("another run writes to this folder")

// Verdict is how a combination went.
type Verdict string

const (
	Done   Verdict = "done"
	Failed Verdict = "failed"
)

// Outcome of a combination that was run.
type Outcome struct {
	Server        string            `json:"server"`
	Client        string            `json:"client"`
	Verdict       Verdict           `json:"state"`
	Problem       string            `json:"problem,omitempty"`
	Notes         []string          `json:"notes,omitempty"`
	ServerCommand string            `json:"server_command,omitempty"`
	ClientCommand string            `json:"client_command"`
	Began         time.Time         `json:"began"`
	ReadySeconds  float64           `json:"ready_seconds"`
	ClientSeconds float64           `json:"client_seconds"`
	Figures       bench.Figures     `json:"figures,omitempty"`
	Load          map[string]string `json:"load,omitempty"`              // by the result file: lengths, their spread, rate and number of requests
	Printed       map[string]string `json:"printed_by_server,omitempty"` // values of columns
	Before        []string          `json:"before"`                      // lines of the transcript around what the client printed
	After         []string          `json:"after"`
	Fingerprint   string            `json:"fingerprint"` // of what was asked
}

// Name of the combination in logs and results.
func (o *Outcome) Name() string { return runName(o.Server, o.Client) }

func runName(server, client string) string { return server + "__" + client }

// State is what has been done in a folder.
type State struct {
	Mark    string     `json:"mark"` // of its processes
	Running string     `json:"running,omitempty"`
	Done    []*Outcome `json:"done"`
}

// openState reads the state of a folder, or begins one.
func openState(dir string) (*State, error) {
	src, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		var mark [12]byte
		rand.Read(mark[:])
		return &State{Mark: hex.EncodeToString(mark[:])}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err := json.Unmarshal(src, s); err != nil || s.Mark == "" || slices.Contains(s.Done, nil) {
		return nil, fmt.Errorf("%s is not what this program writes; give another folder, or remove it", filepath.Join(dir, stateName))
	}
	return s, nil
}

// find is the outcome of a combination with the same fingerprint.
func (s *State) find(name, fingerprint string) *Outcome {
	for _, o := range s.Done {
		if o.Name() == name && o.Fingerprint == fingerprint {
			return o
		}
	}
	return nil
}

// keep replaces the previous outcome.
func (s *State) keep(o *Outcome) {
	for i, other := range s.Done {
		if other.Name() == o.Name() {
			s.Done[i] = o
			return
		}
	}
	s.Done = append(s.Done, o)
}

// write saves the state, even if the run has been cancelled.
func (s *State) write(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, stateName)
	err = atomicfile.Write(context.Background(), name, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	return os.Chmod(name, ownersOnly)
}

// fingerprint identifies the settings of a combination.
func fingerprint(s *Server, c *Client) string {
	text, err := json.Marshal([]any{s, c})
	if err != nil {
		panic(err) // they are plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
