// Package parallel runs parts of work side by side so that a panic in one of them reaches whoever
// waits, and can be caught there: it would end the whole program otherwise.
package parallel

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Panic is a mistake of the program in a part of the work.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

// Group is a sync.WaitGroup whose Wait panics when a part has.
type Group struct {
	wait  sync.WaitGroup
	mu    sync.Mutex
	first error
}

// Go runs a part.
func (g *Group) Go(part func()) {
	g.wait.Go(func() {
		if err := Caught(func() error { part(); return nil })(); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.first == nil {
				g.first = err
			}
		}
	})
}

func (g *Group) Wait() {
	if g.wait.Wait(); g.first != nil {
		panic(g.first)
	}
}

// Caught is a part whose panic is an error, a *Panic.
func Caught(part func() error) func() error {
	return func() (err error) {
		defer func() {
			switch v := recover().(type) {
			case nil:
			case *Panic: // of a part of this one
				err = v
			default:
				err = &Panic{v, debug.Stack()}
			}
		}()
		return part()
	}
}

// Share hands the numbers 0..n-1 to workers, so many at a time, until the context ends.
func Share[W any](ctx context.Context, n, together int, workers []W, do func(w W, i int)) {
	var next atomic.Int64
	var wait Group
	for _, w := range workers {
		wait.Go(func() {
			for ctx.Err() == nil {
				to := int(next.Add(int64(together)))
				if to-together >= n {
					return
				}
				for i := to - together; i < min(to, n); i++ {
					do(w, i)
				}
			}
		})
	}
	wait.Wait()
}
