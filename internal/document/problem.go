package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is something wrong in a file. Line and Column count from 1 and are
// 0 if the problem has no position; Column counts characters.
type Problem struct {
	File         string
	Line, Column int
	Path         string
	Message      string
}

// String returns the problem in the form "file:line:column: path: message",
// without the parts that the problem does not have.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
		}
		b.WriteString(" ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// An Error is a list of problems, in one or several files.
type Error struct {
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Join merges errors into one [*Error]. An error of another type becomes a
// problem without position. Join returns nil if all the errors are nil.
func Join(errs ...error) error {
	var all []Problem
	for _, err := range errs {
		switch err := err.(type) {
		case nil:
		case *Error:
			all = append(all, err.Problems...)
		default:
			all = append(all, Problem{Message: err.Error()})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &Error{all}
}

// sorted returns the problems by position and without repetitions.
func sorted(problems []Problem) []Problem {
	s := slices.Clone(problems)
	slices.SortFunc(s, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(s)
}
