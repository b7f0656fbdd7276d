package atomicfile

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const journalSuffix = ".throughline-journal"

// move is a line of a journal: a file to rename within its folder. Names have no folder, so that a
// foreign journal in a shared folder cannot reach out of it.
type move struct{ From, To string }

// announce writes and syncs the journals of a set, one per folder with several of its files, locked
// while the process lives. From then on the set is committed, whatever happens.
func (s *Set) announce() (remove func(), err error) {
	moves := map[string][]move{}
	for _, f := range s.files {
		dir := filepath.Dir(f.target)
		moves[dir] = append(moves[dir], move{filepath.Base(f.temporary.Name()), filepath.Base(f.target)})
	}
	var journals []*os.File
	remove = func() {
		for _, j := range journals {
			os.Remove(j.Name()) // while locked: others must not take it for a leftover
			j.Close()
			os.Remove(j.Name()) // for Windows, which keeps the names of open files
		}
		journals = nil
	}
	for dir, list := range moves {
		if len(list) < 2 {
			continue
		}
		j, err := writeJournal(dir, list)
		if err != nil {
			remove()
			return nil, err
		}
		journals = append(journals, j)
	}
	return remove, nil
}

func writeJournal(dir string, moves []move) (*os.File, error) {
	text, err := json.Marshal(moves)
	if err != nil {
		return nil, err
	}
	j, err := os.OpenFile(filepath.Join(dir, "."+rand.Text()[:10]+journalSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if !lock(j) || !stillThere(j) { // another process took it for a leftover
		j.Close()
		os.Remove(j.Name())
		return writeJournal(dir, moves)
	}
	if _, err = j.Write(append(text, '\n')); err == nil {
		err = j.Sync()
	}
	if err != nil {
		j.Close()
		os.Remove(j.Name())
		return nil, err
	}
	syncFolder(dir)
	return j, nil
}

// completeJournals ends the commits that killed processes have begun in a folder.
func completeJournals(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // they stay for another time
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), journalSuffix) {
			continue
		}
		j := claim(filepath.Join(dir, e.Name()))
		if j == nil {
			continue // its process is alive
		}
		completeJournal(dir, j)
		os.Remove(j.Name())
		j.Close()
		os.Remove(j.Name())
	}
}

// completeJournal renames the files of a journal. An incomplete one was being written when its
// process ended: nothing had been renamed, and the files are leftovers.
func completeJournal(dir string, j *os.File) {
	text, err := io.ReadAll(j)
	var moves []move
	if err != nil || !bytes.HasSuffix(text, []byte("\n")) || json.Unmarshal(text, &moves) != nil {
		return
	}
	for _, m := range moves {
		ours := m.To != "" && m.To == filepath.Base(m.To) && m.From == filepath.Base(m.From) &&
			strings.HasPrefix(m.From, prefix(m.To)) && strings.HasSuffix(m.From, suffix)
		if ours {
			os.Rename(filepath.Join(dir, m.From), filepath.Join(dir, m.To)) // fails for those already renamed
		}
	}
	syncFolder(dir)
}
