package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Answers are all answers by the name of the question and the command.
type Answers map[string]*Answer

// count summarizes them, and how many of the questions were answered.
func (a Answers) count() string {
	answered := 0
	for _, answer := range a {
		if answer.Code == 0 {
			answered++
		}
	}
	return fmt.Sprintf("%d answers, %d refused", answered, len(a)-answered)
}

// write writes the answers in the order of their names, each in a line.
func (a Answers) write(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	before := "{\n"
	for _, key := range sortedKeys(a) {
		fmt.Fprintf(w, "%s%s: %s", before, marshal(key), marshal(a[key]))
		before = ",\n"
	}
	w.WriteString("\n}\n")
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func read(name string) (Answers, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var a Answers
	if err := json.Unmarshal(src, &a); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
