// Package resident measures the memory of a process.
package resident

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Of returns the resident bytes of a process; 0: it has ended and was not waited for.
func Of(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Skip("the memory of a process is read where there is /proc: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
